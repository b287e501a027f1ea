"""The noise of a cell that remains with remedies."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from toolnoise.base import metric_files
from toolnoise.base.errors import BadInput
from toolnoise.base.job import Dumps, Input, Output, PlaceNames
from toolnoise.base.shapes import TEXT
from toolnoise.dumps.stacks import read_stack, require_logits
from toolnoise.measures.reading import counts, predictions_of
from toolnoise.papers.remedies import metric as remedies
from toolnoise.papers.remedies.metric import REMEDIES

SINGLE = "single"  # runs without a remedy


class Remedied(NamedTuple):
    """Logits (remedy x run x example x class) with the name of each remedy, the seed and the status of each run."""

    logits: np.ndarray
    remedies: list[str]
    seeds: list[int]
    diverged: list[bool]


def read(logits: str | Path) -> Remedied:
    """Read a dump under remedies and check that it is whole and fits the index beside it."""
    axes = {"remedies": 0, "seeds": 1, "diverged": 1}
    stack, entry = read_stack(logits, Path(logits).with_suffix(".json"), axes, "remedy", {"remedies": [TEXT]})
    require_logits(logits, np.moveaxis(stack, 1, 0), entry["diverged"])
    return Remedied(stack, *(entry[name] for name in axes))


def measure(
    cell: PlaceNames,
    study_seed: int,  # noqa: ARG001 (every measure of a cell is given it)
    data: Input,
    logits: Input,
    index: Input,
    remedied: Dumps = (),
    single: Dumps = (),
    *,
    out: Output,
) -> None:
    """Write the noise of a cell that remains with remedies, and its noise without a remedy.

    `remedied` is the dump under remedies. `single` is the dump of other runs, with which these are compared. Either may
    be empty. Diverged runs are excluded and counted as missing.
    """
    dump, dataset = predictions_of(data, logits, index)
    labels, finished = dataset.test.labels, dump.finished
    by_remedy = {SINGLE: remedies.measure(dump.kept, labels)}
    for path in remedied:
        stack = read(path)
        if stack.logits.shape[1:] != dump.logits.shape or stack.seeds != dump.seeds:
            raise BadInput(path, "", f"found runs {stack.seeds}, each {stack.logits.shape[2:]}", f"those of {logits}")
        for name, of_runs in zip(stack.remedies, stack.logits, strict=True):
            print(f"measuring {name}", flush=True)
            by_remedy[name] = remedies.measure(of_runs[finished], labels)
    before = by_remedy[SINGLE]
    for path in single:
        other, _ = predictions_of(data, path, Path(path).with_suffix(".json"))
        before = remedies.measure(other.kept, labels)
    rows = []
    for name, measured in by_remedy.items():
        rows += [(name, *row) for row in measured.rows()]
        if measured is not before:
            reduced = remedies.reduction(before, measured, same_runs=not single)
            rows.append((name, "variability_reduction", "all", reduced))
    metric_files.write(out, REMEDIES, [(*cell, *names, *estimate, *counts(finished)) for *names, estimate in rows])
