"""A cell as identical runs, in the form of Pham et al.: differences at the end of its runs, and their convergence."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from toolnoise.base import metric_files
from toolnoise.base.errors import BadInput
from toolnoise.datasets import prepared
from toolnoise.metrics.accuracy import predictions
from toolnoise.metrics.identical import IDENTICAL, History, Weak, experiment, identical
from toolnoise.training.runs import Run


def rows(
    cell: Sequence[str],
    any_run: Run,
    measured: Sequence[Run],
    logits: np.ndarray,
    dataset: prepared.Data,
    block: dict[str, Any],
    missing: int,
) -> list[list[metric_files.Value]]:
    """One row for each criterion of the study, over the runs that can be measured."""
    histories, weak = [_history(run) for run in measured], Weak(**block["weak"])
    try:
        about = experiment(any_run.record)
    except (KeyError, TypeError, AttributeError):
        place = any_run.folder / "run.json"
        raise BadInput(place, "observed", "no versions of the engine", "the record that train wrote") from None
    _, name, hardware, variant = cell
    about |= {"dataset": name, "hardware": hardware, "variant": variant, "n_missing": missing}
    predicted, classes = predictions(logits), len(dataset.classes)
    found = [
        about | identical(predicted, dataset.test.labels, classes, histories, criterion, weak)
        for criterion in block["criteria"]
    ]
    return [[row[column] for column in IDENTICAL] for row in found]


def _history(run: Run) -> History:
    try:
        return History.of(run.history())
    except (KeyError, TypeError, ValueError):
        found = "a column is missing or holds something other than numbers"
        raise BadInput(run.folder / "history.csv", "", found, "the history that train wrote") from None
