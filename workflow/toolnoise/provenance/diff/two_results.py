"""The differences between two runs, two cells or two results trees: in their origins and in their outcomes.

Runs are compared by their histories, all arrays of weights.npz and the dumps of their predictions, cells run by run
over the shared seeds, and trees file by file. The time and place at which something was made are reported, but do
not count as a difference of results.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toolnoise.base import arrays, files
from toolnoise.base.errors import BadInput, as_given
from toolnoise.base.progress import progress
from toolnoise.base.times import is_time
from toolnoise.datasets import prepared
from toolnoise.dumps import stacks
from toolnoise.formulas.outcomes import METRIC
from toolnoise.measures import two_runs
from toolnoise.provenance import statements, tree
from toolnoise.provenance.diff import changes, origins
from toolnoise.provenance.tree import SHOW_AUDIT, Tree
from toolnoise.stats.estimates import mean_t
from toolnoise.steps import PAGE, STEPS
from toolnoise.study import runs
from toolnoise.study.kept_weights import OF_CYCLES
from toolnoise.study.runs import OUTCOME, Run

RUN, CELL, TREE = "run", "cell", "results"
# The type of numbers in a dump that are no logits.
NUMBERS = np.float64
WANTED = "two runs, two cells, two studies' results or two results folders"
CELL_DEPTH = 4
# An audit that a page of earlier results shows, and the statements in it.
EARLIER = {(SHOW_AUDIT, "out"), (SHOW_AUDIT, "out-statements"), (PAGE, "out-statements")}
# The range of each metric of a pair, as in cross_tooling.csv.
RANGES = {
    "churn": (0, 1),
    "mean_absolute_difference": (0, np.inf),
    "l2_unit": (0, np.inf),
    "l2_raw": (0, np.inf),
    "accuracy_difference": (-1, 1),
}


class CellPredictions(NamedTuple):
    """A cell's predictions by seed and the labels of the examples; empty, with the reason, if unavailable.

    Predictions are logits or classes, or the numbers that a training program left: these have no labels.
    """

    logits: dict[int, np.ndarray]
    labels: np.ndarray | None
    why: str = ""


def diff(path_a: str | Path, path_b: str | Path) -> dict[str, Any]:
    """All differences between A (`one`) and B (`other`), as a JSON-like value whose `equal` is the verdict."""
    kinds = [_kind(path) for path in (path_a, path_b)]
    if kinds[0][0] != kinds[1][0]:
        raise BadInput(path_b, "", f"a {kinds[1][0]}, and {path_a} is a {kinds[0][0]}", WANTED)
    (kind, a), (_, b) = kinds
    compare = {RUN: compare_runs, CELL: _cells, TREE: _results}[kind]
    return {"kind": kind, "a": as_given(path_a), "b": as_given(path_b), **compare(a, b)}


def _kind(path: str | Path) -> tuple[str, Path]:
    """The kind of a path (run, cell or results), and its folder."""
    folder = Path(path).absolute()
    if folder.name == "run.json" and folder.is_file():
        folder = folder.parent
    if not folder.is_dir():
        raise BadInput(path, "", "is not a folder" if folder.exists() else "no such folder", WANTED)
    if (folder / "run.json").is_file():
        return RUN, folder
    if seeds_of(folder):
        return CELL, folder
    return TREE, folder


def seeds_of(cell: Path) -> dict[int, Path]:
    """The folders of a cell's runs by seed."""
    with files.readable(cell, "a folder"):
        folders = [entry for entry in cell.iterdir() if entry.name.isdecimal() and (entry / "run.json").is_file()]
    return {int(entry.name): entry for entry in sorted(folders, key=lambda entry: int(entry.name))}


def study_of(cell: Path) -> Path | None:
    """The folder of the study that contains a cell's folder; None if it lies by itself."""
    above = cell.parents[CELL_DEPTH - 1 :]
    return above[1] if len(above) > 1 and above[0].name == "runs" else None


# Runs


