"""The arrays that training programs left besides weights, and the test set made from their labels.

The labels must be the same in all runs.
"""

import numpy as np

from toolnoise.base import arrays
from toolnoise.base.errors import BadInput
from toolnoise.base.job import Output, RunRecord
from toolnoise.formulas import outcomes
from toolnoise.formulas.outcomes import LEFT, OUTCOMES, SCORED, YES_OR_NO
from toolnoise.study import runs
from toolnoise.study.runs import OUTCOME, Run

LABELS, GROUP, METRIC = "labels", "group/", "metric/"
# The name of each of several labels or values of an example, before its number.
NAMED = {outcomes.LABELS: "label", outcomes.VALUES: "column"}
# The kinds of arrays, and their dimensions; sub-groups and metrics have names of their own after a slash.
KINDS = {
    "logits": ("f", (2, 3, 4)),
    "predictions": ("iuf", (1, 2)),
    "losses": ("f", (1, 2)),
    "labels": ("iuf", (1, 2, 3)),
    "group": ("b", (1,)),
    "metric": ("f", (0,)),
}
# The arrays that each kind of outcome must have.
NEEDED = {
    **dict.fromkeys(SCORED, ("logits", "labels")),
    **dict.fromkeys((outcomes.CLASSES, outcomes.VALUES), ("predictions", "labels")),
    outcomes.LOSSES: ("losses",),
}


def read_left_arrays(run: Run) -> dict[str, np.ndarray]:
    """The arrays that the training program left besides its weights, by name, memory-mapped."""
    path = run.folder / "weights.npz"
    read = arrays.read_npz(path, arrays.npz_names(path))
    left = {name.removesuffix(OUTCOME): values for name, values in read.items() if name.endswith(OUTCOME)}
    arrays.require_kinds(path, left, {name: kind for name in left if (kind := KINDS.get(name.partition("/")[0]))})
    for name in NEEDED.get(run.spec.model.outcome, ()):
        if name not in left:
            raise BadInput(path, name, "no such array", "what the training program left")
    examples = [(name, len(values)) for name, values in left.items() if values.ndim]
    for name, count in examples[1:]:
        first, wanted = examples[0]
        if count != wanted:
            raise BadInput(path, name, f"found {count} examples", f"{wanted}, as {first} has")
    return left


def write_labels(dataset: str, record: RunRecord, *, out: Output) -> None:  # noqa: ARG001 (the name is in the paths)
    """Write the labels, classes and sub-groups of one run as the data set of all; a metric alone has none of them."""
    run = runs.read_run(record)
    left, kind = read_left_arrays(run), LEFT[run.spec.model.outcome]
    labels = _given(left)
    stored = {"test_labels": labels}
    if labels.dtype.kind in "iu" and labels.size:
        stored["test_labels"] = labels.astype(np.int32)
    if kind.of == outcomes.LABELS:
        stored["classes"] = np.array(YES_OR_NO)
    elif kind.of in OUTCOMES and labels.dtype.kind in "iu" and labels.size:
        count = left["logits"].shape[-1] if kind.scored else _classes(left["predictions"], labels)
        stored["classes"] = np.array([str(code) for code in range(count)])
    if kind.of not in (outcomes.LABEL, outcomes.METRIC):
        stored["outcome"] = np.array(kind.of)
    if labels.ndim == 2 and kind.of in NAMED:
        stored["asked"] = np.array([f"{NAMED[kind.of]}_{place}" for place in range(labels.shape[1])])
    if groups := arrays_named(left, GROUP):
        stored |= {"groups": np.array(list(groups)), "test_groups": np.stack(list(groups.values()), axis=1)}
    arrays.write_npz(out, stored)


def arrays_named(left: dict[str, np.ndarray], start: str) -> dict[str, np.ndarray]:
    """The sub-groups or the metrics that a run left, by their names."""
    return {name.removeprefix(start): values for name, values in left.items() if name.startswith(start)}


def require_same_labels(run: Run, left: dict[str, np.ndarray], labels: np.ndarray) -> None:
    """Refuse a run with other labels than the data set: its predictions are for other examples."""
    found_labels = _given(left)
    if found_labels.shape != labels.shape or not np.array_equal(found_labels, labels):
        what = f"found other labels than the study's, of shape {found_labels.shape}"
        allowed = "the same examples, in one order, in every run; others are another data set, reader: outcome"
        raise BadInput(run.folder / "weights.npz", LABELS, what, allowed)


def _given(left: dict[str, np.ndarray]) -> np.ndarray:
    """The labels of a run, with 0 where a segment is padded."""
    labels = left.get(LABELS, np.empty(0, np.int32))
    return labels if "losses" not in left or not labels.size else np.where(np.isnan(left["losses"]), 0, labels)


def _classes(predictions: np.ndarray, labels: np.ndarray) -> int:
    """The number of classes that one run shows; at least two."""
    return max(2, int(max(predictions.max(), labels.max())) + 1)
