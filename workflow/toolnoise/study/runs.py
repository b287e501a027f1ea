"""Reads a run's outputs: record, weights and history; a damaged file causes a one-line error.

A run may also keep weights during training: after each cycle, and after steps 1, 2, 4, 8, ...

Cycles are equal parts of a training; in each, the learning rate falls to 0. The weights after every cycle but the last
are the run's snapshots; those after the last cycle are its final weights. A diverged run has the snapshots of the
completed cycles.

If the recipe has `record_steps`, weights and test logits are recorded before training, after steps 1, 2, 4, 8, ..., and
at the end. Two runs from equal starts can then be compared while they move apart. On a logarithmic scale of steps,
growth by a power of the number of steps is a straight line.

In the file, the kept copies of a tensor are stacked in one array, named by the tensor's path and a mark. No path ends
in a mark, because no tensor has an empty name. Logits are named `logits` and the mark; paths begin with a layer's name.
"""

import csv
import hashlib
import io
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toolnoise.base import shapes
from toolnoise.base.arrays import Rows, npz_names, read_npz
from toolnoise.base.errors import BadInput
from toolnoise.base.files import read_text, readable
from toolnoise.base.shapes import AMOUNT, ANYTHING, COUNT, FLAG, INTEGER, POSITIVE, TEXT, Shape, one_of
from toolnoise.base.spec import Spec
from toolnoise.epoch_plan import cycle_length
from toolnoise.study.entries import records_steps

# The parts that are read from a spec, and from the record of a run.
_NAMED: Shape = {"name": TEXT}
SPEC: Shape = {
    "study_seed": INTEGER,
    "seed": INTEGER,
    "draw?": INTEGER,
    "model": _NAMED,
    "dataset": _NAMED,
    "hardware": dict.fromkeys(("name", "engine", "impl_noise", "kernels", "isa", "environment?"), TEXT)
    | {"threads": COUNT},
    "recipe": {"name": TEXT, "epochs?": POSITIVE, "cycles?": POSITIVE, "record_steps?": FLAG},
    "variant": {"name": TEXT, "varying": [TEXT]},
}
RUN: Shape = {
    "spec": SPEC,
    "status": one_of("completed", "diverged"),
    "epochs": POSITIVE,
    "trainable": [TEXT],
    "steps_per_epoch?": POSITIVE,
    "initial_sha256?": TEXT,
    "resumed_after?": [COUNT],
    "seconds?": {"*": AMOUNT},
    "observed?": {"versions?": {"*": TEXT}, "build?": {"cuda_version?": TEXT, "cudnn_version?": TEXT, "*": ANYTHING}},
}
WANTED = "the record that train wrote"
# The numeric columns of a history, in the form that Python writes.
NUMBERS = ("train_loss", "train_accuracy", "test_loss", "test_accuracy", "learning_rate", "seconds")
DIGESTS = ("weights_sha256", "tensors_sha256", "draws_sha256")
TENSOR_DIGITS = 12  # the length of a tensor's digest in the history
# Every finite loss of float32 logits is smaller.
LARGEST = 1e40
_NUMBER = re.compile(r"-?(\d+(\.\d+)?(e[-+]?\d+)?|inf)|nan", re.ASCII)
# The marks of arrays kept after cycles and after steps.
OF_CYCLES, OF_STEPS = "/", "//"
LOGITS = "logits"
# The suffix of a training program's outputs other than weights. No path of a tensor ends in it.
OUTCOME = ":"


def snapshot_epochs(recipe: Mapping[str, Any], epochs: int) -> list[int]:
    """The epochs after which a run of `epochs` epochs has a snapshot."""
    return list(range(cycle_length(recipe), epochs, cycle_length(recipe)))


def packed_weights(snapshots: Sequence[Mapping[str, np.ndarray]], mark: str = OF_CYCLES) -> dict[str, Rows]:
    """The kept weights as arrays for a file. They are written row by row; no stacked array is held in memory."""
    first = snapshots[0] if snapshots else {}
    return {
        path + mark: Rows((len(snapshots), *tensor.shape), tensor.dtype, [snapshot[path] for snapshot in snapshots])
        for path, tensor in first.items()
    }