def compare_runs(
    run_a: Path, run_b: Path, dumps: tuple[CellPredictions, CellPredictions] | None = None
) -> dict[str, Any]:
    """The differences between the runs in two folders; `dumps` are those of their cells, if they are read already."""
    dumps = dumps or (_dump(run_a.parent), _dump(run_b.parent))
    pair = tuple(runs.read(folder / "run.json") for folder in (run_a, run_b))
    made_of = [origins.of_run(run.record, _statement(run.folder)) for run in pair]
    parted = two_runs.parting(*pair)
    others = _others(pair)
    predictions = _predictions(pair, dumps)
    same = parted["weights_bit_equal"] and parted["history_equal"] and len(set(parted["status"])) == 1
    return {
        "equal": same and not others["differ"] and predictions.get("logits_bit_equal", True),
        "seeds": [run.seed for run in pair],
        "made_from": origins.differences(*made_of),
        "parting": parted,
        "other_arrays": others,
        "predictions": predictions,
    }


def _others(pair: tuple[Run, Run]) -> dict[str, list[Any]]:
    """The arrays beside the final weights: what a training program left, except times, and what was kept on the way."""
    arrays_a, arrays_b = map(_beside_weights, pair)
    differ = changes.arrays_that_differ(arrays_a, arrays_b)
    return {
        "names": list({**arrays_a, **arrays_b}),
        "differ": [{"array": name, "first": first} for name, first in differ],
    }


def _beside_weights(run: Run) -> dict[str, np.ndarray]:
    path = run.folder / "weights.npz"
    stored = arrays.npz_names(path)
    names = [name for name in stored if name.endswith((OF_CYCLES, OUTCOME)) and not _is_timed_metric(name)]
    read = arrays.read_npz(path, stored) if names else {}
    return {name.removesuffix(OUTCOME): read[name] for name in names}


def _is_timed_metric(array: str) -> bool:
    kind, _, name = array.partition("/")
    return kind == METRIC and array.endswith(OUTCOME) and is_time(name)


def _statement(run: Path) -> statements.Statement | None:
    study = study_of(run.parent)
    if study is None:
        return None
    path = study / statements.FOLDER / run.relative_to(study) / f"weights.npz{statements.SUFFIX}"
    return statements.read(path) if path.exists() else None


def _dump(cell: Path) -> CellPredictions:
    study = study_of(cell)
    if study is None:
        return CellPredictions({}, None, "the run lies in no study's results")
    place = study / "predictions" / cell.relative_to(study / "runs")
    logits, index = place.with_name(f"{place.name}.npy"), place.with_name(f"{place.name}.json")
    if not (logits.exists() and index.exists()):
        return CellPredictions({}, None, f"no dump of {'/'.join(place.parts[-CELL_DEPTH:])}")
    dump = stacks.read_predictions(logits, index)
    by_seed = {seed: dump.logits[layer] for layer, seed in enumerate(dump.seeds) if not dump.diverged[layer]}
    data = study / "data" / f"{cell.parts[-3]}.npz"
    if dump.logits.dtype == NUMBERS:
        left = files.read_json(index).get("metrics")
        return CellPredictions({}, None, "the runs left metrics alone") if left else CellPredictions(by_seed, None)
    return CellPredictions(by_seed, prepared.load(data).test.labels if data.exists() else None)


def _predictions(pair: tuple[Run, Run], dumps: Sequence[CellPredictions]) -> dict[str, Any]:
    why = next((dump.why for dump in dumps if dump.why), "")
    layers = [dump.logits.get(run.seed) for run, dump in zip(pair, dumps, strict=True)]
    contents = {str(run.record["data_sha256"]) for run in pair if "data_sha256" in run.record}
    if not why and any(layer is None for layer in layers):
        why = "a run has none: it diverged, or the dump has other seeds"
    elif not why and len(contents) > 1:
        why = "they are for different data"
    elif not why and layers[0].shape != layers[1].shape:
        why = f"their shapes are {layers[0].shape} and {layers[1].shape}"
    if why:
        return {"not_compared": why}
    if layers[0].dtype != layers[1].dtype:
        return {"not_compared": f"they are {layers[0].dtype} and {layers[1].dtype}"}
    if layers[0].dtype == NUMBERS:
        return two_runs.apart(*layers)
    labels = next((dump.labels for dump in dumps if dump.labels is not None), None)
    if labels is not None and len(labels) != len(layers[0]):
        return {"not_compared": f"they are for {len(layers[0])} examples, but the data set has {len(labels)}"}
    return two_runs.flips(*layers, labels)


