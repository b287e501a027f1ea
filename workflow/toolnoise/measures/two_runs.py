"""Finds where two trainings first differ: in the digests of histories, in final weights and in predictions.

Two cells are compared run by run over the seeds that both have, and two studies cell by cell.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toolnoise.base import arrays, files
from toolnoise.base.arrays import bit_equal
from toolnoise.base.errors import BadInput
from toolnoise.base.times import is_time
from toolnoise.datasets import prepared
from toolnoise.dumps import stacks
from toolnoise.formulas.accuracy import predictions
from toolnoise.formulas.outcomes import METRIC
from toolnoise.formulas.weights import paired_l2, unit_vectors
from toolnoise.stats.estimates import mean_t
from toolnoise.study.runs import DIGESTS, OF_CYCLES, OUTCOME, Run, read_run

DRAWS = "draws_sha256"
RUN, CELL, RESULTS = "run", "cell", "results"
WANTED = "two runs, two cells, two studies' results or two results folders"
# model/dataset/hardware/variant
CELL_DEPTH = 4
# The type of numbers in a dump that are not logits.
NUMBERS = np.float64
# The range of each metric of a pair, as in cross_tooling.csv.
RANGES = {
    "churn": (0, 1),
    "mean_absolute_difference": (0, np.inf),
    "l2_unit": (0, np.inf),
    "l2_raw": (0, np.inf),
    "accuracy_difference": (-1, 1),
}
# Gives the differences between the inputs of two runs, from the folder and the record of each.
MadeFrom = Callable[[tuple[Path, dict[str, Any]], tuple[Path, dict[str, Any]]], Any]
# A study's folder, and the names of its files.
StudyFiles = tuple[Path, Iterable[str]]


class CellPredictions(NamedTuple):
    """A cell's predictions by seed, with the labels of the examples if known; or why there are no predictions."""

    logits: dict[int, np.ndarray]
    labels: np.ndarray | None = None
    why: str = ""


def kind_of(path: str | Path) -> tuple[str, Path]:
    """The kind of a path (run, cell or results), and its folder."""
    folder = Path(path).absolute()
    folder = folder.parent if folder.name == "run.json" and folder.is_file() else folder
    if not folder.is_dir():
        raise BadInput(path, "", "is not a folder" if folder.exists() else "no such folder", WANTED)
    if (folder / "run.json").is_file():
        return RUN, folder
    return CELL if _seeds_of(folder) else RESULTS, folder


def compare_runs(
    run_a: Path, run_b: Path, made_from: MadeFrom, dumps: tuple[CellPredictions, CellPredictions] | None = None
) -> dict[str, Any]:
    """The differences between the runs in two folders; `dumps` are the dumps of their cells if already read."""
    pair = read_run(run_a / "run.json"), read_run(run_b / "run.json")
    parted, (kept_a, kept_b) = where_runs_part(*pair), map(_beside_weights, pair)
    differ = [{"array": name, "first": first} for name, first in arrays.arrays_that_differ(kept_a, kept_b)]
    predictions = _predictions(pair, dumps or (_dump(run_a.parent), _dump(run_b.parent)))
    same = parted["weights_bit_equal"] and parted["history_equal"] and len(set(parted["status"])) == 1
    return {
        "equal": same and not differ and predictions.get("logits_bit_equal", True),
        "seeds": [run.seed for run in pair],
        "made_from": made_from(*((run.folder, run.record) for run in pair)),
        "parting": parted,
        "other_arrays": {"names": list({**kept_a, **kept_b}), "differ": differ},
        "predictions": predictions,
    }


def compare_cells(cell_a: Path, cell_b: Path, made_from: MadeFrom) -> dict[str, Any]:
    """The differences between the cells in two folders."""
    in_a, in_b = _seeds_of(cell_a), _seeds_of(cell_b)
    seeds = {
        "shared": sorted(in_a.keys() & in_b.keys()),
        "only_a": sorted(in_a.keys() - in_b.keys()),
        "only_b": sorted(in_b.keys() - in_a.keys()),
    }
    dumps = _dump(cell_a), _dump(cell_b)
    compared = [compare_runs(in_a[seed], in_b[seed], made_from, dumps) for seed in seeds["shared"]]
    epochs = [run["parting"]["weights_differ_from_epoch"] for run in compared]
    summary = {
        "bit_equal": sum(run["equal"] for run in compared),
        "runs": len(compared),
        "predictions_not_compared": sum("not_compared" in run["predictions"] for run in compared),
        "first_epoch_that_differs": min(filter(None, epochs), default=None),
        "metrics": {metric: _mean(metric, compared) for metric in RANGES},
    }
    equal = 0 < len(in_a) == len(in_b) == summary["bit_equal"]
    return {"equal": equal, "seeds": seeds, "summary": summary, "runs": compared}


