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


class TrainedVectors:
    """The trainable weights of each run as one vector, [S, P]: those that are asked for are read from their files."""

    def __init__(self, measured: Sequence[Run]) -> None:
        """Read the first, for the number of weights."""
        self.measured = measured
        self.shape = (len(measured), len(measured[0].trained_vector()) if measured else 0)

    def __len__(self) -> int:
        return len(self.measured)

    def __getitem__(self, runs: int | slice) -> np.ndarray:
        if isinstance(runs, slice):
            found = [run.trained_vector() for run in self.measured[runs]]
            return np.stack(found) if found else np.empty((0, self.shape[1]), np.float32)
        return self.measured[runs].trained_vector()

    def of(self, some: np.ndarray) -> "TrainedVectors":
        """Those of some runs."""
        return TrainedVectors([self.measured[run] for run in some])
