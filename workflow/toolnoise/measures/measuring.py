"""From dumps to metric files: reads what a cell or a pair of toolings left, measures it, writes tidy rows."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from toolnoise import streams
from toolnoise.base import files, metric_files
from toolnoise.base.errors import BadInput
from toolnoise.datasets import prepared
from toolnoise.dumps import layer_dump, prediction_dump, remedy_dump
from toolnoise.dumps.prediction_dump import Predictions
from toolnoise.metrics import remedies
from toolnoise.metrics.accuracy import predictions
from toolnoise.metrics.cross_tooling import cross_tooling
from toolnoise.metrics.ensembles import by_size
from toolnoise.metrics.identical import History, Weak, experiment, identical
from toolnoise.metrics.layers import layers
from toolnoise.metrics.overhead import Cost, costs, longest
from toolnoise.metrics.stability import stability
from toolnoise.study.grid import MODES, Cell, Pair, Profile
from toolnoise.training import runs
from toolnoise.training.runs import Run

SINGLE = "single"  # runs without a remedy


def measure_cell(
    cell: Cell,
    study_seed: int,
    block: dict[str, Any],
    data: str | Path,
    logits: str | Path,
    index: str | Path,
    records: list[str],
    out: str | Path,
    out_identical: str | Path,
    out_ensembles: str | Path,
) -> None:
    """Write what is measured on one cell: its stability, on it as identical runs, and on ensembles of its runs.

    `block` is what the study says of identical runs. Diverged runs are left out and counted as missing.
    """
    dump, dataset = _read(data, logits, index)
    finished = dump.finished
    measured = _finished(records, finished)
    stream = streams.key(study_seed, streams.ANALYSIS, 0, "bootstrap", *cell)
    test = dataset.test
    logits = dump.logits if finished.all() else dump.logits[finished]  # whole, it stays in its file
    rows = stability(logits, test.labels, dataset.members(test), _vectors(measured), stream)
    counts = (len(measured), len(records) - len(measured))
    told = [(*cell, metric, group, *estimate, *counts) for metric, group, estimate in rows]
    of_runs = _identical(cell, runs.read(records[0]), measured, logits, dataset, block, counts[1])
    # Of each size two ensembles at least, so that they have an SD; where there are too few runs, the runs alone.
    sizes = by_size(logits, test.labels, max(1, len(measured) // 2), stream)
    metric_files.write(out, metric_files.STABILITY, told)
    metric_files.write(out_identical, metric_files.IDENTICAL, of_runs)
    metric_files.write(
        out_ensembles,
        metric_files.ENSEMBLES,
        [
            (*cell, members, metric, group, *estimate, count, counts[1])
            for members, (metric, group, estimate), count in sizes
        ],
    )


def _identical(
    cell: Cell,
    any_run: Run,
    measured: Sequence[Run],
    logits: np.ndarray,
    dataset: prepared.Data,
    block: dict[str, Any],
    missing: int,
) -> list[list[metric_files.Cell]]:
    """One row for each criterion that the study asks for, of the runs that can be measured."""
    histories, weak = [_history(run) for run in measured], Weak(**block["weak"])
    try:
        about = experiment(any_run.record)
    except (KeyError, TypeError, AttributeError):
        place = any_run.folder / "run.json"
        raise BadInput(place, "observed", "no versions of the engine", "the record that train wrote") from None
    about |= {"dataset": cell.dataset, "hardware": cell.hardware, "variant": cell.variant, "n_missing": missing}
    predicted, classes = predictions(logits), len(dataset.classes)
    rows = [
        about | identical(predicted, dataset.test.labels, classes, histories, criterion, weak)
        for criterion in block["criteria"]
    ]
    return [[row[column] for column in metric_files.IDENTICAL] for row in rows]


def _history(run: Run) -> History:
    try:
        return History.of(run.history())
    except (KeyError, TypeError, ValueError):
        found = "a column that is missing or holds what is no number"
        raise BadInput(run.folder / "history.csv", "", found, "the history that train wrote") from None


def measure_remedies(
    cell: Cell,
    study_seed: int,
    data: str | Path,
    logits: str | Path,
    index: str | Path,
    remedied: list[str],
    single: list[str],
    out: str | Path,
) -> None:
    """Write what remedies leave of a cell's noise, and what is there without one.

    `remedied` is the dump under remedies, `single` that of other runs which these are held against; either may be none.
    Diverged runs are left out and counted as missing.
    """
    dump, dataset = _read(data, logits, index)
    stream = streams.key(study_seed, streams.ANALYSIS, 0, "bootstrap", *cell)
    labels, finished = dataset.test.labels, dump.finished
    found = {SINGLE: remedies.measure(dump.logits[finished], labels)}
    for path in remedied:
        stack = remedy_dump.read(path, Path(path).with_suffix(".json"))
        if stack.logits.shape[1:] != dump.logits.shape or stack.seeds != dump.seeds:
            raise BadInput(path, "", f"found runs {stack.seeds}, each {stack.logits.shape[2:]}", f"those of {logits}")
        for name, of_runs in zip(stack.remedies, stack.logits, strict=True):
            print(f"measuring {name}", flush=True)
            found[name] = remedies.measure(of_runs[finished], labels)
    before = found[SINGLE]
    for path in single:
        other, _ = _read(data, path, Path(path).with_suffix(".json"))
        before = remedies.measure(other.logits[other.finished], labels)
    rows = []
    for name, measured in found.items():
        rows += [(name, *row) for row in measured.rows(stream)]
        if measured is not before:
            reduced = remedies.reduction(before, measured, same_runs=not single)
            rows.append((name, "variability_reduction", "all", reduced))
    counts = (int(finished.sum()), int((~finished).sum()))
    metric_files.write(out, metric_files.REMEDIES, [(*cell, *names, *estimate, *counts) for *names, estimate in rows])


def measure_pair(
    pair: Pair,
    data: str | Path,
    logits: tuple[str, str],
    index: tuple[str, str],
    records: tuple[list[str], list[str]],
    out: str | Path,
) -> None:
    """Write what separates run s on one tooling from run s on the other."""
    (one, dataset), (other, _) = (_read(data, *paths) for paths in zip(logits, index, strict=True))
    shared = [seed for seed in one.seeds if seed in other.seeds]
    places = [[dump.seeds.index(seed) for seed in shared] for dump in (one, other)]
    finished = one.finished[places[0]] & other.finished[places[1]]
    stacks, vectors = [], []
    for dump, place, paths in zip((one, other), places, records, strict=True):
        kept = np.array(place, int)[finished]
        stacks.append(dump.logits[kept])
        vectors.append(_vectors([runs.read(paths[position]) for position in kept]))
    rows = cross_tooling(*stacks, dataset.test.labels, *vectors)
    counts = (int(finished.sum()), int((~finished).sum()))
    metric_files.write(
        out,
        metric_files.CROSS_TOOLING,
        [(*pair, metric, group, *estimate, *counts) for metric, group, estimate in rows],
    )


def measure_layers(cell: Cell, grams: str | Path, index: str | Path, out: str | Path) -> None:
    """Write how similar corresponding layers of a cell's runs are; diverged runs count as missing."""
    dump = layer_dump.read(grams, index)
    finished = dump.finished
    rows = layers(dump.layers, dump.grams if finished.all() else dump.grams[finished])
    counts = (int(finished.sum()), int((~finished).sum()))
    about = (*cell, dump.grams.shape[-1])
    metric_files.write(
        out,
        metric_files.LAYERS,
        [(*about, layer, metric, "all", *estimate, *counts) for layer, metric, estimate in rows],
    )