def compare_cells_of(study_a: StudyFiles, study_b: StudyFiles, same: set[str], made_from: MadeFrom) -> list[dict]:
    """The differences between the cells of two studies; `same` are the files that are equal in both."""
    (root_a, in_a), (root_b, in_b) = ((root / "runs", _cells_of(files)) for root, files in (study_a, study_b))
    rows: list[dict[str, Any]] = []
    for cell in sorted({*in_a, *in_b}):
        if cell not in in_a or cell not in in_b:
            rows.append({"cell": cell, "only": "a" if cell in in_a else "b"})
        elif in_a[cell] | in_b[cell] <= same:
            rows.append({"cell": cell, "equal": True})
        else:
            try:
                compared = compare_cells(root_a / cell, root_b / cell, made_from)
                rows.append({"cell": cell, **{key: compared[key] for key in ("equal", "seeds", "summary")}})
            except BadInput as error:
                rows.append({"cell": cell, "equal": False, "damaged": str(error)})
    return rows


def _cells_of(paths: Iterable[str]) -> dict[str, set[str]]:
    """Maps each cell that has runs to its files in a study: the files of its runs and of its dump."""
    of_cells: dict[str, set[str]] = {}
    for path in paths:
        folder, *names = path.removesuffix(".npy").removesuffix(".json").split("/")
        if folder in ("runs", "predictions"):
            of_cells.setdefault("/".join(names[:CELL_DEPTH]), set()).add(path)
    return {cell: own for cell, own in of_cells.items() if any(path.endswith("/run.json") for path in own)}


def _mean(metric: str, compared: list[dict[str, Any]]) -> dict[str, float | None]:
    """The mean over the shared seeds with its interval, with the names and the formula of metric files."""
    values = [run["predictions"].get(metric, run["parting"].get(metric)) for run in compared]
    if metric == "accuracy_difference":
        accuracies = [run["parting"]["test_accuracy"] for run in compared]
        values = [other - one for one, other in accuracies if one is not None and other is not None]
    numbers = np.array([value for value in values if value is not None])
    estimate = mean_t(numbers).within(*RANGES[metric])._asdict()
    return {"n_runs": len(numbers)} | {name: finite_or_none(value) for name, value in estimate.items()}


def _seeds_of(cell: Path) -> dict[int, Path]:
    """The folders of a cell's runs by seed."""
    with files.readable(cell, "a folder"):
        folders = [entry for entry in cell.iterdir() if entry.name.isdecimal() and (entry / "run.json").is_file()]
    return dict(sorted((int(entry.name), entry) for entry in folders))


def _beside_weights(run: Run) -> dict[str, np.ndarray]:
    """The arrays beside the final weights: a program's outputs except times, and weights kept during training."""
    path = run.folder / "weights.npz"
    stored = arrays.npz_names(path)
    timed = {name for name in stored if name.startswith(f"{METRIC}/") and is_time(name.removeprefix(f"{METRIC}/"))}
    names = [name for name in stored if name.endswith(OF_CYCLES) or (name.endswith(OUTCOME) and name not in timed)]
    kept = arrays.read_npz(path, stored) if names else {}
    return {name.removesuffix(OUTCOME): kept[name] for name in names}


def _dump(cell: Path) -> CellPredictions:
    study, name = cell.parents[CELL_DEPTH:][:1], "/".join(cell.parts[-CELL_DEPTH:])
    if not study or cell.parents[CELL_DEPTH - 1].name != "runs":
        return CellPredictions({}, why="the run lies in no study's results")
    logits, index = (study[0] / f"predictions/{name}{end}" for end in (".npy", ".json"))
    if not (logits.exists() and index.exists()):
        return CellPredictions({}, why=f"no dump of {name}")
    dump = stacks.read_predictions(logits, index)
    by_seed = {seed: dump.logits[layer] for layer, seed in enumerate(dump.seeds) if not dump.diverged[layer]}
    if dump.logits.dtype == NUMBERS:
        left = files.read_json(index).get("metrics")
        return CellPredictions({}, why="the runs left metrics alone") if left else CellPredictions(by_seed)
    data = study[0] / "data" / f"{cell.parts[-3]}.npz"
    return CellPredictions(by_seed, prepared.load(data).test.labels if data.exists() else None)