def unpacked_weights(packs: Mapping[str, np.ndarray], mark: str = OF_CYCLES) -> list[dict[str, np.ndarray]]:
    """The kept weights as views of such arrays."""
    kept = min(map(len, packs.values()), default=0)
    return [{name.removesuffix(mark): pack[number, ...] for name, pack in packs.items()} for number in range(kept)]


def recording_steps(last: int) -> list[int]:
    """The numbers of steps after which a run of `last` steps records weights and logits."""
    return [0, *(2**power for power in range(last.bit_length()) if 2**power < last), last]


def recorded_steps(record: Mapping[str, Any]) -> list[int]:
    """The steps that the run of this record has recorded: those of its recipe, up to the run's last epoch."""
    recipe = record["spec"]["recipe"]
    if not records_steps(recipe):
        return []
    each = record["steps_per_epoch"]
    return [step for step in recording_steps(recipe["epochs"] * each) if step <= record["epochs"] * each]


def weight_digests(weights: dict[str, np.ndarray]) -> tuple[str, list[str]]:
    """The digest of all tensors together, and the digest of each tensor's bytes, in order."""
    tensors = [hashlib.sha256(np.ascontiguousarray(tensor).data).hexdigest() for tensor in weights.values()]
    return hashlib.sha256("".join(tensors).encode()).hexdigest(), tensors


