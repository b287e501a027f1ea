"""The differences between the outcomes of two runs, and of two cells run by run over the seeds that both have.

Runs are compared by their histories, all arrays of weights.npz and the dumps of their predictions.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np

from toolnoise.base import arrays, files
from toolnoise.base.errors import BadInput
from toolnoise.base.times import is_time
from toolnoise.datasets import prepared
from toolnoise.dumps import stacks
from toolnoise.formulas.outcomes import METRIC
from toolnoise.measures import two_runs
from toolnoise.stats.estimates import mean_t
from toolnoise.study import runs
from toolnoise.study.kept_weights import OF_CYCLES
from toolnoise.study.runs import OUTCOME, Run

RUN, CELL, RESULTS = "run", "cell", "results"
WANTED = "two runs, two cells, two studies' results or two results folders"
# model/dataset/hardware/variant
CELL_DEPTH = 4
# The type of numbers in a dump that are no logits.
NUMBERS = np.float64
# The range of each metric of a pair, as in cross_tooling.csv.
RANGES = {
    "churn": (0, 1),
    "mean_absolute_difference": (0, np.inf),
    "l2_unit": (0, np.inf),
    "l2_raw": (0, np.inf),
    "accuracy_difference": (-1, 1),
}
# The differences in what two runs were made from, by the folders and the records of both.
MadeFrom = Callable[[tuple[Path, Path], tuple[dict[str, Any], dict[str, Any]]], Any]


class CellPredictions(NamedTuple):
    """A cell's predictions by seed and the labels of the examples; empty, with the reason, if unavailable.

    Predictions are logits or classes, or the numbers that a training program left: these have no labels.
    """

    logits: dict[int, np.ndarray]
    labels: np.ndarray | None
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


def cells_of(paths: Iterable[str]) -> dict[str, set[str]]:
    """The files of each cell that has runs, by its name: its runs and its dump, of the files of a study."""
    of_cells: dict[str, set[str]] = {}
    for path in paths:
        folder, *names = PurePosixPath(path).parts
        if folder == "runs" and len(names) > CELL_DEPTH:
            of_cells.setdefault("/".join(names[:CELL_DEPTH]), set()).add(path)
    with_runs = {cell: own for cell, own in of_cells.items() if any(path.endswith("/run.json") for path in own)}
    return {cell: own | {f"predictions/{cell}{end}" for end in (".npy", ".json")} for cell, own in with_runs.items()}


def compare_runs(
    run_a: Path, run_b: Path, made_from: MadeFrom, dumps: tuple[CellPredictions, CellPredictions] | None = None
) -> dict[str, Any]:
    """The differences between the runs in two folders; `dumps` are those of their cells, if they are read already."""
    pair = runs.read(run_a / "run.json"), runs.read(run_b / "run.json")
    parted, (kept_a, kept_b) = two_runs.parting(*pair), map(_beside_weights, pair)
    differ = [{"array": name, "first": first} for name, first in arrays.arrays_that_differ(kept_a, kept_b)]
    predictions = _predictions(pair, dumps or (_dump(run_a.parent), _dump(run_b.parent)))
    same = parted["weights_bit_equal"] and parted["history_equal"] and len(set(parted["status"])) == 1
    return {
        "equal": same and not differ and predictions.get("logits_bit_equal", True),
        "seeds": [run.seed for run in pair],
        "made_from": made_from((run_a, run_b), (pair[0].record, pair[1].record)),
        "parting": parted,
        "other_arrays": {"names": list({**kept_a, **kept_b}), "differ": differ},
        "predictions": predictions,
    }


def compare_cells(cell_a: Path, cell_b: Path, made_from: MadeFrom) -> dict[str, Any]:
    """The differences between the cells in two folders."""
    in_a, in_b = _seeds_of(cell_a), _seeds_of(cell_b)
    shared = [seed for seed in in_a if seed in in_b]
    only_a, only_b = ([seed for seed in seeds if seed not in shared] for seeds in (in_a, in_b))
    dumps = _dump(cell_a), _dump(cell_b)
    compared = [compare_runs(in_a[seed], in_b[seed], made_from, dumps) for seed in shared]
    return {
        "equal": all(run["equal"] for run in compared) and bool(shared) and not (only_a or only_b),
        "seeds": {"shared": shared, "only_a": only_a, "only_b": only_b},
        "summary": _summary(compared),
        "runs": compared,
    }


def _seeds_of(cell: Path) -> dict[int, Path]:
    """The folders of a cell's runs by seed."""
    with files.readable(cell, "a folder"):
        folders = [entry for entry in cell.iterdir() if entry.name.isdecimal() and (entry / "run.json").is_file()]
    return {int(entry.name): entry for entry in sorted(folders, key=lambda entry: int(entry.name))}