# Cells


def _cells(cell_a: Path, cell_b: Path) -> dict[str, Any]:
    seeds = [seeds_of(cell) for cell in (cell_a, cell_b)]
    shared = [seed for seed in seeds[0] if seed in seeds[1]]
    dumps = _dump(cell_a), _dump(cell_b)
    compared = [compare_runs(seeds[0][seed], seeds[1][seed], dumps) for seed in shared]
    only = [[seed for seed in of_cell if seed not in shared] for of_cell in seeds]
    return {
        "equal": all(run["equal"] for run in compared) and bool(shared) and not any(only),
        "seeds": {"shared": shared, "only_a": only[0], "only_b": only[1]},
        "made_from": origins.merged([run["made_from"] for run in compared]),
        "summary": _summary(compared),
        "runs": compared,
    }


def _summary(compared: list[dict[str, Any]]) -> dict[str, Any]:
    """Means over the shared seeds with their intervals, with the names and formulas of the metric files."""
    values: dict[str, list[float]] = {metric: [] for metric in RANGES}
    for run in compared:
        accuracy = run["parting"]["test_accuracy"]
        numbers = {
            **{metric: run["predictions"].get(metric) for metric in ("churn", "mean_absolute_difference")},
            "l2_unit": run["parting"]["l2_unit"],
            "l2_raw": run["parting"]["l2_raw"],
            "accuracy_difference": None if None in accuracy else accuracy[1] - accuracy[0],
        }
        for metric, value in numbers.items():
            if value is not None:
                values[metric].append(value)
    parted = [run["parting"]["weights_differ_from_epoch"] for run in compared]
    return {
        "bit_equal": sum(run["equal"] for run in compared),
        "runs": len(compared),
        "predictions_not_compared": sum("not_compared" in run["predictions"] for run in compared),
        "first_epoch_that_differs": min((epoch for epoch in parted if epoch), default=None),
        "metrics": {
            metric: {"n_runs": len(numbers)} | _finite(mean_t(np.array(numbers)).within(*RANGES[metric])._asdict())
            for metric, numbers in values.items()
        },
    }


def _finite(numbers: Mapping[str, float]) -> dict[str, float | None]:
    return {name: float(value) if np.isfinite(value) else None for name, value in numbers.items()}


# Results


def _results(folder_a: Path, folder_b: Path) -> dict[str, Any]:
    loaded = [tree.load(folder) for folder in (folder_a, folder_b)]
    by_name = [{study.root.name: study for study in results.trees} for results in loaded]
    for folder, trees in zip((folder_a, folder_b), by_name, strict=True):
        if not any(study.statements or study.study or _cell_names(study) for study in trees.values()):
            raise BadInput(folder, "", "contains no results", WANTED)
    if all(len(trees) == 1 for trees in by_name):
        pairs = {"": tuple(study for trees in by_name for study in trees.values())}
        only: list[list[str]] = [[], []]
    else:
        pairs = {name: (study, by_name[1][name]) for name, study in by_name[0].items() if name in by_name[1]}
        only = [sorted(trees.keys() - pairs.keys()) for trees in by_name]
        if not pairs:
            what = f"has no study in common with {folder_a}"
            raise BadInput(folder_b, "", what, "results of at least one study in both")
    studies = [{"name": name or pair[0].name, **_studies(*pair)} for name, pair in pairs.items()]
    return {
        "equal": all(study["equal"] for study in studies) and not any(only),
        "studies": studies,
        "only_a": only[0],
        "only_b": only[1],
    }


