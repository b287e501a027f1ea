"""The control gate: runs in which nothing may vary must be bit-equal, or the tooling is not under control.

It compares the digests of all weights after every epoch, the final weights and the logits, as bytes. If they differ,
the gate reports the runs and the first epoch and layer that differ.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from toolnoise.base import files, shapes
from toolnoise.base.arrays import bit_equal
from toolnoise.base.errors import BadInput
from toolnoise.base.job import Input, Output, PlaceNames, WholeRuns
from toolnoise.dumps import stacks
from toolnoise.study import runs


def check(cell: PlaceNames, logits: Input, index: Input, records: WholeRuns, *, out: Output) -> None:
    """Write the gate's verdict on a control cell, or fail with one line."""
    name = "/".join(cell)
    replicates = [runs.read_run(record) for record in records]
    first, *others = replicates
    for other in others:
        difference = _first_difference(first, other)
        if difference:
            raise BadInput(name, f"seeds {first.seed} and {other.seed}", difference, "replicates must be bit-equal")
    dump = stacks.read_predictions(logits, index)
    for seed, layer in zip(dump.seeds[1:], dump.logits[1:], strict=True):
        if not bit_equal(layer, dump.logits[0]):
            where = f"seeds {dump.seeds[0]} and {seed}"
            raise BadInput(name, where, "equal weights give different logits", "replicates must be bit-equal")
    files.write_json(
        out, passing_verdict(cell, [run.seed for run in replicates], first.history()[-1]["weights_sha256"])
    )


def passing_verdict(cell: Sequence[str], seeds: Sequence[int], weights_sha256: str) -> dict[str, Any]:
    """The verdict on a cell whose runs are bit-equal."""
    # A single run cannot be compared; None is not a pass.
    equal = True if len(seeds) > 1 else None
    return {"cell": "/".join(cell), "seeds": list(seeds), "bit_equal": equal, "weights_sha256": weights_sha256}


def read_verdict(path: str | Path) -> bool | None:
    """Whether the runs of a control cell are bit-equal, by the gate's file; None for a single run."""
    kind = shapes.ValueKind("true, or null for a single run", lambda value: value is True or value is None)
    return shapes.read_json_of_shape(path, {"bit_equal": kind}, "the verdict of the control gate")["bit_equal"]


def _first_difference(first: runs.Run, other: runs.Run) -> str:
    first_weights, other_weights = first.weights(), other.weights()
    names = list(first_weights)
    if list(other_weights) != names:
        return "the runs have different tensors"
    first_history, other_history = first.history(), other.history()
    for first_row, other_row in zip(first_history, other_history, strict=False):
        if first_row["weights_sha256"] != other_row["weights_sha256"]:
            pairs = zip(names, first_row["tensors_sha256"].split(), other_row["tensors_sha256"].split(), strict=False)
            layer = next((name for name, first_digest, other_digest in pairs if first_digest != other_digest), "none")
            return f"they part in epoch {first_row['epoch']}, first in {layer}"
    if len(first_history) != len(other_history):
        return f"they have {len(first_history)} and {len(other_history)} epochs"
    for name in names:
        if not bit_equal(first_weights[name], other_weights[name]):
            return f"their histories are equal but their final weights are not, first in {name}"
    return ""
