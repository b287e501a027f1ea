"""From dumps and runs of one task to a metric file: what other ways to compute the same training change."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from toolnoise.analyses.invariances import metric
from toolnoise.base import metric_files
from toolnoise.base.errors import BadInput
from toolnoise.measures.reading import draws_on_toolings
from toolnoise.training.runs import Run


def measure(
    model: str,
    dataset: str,
    cells: Sequence[tuple[str, str]],
    ways: Mapping[str, str],
    logits: Sequence[str],
    records: Sequence[str],
    out: str | Path,
) -> None:
    """Write the differences between the first way and each other one; `ways` has what each tooling changes.

    A draw that a way lacks, or that diverged there, is left out there and counted as missing.
    """
    toolings, planned = draws_on_toolings(cells, logits, records)
    first = next(iter(ways))
    rows = []
    for name, setting in list(ways.items())[1:]:
        here, there = toolings[first], toolings[name]
        shared = sorted(here.keys() & there.keys())
        if not shared:
            raise BadInput(out, name, "no draw has finished in both ways", "one draw or more")
        stacks = [np.stack([draws[draw][0] for draw in shared]) for draws in (here, there)]
        runs = [[draws[draw][1] for draw in shared] for draws in (here, there)]
        losses = [np.array([float(run.history()[0]["train_loss"]) for run in of_way]) for of_way in runs]
        equal = sum(map(_bit_equal, *runs, *stacks))
        rows += [
            (model, dataset, first, name, setting, *row[:2], *row[2], len(shared), len(planned) - len(shared))
            for row in metric.way(*stacks, *losses, equal)
        ]
    metric_files.write(out, metric.INVARIANCES, rows)


def _bit_equal(run: Run, other: Run, logits: np.ndarray, others: np.ndarray) -> bool:
    digests = [of_run.history()[-1]["weights_sha256"] for of_run in (run, other)]
    return digests[0] == digests[1] and logits.tobytes() == others.tobytes()
