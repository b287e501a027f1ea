"""What the training program of a run left besides its weights."""

import numpy as np

from toolnoise.base.arrays import npz_names, read_npz, require_kinds
from toolnoise.base.errors import BadInput
from toolnoise.datasets.outcomes import CLASSES, LOSSES, SCORED, VALUES
from toolnoise.training.runs import OUTCOME, Run

# The kinds of arrays, and their dimensions; sub-groups and metrics have names of their own after a slash.
KINDS = {
    "logits": ("f", (2, 3, 4)),
    "predictions": ("iuf", (1, 2)),
    "losses": ("f", (1, 2)),
    "labels": ("iuf", (1, 2, 3)),
    "group": ("b", (1,)),
    "metric": ("f", (0,)),
}
# By what a program leaves, the arrays that nobody can do without.
NEEDED = {
    **dict.fromkeys(SCORED, ("logits", "labels")),
    **dict.fromkeys((CLASSES, VALUES), ("predictions", "labels")),
    LOSSES: ("losses",),
}


def read(run: Run) -> dict[str, np.ndarray]:
    """What the training program left besides its weights, by name, memory-mapped."""
    path = run.folder / "weights.npz"
    read = read_npz(path, npz_names(path))
    left = {name.removesuffix(OUTCOME): values for name, values in read.items() if name.endswith(OUTCOME)}
    require_kinds(path, left, {name: kind for name in left if (kind := KINDS.get(name.partition("/")[0]))})
    for name in NEEDED.get(run.spec.model.outcome, ()):
        if name not in left:
            raise BadInput(path, name, "no such array", "what the training program left")
    examples = [(name, len(values)) for name, values in left.items() if values.ndim]
    for name, count in examples[1:]:
        first, wanted = examples[0]
        if count != wanted:
            raise BadInput(path, name, f"found {count} examples", f"{wanted}, as {first} has")
    return left