class Run(NamedTuple):
    """The record of a run and where its files are."""

    record: dict[str, Any]
    folder: Path

    @property
    def spec(self) -> Spec:
        """The spec that the run was trained with."""
        return Spec.read(self.record["spec"])

    @property
    def seed(self) -> int:
        """The seed it was trained with."""
        return self.spec.seed

    @property
    def diverged(self) -> bool:
        """Whether its loss stopped being finite."""
        return self.record["status"] == "diverged"

    def weights(self) -> dict[str, np.ndarray]:
        """Every tensor at the end of training, in the order of the layers."""
        names = npz_names(self.folder / "weights.npz")
        return self._tensors(mapped=[name for name in names if name.endswith((OF_CYCLES, OUTCOME))])[0]

    def snapshots(self) -> list[dict[str, np.ndarray]]:
        """The weights after each cycle, the final ones last; all of them stay in the file, memory-mapped.

        A diverged run has those of the cycles completed before, and the weights at divergence.
        """
        final, packs, _ = self._tensors(mapped=npz_names(self.folder / "weights.npz"))
        if "epochs" not in self.spec.recipe:
            raise BadInput(self.folder / "run.json", "spec.recipe.epochs", "no such key", WANTED)
        kept = len(snapshot_epochs(self.spec.recipe, self.record["epochs"]))
        sizes = {path: tensor.shape for path, tensor in final.items()}
        return [*self._unpacked(packs, OF_CYCLES, kept, sizes), final]

    def recorded(self) -> dict[int, dict[str, np.ndarray]]:
        """The weights and, as `logits`, the test logits after each recorded step; all of them stay in the file."""
        final, _, packs = self._tensors(mapped=npz_names(self.folder / "weights.npz"))
        try:
            steps = recorded_steps(self.record)
        except KeyError as error:
            raise BadInput(self.folder / "run.json", error.args[0], "no such key", WANTED) from None
        # The shape of the logits is taken as stored: the record lacks the numbers of examples and classes.
        logits = packs.get(LOGITS + OF_STEPS, np.empty(1))
        sizes = {path: tensor.shape for path, tensor in final.items()} | {LOGITS: logits.shape[1:]}
        return dict(zip(steps, self._unpacked(packs, OF_STEPS, len(steps), sizes), strict=True))

    def _unpacked(
        self, packs: dict[str, np.ndarray], mark: str, kept: int, sizes: dict[str, tuple[int, ...]]
    ) -> list[dict[str, np.ndarray]]:
        """The `kept` copies of tensors of these names and sizes; other arrays are refused."""
        wanted = {name + mark: (kept, *shape) for name, shape in sizes.items()} if kept else {}
        stored = {name: pack.shape for name, pack in packs.items()}
        for name in dict.fromkeys((*wanted, *stored)):
            if stored.get(name) != wanted.get(name):
                allowed = f"run.json's recipe keeps {wanted.get(name, 'nothing')}"
                raise BadInput(self.folder / "weights.npz", name, f"found {stored.get(name, 'nothing')}", allowed)
        return unpacked_weights(packs, mark)

    def _tensors(self, mapped: list[str]) -> tuple[dict[str, np.ndarray], ...]:
        """The final tensors, the stacked snapshots of each, and the stacked recordings of each after steps."""
        stored = read_npz(self.folder / "weights.npz", mapped)
        tensors = {name: tensor for name, tensor in stored.items() if not name.endswith(OUTCOME)}
        for name, tensor in tensors.items():
            if tensor.dtype.kind not in "biuf" or not tensor.dtype.isnative:
                raise BadInput(self.folder / "weights.npz", name, f"found {tensor.dtype.str}", "numbers, as train has")
        recorded, packs = (
            {name: tensors.pop(name) for name in list(tensors) if name.endswith(mark)} for mark in (OF_STEPS, OF_CYCLES)
        )
        absent = [path for path in self.record["trainable"] if path not in tensors]
        if absent:
            raise BadInput(self.folder / "weights.npz", absent[0], "no such tensor", "every tensor of run.json")
        return tensors, packs, recorded

    def trained_vector(self) -> np.ndarray:
        """The trainable weights as one vector."""
        weights = self.weights()
        for path in self.record["trainable"]:
            if weights[path].dtype.kind != "f":
                stored = f"found {weights[path].dtype} of shape {weights[path].shape}"
                raise BadInput(self.folder / "weights.npz", path, stored, "floats, since it was trained")
        trained = [weights[path].ravel() for path in self.record["trainable"]]
        return np.concatenate(trained) if trained else np.empty(0, np.float32)

    def history(self) -> list[dict[str, str]]:
        """One row per epoch."""
        path = self.folder / "history.csv"
        with readable(path, "the history that train wrote"):
            text = read_text(path)
            reader = csv.DictReader(io.StringIO(text))
            rows = list(reader)
        if len(names := reader.fieldnames or ()) > len(set(names)):
            raise BadInput(path, "line 1", "found a column twice", "the history that train wrote")
        # An existing training program has columns of its own.
        trained = NUMBERS if "epochs" in self.spec.recipe else ()
        for column in ("epoch", *trained, "weights_sha256", "tensors_sha256"):
            if not rows or column not in rows[0]:
                raise BadInput(path, column, "no such column", "the history that train wrote")
        for line, row in enumerate(rows, 2):
            if None in row or None in row.values():
                raise BadInput(path, f"line {line}", "found fields more or fewer", f"{len(rows[0])} columns")
            if not re.fullmatch("[0-9]{1,18}", row["epoch"]):
                raise BadInput(path, f"line {line}, epoch", f"found {row['epoch'][:60]!r}", "a whole number")
            for column in trained:
                if not _NUMBER.fullmatch(row[column]) or LARGEST < abs(float(row[column])) < math.inf:
                    raise BadInput(path, f"line {line}, {column}", f"found {row[column][:60]!r}", "a number, or nan")
        if len(rows) != self.record["epochs"] or not text.endswith("\n"):
            allowed = f"the {self.record['epochs']} whole epochs of run.json"
            raise BadInput(path, "", f"truncated: {len(rows)} epochs or a part", allowed)
        return rows


def read_run(record: str | Path) -> Run:
    """The run whose run.json this is."""
    value = shapes.read_json_of_shape(record, RUN, WANTED)
    recipe, epochs = value["spec"]["recipe"], value["epochs"]
    planned = recipe.get("epochs", epochs)
    if epochs > planned:
        raise BadInput(record, "epochs", f"found {epochs}", f"at most the {planned} of its recipe")
    if "epochs" not in recipe and recipe.get("cycles", 1) > 1:
        raise BadInput(record, "spec.recipe.epochs", "no such key", WANTED)
    if planned % recipe.get("cycles", 1):
        allowed = f"a divisor of its {planned} epochs"
        raise BadInput(record, "spec.recipe.cycles", f"found {recipe['cycles']}", allowed)
    return Run(value, Path(record).parent)