def _predictions(pair: tuple[Run, Run], dumps: Sequence[CellPredictions]) -> dict[str, Any]:
    """The differences between the predictions of two runs, or why they cannot be compared."""
    a, b = (dump.logits.get(run.seed) for run, dump in zip(pair, dumps, strict=True))
    if why := dumps[0].why or dumps[1].why:
        return {"not_compared": why}
    if a is None or b is None:
        return {"not_compared": "a run has none: it diverged, or the dump has other seeds"}
    if len({str(run.record["data_sha256"]) for run in pair if "data_sha256" in run.record}) > 1:
        return {"not_compared": "they are for different data"}
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        return {"not_compared": f"they are {a.dtype} of shape {a.shape} and {b.dtype} of shape {b.shape}"}
    if a.dtype == NUMBERS:
        return distances_of_numbers(a, b)
    labels = next((dump.labels for dump in dumps if dump.labels is not None), None)
    if labels is not None and len(labels) != len(a):
        return {"not_compared": f"they are for {len(a)} examples, but the data set has {len(labels)}"}
    return flips(a, b, labels)


def where_runs_part(one: Run, other: Run) -> dict[str, Any]:
    """The differences between two runs: the first epochs that differ, and the distances at the end."""
    runs = one, other
    weights = tuple(run.weights() for run in runs)
    histories = tuple(run.history() for run in runs)
    epoch = _first(*histories, "weights_sha256")
    initial = [run.record.get("initial_sha256") for run in runs]
    columns = dict.fromkeys(column for history in histories for column in history[0])
    # This includes columns that only a training program has.
    outcome = [column for column in columns if column != DRAWS and not is_time(column)]
    found = {
        "initial_equal": None if None in initial else initial[0] == initial[1],
        "emulated_noise": [run.record.get("emulated_noise") for run in runs],
        "moved_bit": [run.record.get("moved_bit") for run in runs],
        "draws_differ_from_epoch": _first(*histories, DRAWS),
        "weights_differ_from_epoch": epoch,
        "tensors_that_differ_then": _tensors(runs, weights, histories, epoch) if epoch else [],
        "history_differs_from_epoch": _first(*histories, *outcome),
        "epochs": [len(history) for history in histories],
        "status": [run.record["status"] for run in runs],
        "weights_bit_equal": list(weights[0]) == list(weights[1])
        and all(bit_equal(weights[0][name], weights[1][name]) for name in weights[0]),
    }
    for column in ("test_accuracy", "test_loss", "train_loss"):
        found[column] = [finite_or_none(history[-1].get(column)) for history in histories]
    found["history_equal"] = found["history_differs_from_epoch"] is None and len(set(found["epochs"])) == 1
    return found | _distances(runs, weights)


def where_parted(record: Path, other_record: Path) -> str:
    """Where a repeated training first differs from the first one, in words, from the records of both."""
    try:
        parted = where_runs_part(read_run(record), read_run(other_record))
    except BadInput as error:
        return f"the histories cannot be compared: {error}"
    initial = {True: "equal", False: "different", None: "unknown"}[parted["initial_equal"]]
    epoch, tensors = parted["weights_differ_from_epoch"], parted["tensors_that_differ_then"]
    where = f"they differ from epoch {epoch} on, first in {tensors[0]}" if epoch else "no epoch's digests differ"
    return f"from {initial} initial weights {where}"


def flips(first: np.ndarray, second: np.ndarray, labels: np.ndarray | None) -> dict[str, Any]:
    """Churn between two runs' logits (example x class) or classes, and the examples that they classify differently."""
    # A training program may output only classes.
    a, b = (one if one.dtype.kind == "i" else predictions(one[np.newaxis])[0] for one in (first, second))
    differ = a != b
    differences = {
        "examples": len(a),
        "logits_bit_equal": bit_equal(first, second),
        "churn": float(np.mean(differ)),
        "differ": np.flatnonzero(differ).tolist(),
    }
    if labels is not None:
        right_a, right_b = a == labels, b == labels
        differences["accuracy"] = [float(np.mean(right)) for right in (right_a, right_b)]
        differences["a_right_b_wrong"] = np.flatnonzero(right_a & ~right_b).tolist()
        differences["a_wrong_b_right"] = np.flatnonzero(~right_a & right_b).tolist()
        differences["both_wrong_differently"] = np.flatnonzero(~right_a & ~right_b & differ).tolist()
    return differences