def measure_overhead(
    about: tuple[str, str, str],
    block: dict[str, Any],
    records: list[str],
    overhead: str | Path,
    kernels: str | Path,
) -> None:
    """Write what determinism costs and the longest kernels of each mode; a repeat that lacks a mode is missing.

    `about` is a network, a tooling and its accelerator; `block` what the study says of overhead.
    """
    subject = about[:2]
    found = dict(_read_cost(record) for record in records)
    repeats = range(1, block["repeats"] + 1)
    for profile in found:
        if profile[:2] != subject or profile.mode not in MODES or profile.repeat not in repeats:
            what = f"{'/'.join(map(str, profile))} is none of its measurements"
            raise BadInput("study", "overhead", what, f"records of {' on '.join(subject)}")
    whole = [repeat for repeat in repeats if all((*subject, mode, repeat) in found for mode in MODES)]
    runs = {mode: [found[*subject, mode, repeat] for repeat in whole] for mode in MODES}
    counts = (len(whole), len(repeats) - len(whole))
    about = (*about, *(block[key] for key in metric_files.CONDITIONS))
    metric_files.write(
        overhead, metric_files.OVERHEAD, [(*about, metric, *estimate, *counts) for metric, estimate in costs(**runs)]
    )
    rows = [(mode, row) for mode in MODES for row in longest(runs[mode])]
    metric_files.write(
        kernels,
        metric_files.KERNELS,
        [(*about, mode, row.rank, row.kernel, row.calls, *row.seconds, *counts) for mode, row in rows],
    )


def _read_cost(record: str) -> tuple[tuple[str, str, str, int], Cost]:
    about = files.read_json(record)
    for key in ("spec", "wall_seconds_per_step"):
        if not isinstance(about, dict) or key not in about:
            raise BadInput(record, key, "no such key", "the record that profile wrote")
    spec, wall = about["spec"], about["wall_seconds_per_step"]
    profile = Profile(spec["model"]["name"], spec["hardware"]["name"], spec["variant"]["name"], spec["seed"])
    kernels = metric_files.read(Path(record).with_suffix(".csv"), metric_files.PROFILE)
    steps = spec["steps"]["steps"]
    calls, seconds = kernels["calls"] / steps, kernels["total_us"] / 1e6 / steps
    return profile, Cost(wall, *(dict(zip(kernels["kernel"], values, strict=True)) for values in (calls, seconds)))


def _read(data: str | Path, logits: str | Path, index: str | Path) -> tuple[Predictions, prepared.Data]:
    dump, dataset = prediction_dump.read(logits, index), prepared.load(data)
    if dump.logits.shape[1] != (examples := len(dataset.test.labels)):
        raise BadInput(logits, "", f"found {dump.logits.shape[1]} examples", f"the {examples} of {data}")
    return dump, dataset


def _finished(records: list[str], finished: np.ndarray) -> list[Run]:
    return [runs.read(record) for record, keep in zip(records, finished, strict=True) if keep]


def _vectors(measured: Sequence[Run]) -> np.ndarray:
    return np.stack([run.trained_vector() for run in measured]) if measured else np.empty((0, 0), np.float32)
