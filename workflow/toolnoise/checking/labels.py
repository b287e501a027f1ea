"""The test set of training programs: the labels that their runs bring, which must be the same in all of them."""

from pathlib import Path

import numpy as np

from toolnoise.base import arrays
from toolnoise.base.errors import BadInput
from toolnoise.checking.left import read as read_left
from toolnoise.training import runs
from toolnoise.training.runs import Run

LABELS, GROUP, METRIC = "labels", "group/", "metric/"


def write(dataset: str, record: str, out: str | Path) -> None:  # noqa: ARG001 (the name is in the paths)
    """Write the labels, classes and sub-groups of one run as the data set of all; a metric alone has none of them."""
    left = read_left(runs.read(record))
    labels = left.get(LABELS, np.empty(0, np.int32))
    stored = {"test_labels": labels}
    if labels.dtype.kind in "iu" and len(labels):
        count = left["logits"].shape[1] if "logits" in left else _classes(left["predictions"], labels)
        stored = {"test_labels": labels.astype(np.int32), "classes": np.array([str(code) for code in range(count)])}
    if groups := named(left, GROUP):
        stored |= {"groups": np.array(list(groups)), "test_groups": np.stack(list(groups.values()), axis=1)}
    arrays.write_npz(out, stored)


def named(left: dict[str, np.ndarray], start: str) -> dict[str, np.ndarray]:
    """The sub-groups or the metrics that a run left, by their names."""
    return {name.removeprefix(start): values for name, values in left.items() if name.startswith(start)}


def require_same(run: Run, left: dict[str, np.ndarray], labels: np.ndarray) -> None:
    """Refuse a run with other labels than the data set: its predictions are for other examples."""
    given = left.get(LABELS, np.empty(0, np.int32))
    if given.shape != labels.shape or not np.array_equal(given, labels):
        what = f"found other labels than the study's, of shape {given.shape}"
        allowed = "the same examples, in one order, in every run; others are another data set, reader: outcome"
        raise BadInput(run.folder / "weights.npz", LABELS, what, allowed)


def _classes(predictions: np.ndarray, labels: np.ndarray) -> int:
    """The number of classes, as far as one run shows it; two at least."""
    return max(2, int(max(predictions.max(), labels.max())) + 1)
