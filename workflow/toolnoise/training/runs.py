"""Reading a run's outputs: record, weights and history; a damaged one is a one-line error."""

import csv
import hashlib
import io
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toolnoise.base.arrays import npz_names, read_npz
from toolnoise.base.errors import BadInput
from toolnoise.base.files import read_json, readable
from toolnoise.training import recorded_steps, snapshots

# After the name of what the training program of a run left besides its weights. No path of a tensor ends like this.
OUTCOME = ":"


def weight_digests(weights: dict[str, np.ndarray]) -> tuple[str, list[str]]:
    """Digest of each tensor's bytes, in order, and of all of them."""
    tensors = [hashlib.sha256(np.ascontiguousarray(tensor).data).hexdigest() for tensor in weights.values()]
    return hashlib.sha256("".join(tensors).encode()).hexdigest(), tensors


class Run(NamedTuple):
    """The record of a run and where its files are."""

    record: dict[str, Any]
    folder: Path

    @property
    def seed(self) -> int:
        """The seed it was trained with."""
        return self.record["spec"]["seed"]

    @property
    def diverged(self) -> bool:
        """Whether its loss stopped being finite."""
        return self.record["status"] == "diverged"

    def weights(self) -> dict[str, np.ndarray]:
        """Every tensor at the end of training, in the order of the layers."""
        names = npz_names(self.folder / "weights.npz")
        return self._tensors(mapped=[name for name in names if name.endswith((snapshots.MARK, OUTCOME))])[0]

    def outcome(self) -> dict[str, np.ndarray]:
        """What the training program left besides its weights, by name, memory-mapped."""
        path = self.folder / "weights.npz"
        left = read_npz(path, npz_names(path))
        return {name.removesuffix(OUTCOME): values for name, values in left.items() if name.endswith(OUTCOME)}

    def snapshots(self) -> list[dict[str, np.ndarray]]:
        """The weights after each cycle, the final ones last; all of them stay in the file, memory-mapped.

        A diverged run has those of the cycles completed before, and the weights at divergence.
        """
        final, packs, _ = self._tensors(mapped=npz_names(self.folder / "weights.npz"))
        kept = len(snapshots.snapshot_epochs(self.record["spec"]["recipe"], self.record["epochs"]))
        wanted = {path + snapshots.MARK: (kept, *tensor.shape) for path, tensor in final.items()} if kept else {}
        self._require(wanted, packs)
        return [*snapshots.unpacked(packs), final]

    def recorded(self) -> dict[int, dict[str, np.ndarray]]:
        """The weights and, as `logits`, the test logits after each recorded step; all of them stay in the file."""
        final, _, packs = self._tensors(mapped=npz_names(self.folder / "weights.npz"))
        try:
            steps = recorded_steps.expected(self.record)
        except KeyError as error:
            raise BadInput(
                self.folder / "run.json", error.args[0], "no such key", "the record that train wrote"
            ) from None
        mark, logits = recorded_steps.MARK, recorded_steps.LOGITS + recorded_steps.MARK
        wanted = {path + mark: (len(steps), *tensor.shape) for path, tensor in final.items()} if steps else {}
        if steps:
            # Their number of examples and of classes is that of the data set.
            wanted[logits] = (len(steps), *packs[logits].shape[1:]) if logits in packs else (len(steps),)
        self._require(wanted, packs)
        return dict(zip(steps, snapshots.unpacked(packs, recorded_steps.MARK), strict=True))

    def _require(self, wanted: dict[str, tuple[int, ...]], packs: dict[str, np.ndarray]) -> None:
        """Require arrays of exactly these names and shapes."""
        found = {name: pack.shape for name, pack in packs.items()}
        for name in dict.fromkeys((*wanted, *found)):
            if found.get(name) != wanted.get(name):
                allowed = f"run.json's recipe keeps {wanted.get(name, 'nothing')}"
                raise BadInput(self.folder / "weights.npz", name, f"found {found.get(name, 'nothing')}", allowed)

    def _tensors(self, mapped: list[str]) -> tuple[dict[str, np.ndarray], ...]:
        """The final tensors, the snapshots of each, and what was recorded of each after some steps."""
        found = read_npz(self.folder / "weights.npz", mapped)
        tensors = {name: tensor for name, tensor in found.items() if not name.endswith(OUTCOME)}
        recorded, packs = (
            {name: tensors.pop(name) for name in list(tensors) if name.endswith(mark)}
            for mark in (recorded_steps.MARK, snapshots.MARK)
        )
        absent = [path for path in self.record["trainable"] if path not in tensors]
        if absent:
            raise BadInput(self.folder / "weights.npz", absent[0], "no such tensor", "every tensor of run.json")
        return tensors, packs, recorded

    def trained_vector(self) -> np.ndarray:
        """The trainable weights as one vector."""
        weights = self.weights()
        trained = [weights[path].ravel() for path in self.record["trainable"]]
        return np.concatenate(trained) if trained else np.empty(0, np.float32)

    def history(self) -> list[dict[str, str]]:
        """One row per epoch."""
        path = self.folder / "history.csv"
        with readable(path, "the history that train wrote"):
            text = path.read_text("utf-8")
            rows = list(csv.DictReader(io.StringIO(text)))
        for column in ("epoch", "weights_sha256", "tensors_sha256"):
            if not rows or column not in rows[0]:
                raise BadInput(path, column, "no such column", "the history that train wrote")
        if len(rows) != self.record["epochs"] or not text.endswith("\n"):
            found = f"truncated: {len(rows)} epochs or a part"
            raise BadInput(path, "", found, f"the {self.record['epochs']} whole epochs of run.json")
        return rows


def is_finished(record: str | Path, spec: dict[str, Any]) -> bool:
    """Whether the run that `spec` describes, not an earlier version of it, has left its record."""
    try:
        return read(record).record["spec"] == spec
    except BadInput:
        return False


def is_measured(record: str | Path, spec: dict[str, Any]) -> bool:
    """Whether the measurement that `spec` describes has left its record."""
    try:
        return read_json(record)["spec"] == spec
    except (BadInput, KeyError, TypeError):
        return False


def read(record: str | Path) -> Run:
    """The run whose run.json this is."""
    value = read_json(record)
    for key in ("spec", "status", "epochs", "trainable"):
        if not isinstance(value, dict) or key not in value:
            raise BadInput(record, key, "no such key", "the record that train wrote")
    return Run(value, Path(record).parent)
