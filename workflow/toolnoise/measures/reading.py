"""The common start of all measures: a dump with its data, and the runs that finished."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from toolnoise.base.errors import BadInput
from toolnoise.datasets import prepared
from toolnoise.dumps import stacks
from toolnoise.dumps.stacks import Predictions
from toolnoise.training import runs
from toolnoise.training.runs import Run


def predictions_of(data: str | Path, logits: str | Path, index: str | Path) -> tuple[Predictions, prepared.Data]:
    """A dump of predictions and its data set."""
    dump, dataset = stacks.read_predictions(logits, index), prepared.load(data)
    if dump.logits.shape[1] != (examples := len(dataset.test.labels)):
        raise BadInput(logits, "", f"found {dump.logits.shape[1]} examples", f"the {examples} of {data}")
    return dump, dataset


def finished_runs(records: list[str], finished: np.ndarray) -> list[Run]:
    """The runs that did not diverge."""
    return [runs.read(record) for record, keep in zip(records, finished, strict=True) if keep]


def counts(finished: np.ndarray) -> tuple[int, int]:
    """The number of runs that finished, and the number of runs that did not."""
    return int(finished.sum()), int((~finished).sum())


def trained_vectors(measured: Sequence[Run]) -> np.ndarray:
    """The trainable weights of each run as one vector."""
    return np.stack([run.trained_vector() for run in measured]) if measured else np.empty((0, 0), np.float32)
