"""A cell as identical runs, in the form of Pham et al.: differences at the end of its runs, and their convergence."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from toolnoise.analyses.identical.metric import (
    CONVERGENCE,
    IDENTICAL,
    MISSING,
    History,
    Weak,
    each_run,
    experiment,
    identical,
)
from toolnoise.base import metric_files
from toolnoise.base.errors import BadInput
from toolnoise.datasets import prepared
from toolnoise.formulas.accuracy import predictions
from toolnoise.training.runs import Run

Rows = list[list[metric_files.Value]]


class Found(NamedTuple):
    """The rows of the cell and those of its runs, for each criterion of the study."""

    cell: Rows
    runs: Rows


def rows(
    cell: Sequence[str],
    measured: Sequence[Run],
    missing: Sequence[Run],
    logits: np.ndarray,
    dataset: prepared.Data,
    block: dict[str, Any],
) -> Found:
    """Both kinds of rows, over the runs that can be measured; the others are counted as missing."""
    any_run, *_ = *measured, *missing
    histories, weak = [History.of(run.history()) for run in measured], Weak(**block["weak"])
    try:
        about = experiment(any_run.record)
    except (KeyError, TypeError, AttributeError):
        place = any_run.folder / "run.json"
        raise BadInput(place, "observed", "no versions of the engine", "the record that train wrote") from None
    _, name, hardware, variant = cell
    about |= {"dataset": name, "hardware": hardware, "variant": variant, "n_missing": len(missing)}
    given = predictions(logits), dataset.test.labels, len(dataset.classes), histories
    tables = Found([], [])
    for criterion in block["criteria"]:
        whole = about | identical(*given, criterion, weak)
        tables.cell.append([whole[column] for column in IDENTICAL])
        each = [{"try": run.seed} | row for run, row in zip(measured, each_run(*given, criterion, weak), strict=True)]
        each += [_empty(run.seed, criterion) for run in missing]
        tables.runs.extend([(about | row)[column] for column in CONVERGENCE] for row in each)
    return tables


def _empty(seed: int, criterion: str) -> dict[str, metric_files.Value]:
    undefined = {name: np.nan for name, kind in CONVERGENCE.items() if kind is float}
    return undefined | {"stopping_type": criterion, "try": seed, "class": "", "status": MISSING}