def _studies(study_a: Tree, study_b: Tree) -> dict[str, Any]:
    timed = _timed(study_a) | _timed(study_b)
    names = sorted({*study_a.artifacts, *study_b.artifacts})
    listed: dict[str, Any] = {name: [] for name in ("only_a", "only_b", "not_compared", "differ")}
    same, but_for_times = set(), set()
    with progress("comparing files", len(names), "files") as bar:
        for name in names:
            if name not in study_b.artifacts or name not in study_a.artifacts:
                listed["only_a" if name in study_a.artifacts else "only_b"].append(name)
            elif name in timed:
                listed["not_compared"].append(name)
            else:
                compared = _compared(study_a.root / name, study_b.root / name)
                if compared.same:
                    same.add(name)
                    but_for_times |= {name} if compared.but else set()
                else:
                    listed["differ"].append({"path": name, "first": compared.first})
            bar.update()
    strange = sorted({*study_a.strange, *study_b.strange})
    in_a, in_b = _cell_names(study_a), _cell_names(study_b)
    cells = [{"cell": cell, "only": "a" if cell in in_a else "b"} for cell in in_a ^ in_b]
    cells += [_cell_of(study_a, study_b, cell, same) for cell in in_a & in_b]
    return {
        "equal": not (listed["differ"] or listed["only_a"] or listed["only_b"] or strange),
        "made_from": _made_from(study_a, study_b),
        "bit_equal": len(same),
        "but_for_times": len(but_for_times),
        **listed,
        "no_plain_files": strange,
        "cells": sorted(cells, key=lambda found: found["cell"]),
    }


def _compared(file_a: Path, file_b: Path) -> changes.FileDifference:
    try:
        return changes.compare(file_a, file_b)
    except BadInput as error:
        return changes.FileDifference(False, first=str(error))


def _timed(study: Tree) -> set[str]:
    """The artifacts whose outcome is a time: those of timing jobs, and everything made from them.

    A page links to its parts, which have times, and does not repeat them.
    """
    timed: set[str] = set()
    before = -1
    while len(timed) != before:
        before = len(timed)
        for stated in study.statements:
            statement = stated.statement
            inputs = {study.inside(needed.name) for needed in statement.inputs}
            inputs = {path for path in inputs if path and not path.startswith("page/")}
            held = [made for made in statement.outputs if inputs & timed or _has_times(statement.verb, made.role)]
            timed |= {path for made in held if (path := study.inside(made.name))}
    return timed


def _has_times(verb: str, role: str) -> bool:
    """Whether an output contains times; one that jobs of the verb no longer have does if all others do."""
    writes = STEPS[verb].writes if verb in STEPS else {}
    asked = [writes[role]] if role in writes else writes.values()
    return (verb, role) in EARLIER or (bool(writes) and all(write.timed for write in asked))


def _cell_names(study: Tree) -> set[str]:
    """The cells that have runs, as model/dataset/hardware/variant."""
    parts = [path.split("/") for path in study.files if path.startswith("runs/") and path.endswith("/run.json")]
    return {"/".join(part[1:-2]) for part in parts if len(part) == CELL_DEPTH + 3}


def _cell_of(study_a: Tree, study_b: Tree, cell: str, same: set[str]) -> dict[str, Any]:
    """One cell of two studies: whether all files are the same, or else the differences."""
    dumped = (f"predictions/{cell}.npy", f"predictions/{cell}.json")
    files_of_both = {*study_a.files, *study_b.files}
    paths = {path for path in files_of_both if path.startswith(f"runs/{cell}/") or path in dumped}
    if paths <= same:
        return {"cell": cell, "equal": True}
    try:
        compared = _cells(study_a.root / "runs" / cell, study_b.root / "runs" / cell)
    except BadInput as error:
        return {"cell": cell, "equal": False, "damaged": str(error)}
    return {"cell": cell, **{key: compared[key] for key in ("equal", "seeds", "summary")}}


def _made_from(study_a: Tree, study_b: Tree) -> dict[str, list[dict[str, Any]] | None]:
    """The differences in origin between two studies: the studies themselves, and everything else job by job."""
    of_jobs = []
    for path, producers in study_a.producers.items():
        if path in study_b.producers:
            pair = producers[0].statement, study_b.producers[path][0].statement
            parts = origins.differences(*map(origins.of_statement, pair))
            if "entry" not in pair[0].parameters:
                # The data of other jobs are outputs of earlier jobs.
                parts["data"] = []
            of_jobs.append(parts)
    made_from = origins.merged(of_jobs)
    paths = [study.root / tree.STUDY_FILE for study in (study_a, study_b)]
    if all(path.is_file() for path in paths):
        made_from["spec"] = origins.rows(*map(files.read_json, paths))
    return made_from