def _beside_weights(run: Run) -> dict[str, np.ndarray]:
    """The arrays beside the final weights: what a training program left, except times, and what was kept on the way."""
    path = run.folder / "weights.npz"
    stored = arrays.npz_names(path)
    names = [name for name in stored if name.endswith((OF_CYCLES, OUTCOME)) and not _is_timed_metric(name)]
    kept = arrays.read_npz(path, stored) if names else {}
    return {name.removesuffix(OUTCOME): kept[name] for name in names}


def _is_timed_metric(array: str) -> bool:
    kind, _, name = array.partition("/")
    return kind == METRIC and array.endswith(OUTCOME) and is_time(name)


def _dump(cell: Path) -> CellPredictions:
    above = cell.parents[CELL_DEPTH - 1 :]
    if len(above) < 2 or above[0].name != "runs":
        return CellPredictions({}, None, "the run lies in no study's results")
    name = "/".join(cell.parts[-CELL_DEPTH:])
    logits, index = (above[1] / f"predictions/{name}{end}" for end in (".npy", ".json"))
    if not (logits.exists() and index.exists()):
        return CellPredictions({}, None, f"no dump of {name}")
    dump = stacks.read_predictions(logits, index)
    by_seed = {seed: dump.logits[layer] for layer, seed in enumerate(dump.seeds) if not dump.diverged[layer]}
    if dump.logits.dtype == NUMBERS:
        left = files.read_json(index).get("metrics")
        return CellPredictions({}, None, "the runs left metrics alone") if left else CellPredictions(by_seed, None)
    data = above[1] / "data" / f"{cell.parts[-3]}.npz"
    return CellPredictions(by_seed, prepared.load(data).test.labels if data.exists() else None)


def _predictions(pair: tuple[Run, Run], dumps: Sequence[CellPredictions]) -> dict[str, Any]:
    """How the predictions of two runs differ, or why they cannot be compared."""
    why = next((dump.why for dump in dumps if dump.why), "")
    layers = [dump.logits.get(run.seed) for run, dump in zip(pair, dumps, strict=True)]
    labels = next((dump.labels for dump in dumps if dump.labels is not None), None)
    if why:
        return {"not_compared": why}
    if layers[0] is None or layers[1] is None:
        return {"not_compared": "a run has none: it diverged, or the dump has other seeds"}
    if len({str(run.record["data_sha256"]) for run in pair if "data_sha256" in run.record}) > 1:
        return {"not_compared": "they are for different data"}
    if (layers[0].shape, layers[0].dtype) != (layers[1].shape, layers[1].dtype):
        found = " and ".join(f"{layer.dtype} of shape {layer.shape}" for layer in layers)
        return {"not_compared": f"they are {found}"}
    if layers[0].dtype == NUMBERS:
        return two_runs.apart(*layers)
    if labels is not None and len(labels) != len(layers[0]):
        return {"not_compared": f"they are for {len(layers[0])} examples, but the data set has {len(labels)}"}
    return two_runs.flips(*layers, labels)


def _summary(compared: list[dict[str, Any]]) -> dict[str, Any]:
    """Means over the shared seeds with their intervals, with the names and formulas of the metric files."""
    parted = [run["parting"]["weights_differ_from_epoch"] for run in compared]
    return {
        "bit_equal": sum(run["equal"] for run in compared),
        "runs": len(compared),
        "predictions_not_compared": sum("not_compared" in run["predictions"] for run in compared),
        "first_epoch_that_differs": min((epoch for epoch in parted if epoch), default=None),
        "metrics": {metric: _mean(metric, [_value(run, metric) for run in compared]) for metric in RANGES},
    }


def _value(run: dict[str, Any], metric: str) -> float | None:
    if metric == "accuracy_difference":
        one, other = run["parting"]["test_accuracy"]
        return None if one is None or other is None else other - one
    return run["parting" if metric.startswith("l2_") else "predictions"].get(metric)


def _mean(metric: str, values: Iterable[float | None]) -> dict[str, float | None]:
    numbers = np.array([value for value in values if value is not None])
    estimate = mean_t(numbers).within(*RANGES[metric])._asdict()
    finite = {name: float(value) if np.isfinite(value) else None for name, value in estimate.items()}
    return {"n_runs": len(numbers), **finite}