def distances_of_numbers(first: np.ndarray, second: np.ndarray) -> dict[str, Any]:
    """The differences between the numbers of two runs, [U]: the values of a regression, or the losses of tokens."""
    differences = np.abs(second - first)
    return {
        "numbers": len(differences),
        "logits_bit_equal": bit_equal(first, second),
        "mean_absolute_difference": float(differences.mean()),
        "largest_difference": float(differences.max()),
        "differ": int(np.count_nonzero(differences)),
    }


def _first(first: list[dict[str, str]], second: list[dict[str, str]], *columns: str) -> int | None:
    """The first epoch of both histories in which a column differs, or None."""
    for epoch, rows in enumerate(zip(first, second, strict=False), 1):
        for column in columns:
            a, b = (row.get(column) for row in rows)
            # In the history of a training program, only the last epoch has digests.
            if a != b and not (column in DIGESTS and "" in (a, b)):
                return epoch
    return None


def _tensors(
    runs: tuple[Run, ...],
    weights: tuple[dict[str, np.ndarray], ...],
    histories: tuple[list[dict[str, str]], ...],
    at: int,
) -> list[str]:
    """The tensors whose digests differ after an epoch, in the order of the layers."""
    digests = []
    for run, tensors, history in zip(runs, weights, histories, strict=True):
        listed = history[at - 1]["tensors_sha256"].split()
        if len(listed) != len(tensors):
            what = f"epoch {at} has {len(listed)} digests"
            raise BadInput(run.folder / "history.csv", "tensors_sha256", what, f"{len(tensors)}, as weights.npz has")
        digests.append(dict(zip(tensors, listed, strict=True)))
    names = dict.fromkeys((*digests[0], *digests[1]))
    return [name for name in names if digests[0].get(name) != digests[1].get(name)]


def finite_or_none(text: str | float | None) -> float | None:
    """A finite number, or None: JSON has no NaN."""
    try:
        value = float(text)
    except (TypeError, ValueError):
        return None
    return value if np.isfinite(value) else None


def _distances(runs: tuple[Run, ...], weights: tuple[dict[str, np.ndarray], ...]) -> dict[str, Any]:
    """The distance between all trained weights, and between single tensors, relative to the first run's norm."""
    one, other = weights
    shared = [
        name
        for name in one
        if name in other
        and one[name].shape == other[name].shape
        and one[name].dtype.kind == other[name].dtype.kind == "f"
    ]
    tensors = []
    with np.errstate(over="ignore", invalid="ignore"):
        for name in shared:
            a, b = (tensor[name].reshape(1, -1) for tensor in weights)
            distance, norm = float(paired_l2(a, b)[0]), float(paired_l2(a, np.zeros_like(a))[0])
            relative = 0.0 if distance == 0 else distance / norm if norm else np.inf
            tensors.append((name, relative, distance))
        found: dict[str, Any] = {"l2_unit": None, "l2_raw": None}
        trained = [run.record["trainable"] for run in runs]
        # A training program may store no weights.
        if trained[0] and trained[0] == trained[1] and set(trained[0]) <= set(shared):
            a, b = (run.trained_vector()[np.newaxis] for run in runs)
            found = {
                "l2_unit": finite_or_none(paired_l2(unit_vectors(a), unit_vectors(b))[0]),
                "l2_raw": finite_or_none(paired_l2(a, b)[0]),
            }
    # NaN counts as the largest distance.
    tensors.sort(key=lambda row: -np.nan_to_num(row[1], nan=np.inf, posinf=np.inf))
    found["tensors"] = [
        {"tensor": name, "relative_l2": finite_or_none(relative), "l2": finite_or_none(distance)}
        for name, relative, distance in tensors
    ]
    found["tensors_not_shared"] = [name for name in dict.fromkeys((*one, *other)) if name not in shared]
    return found
