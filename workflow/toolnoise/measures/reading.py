"""Reads the common inputs of all measures: a dump with its data, and the runs that finished."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from toolnoise.base.errors import BadInput
from toolnoise.datasets import prepared
from toolnoise.dumps import stacks
from toolnoise.dumps.stacks import Predictions
from toolnoise.study import runs
from toolnoise.study.runs import Run


def predictions_of(data: str | Path, logits: str | Path, index: str | Path) -> tuple[Predictions, prepared.Data]:
    """A dump of predictions and its data set."""
    dump, dataset = stacks.read_predictions(logits, index), prepared.load(data)
    if dump.logits.shape[1] != (examples := len(dataset.test.labels)):
        raise BadInput(logits, "", f"found {dump.logits.shape[1]} examples", f"the {examples} of {data}")
    if dump.logits.ndim > 2 and dump.logits.shape[2] <= (last := int(dataset.test.labels.max(initial=0))):
        raise BadInput(logits, "", f"found {dump.logits.shape[2]} classes", f"more than the label {last} of {data}")
    return dump, dataset


def finished_runs(records: Sequence[str], dump: Predictions) -> list[Run]:
    """The runs of a dump that did not diverge."""
    return runs_at(records, dump, np.flatnonzero(dump.finished))


def runs_at(records: Sequence[str], dump: Predictions, places: Iterable[int]) -> list[Run]:
    """The runs at some positions of a dump, from the records of all its runs."""
    if len(records) != len(dump.seeds):
        allowed = f"{len(dump.seeds)}, one for each run of the dump"
        raise BadInput("command line", "records", f"found {len(records)}", allowed)
    with_seeds = [(runs.read_run(records[place]), dump.seeds[place]) for place in places]
    for run, seed in with_seeds:
        if run.seed != seed:
            raise BadInput(run.folder / "run.json", "spec.seed", f"found {run.seed}", f"{seed}, as the dump has")
    return [run for run, _ in with_seeds]


def count_finished(finished: np.ndarray) -> tuple[int, int]:
    """The number of runs that finished, and the number of runs that did not."""
    return int(finished.sum()), int((~finished).sum())


class TrainedVectors:
    """The trainable weights of each run as one vector, [S, P]; vectors are read from files when they are indexed."""

    def __init__(self, measured: Sequence[Run]) -> None:
        """Read the first vector to learn the number of weights."""
        self.measured = measured
        self.shape = (len(measured), len(measured[0].trained_vector()) if measured else 0)

    def __len__(self) -> int:
        return len(self.measured)

    def __getitem__(self, runs: int | slice) -> np.ndarray:
        if isinstance(runs, slice):
            vectors = [self._read(run) for run in self.measured[runs]]
            return np.stack(vectors) if vectors else np.empty((0, self.shape[1]), np.float32)
        return self._read(self.measured[runs])

    def of(self, chosen: np.ndarray) -> "TrainedVectors":
        """The vectors of the chosen runs."""
        return TrainedVectors([self.measured[run] for run in chosen])

    def _read(self, run: Run) -> np.ndarray:
        vector = run.trained_vector()
        if len(vector) != self.shape[1]:
            what = f"found {len(vector)} trained weights"
            allowed = f"{self.shape[1]}, as {self.measured[0].folder} has"
            raise BadInput(run.folder / "weights.npz", "", what, allowed)
        return vector
