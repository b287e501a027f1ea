"""Checkpoints: an interrupted training resumes from one, bit for bit.

One file per run, written whole or not at all, at most once a minute, so that a short run pays nothing. The recorder
removes it when the run's statement is on disk. The file starts with a digest of the rest and names the spec, data,
code, framework and device that it belongs to. A checkpoint is used only if every byte is as written and it belongs to
this run. Otherwise the log gives the reason, and training starts over.
"""

import hashlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from toolnoise.base import arrays, files
from toolnoise.base.errors import BadInput, fault_name
from toolnoise.engines import State, Weights
from toolnoise.study.runs import packed_weights, unpacked_weights

SECONDS_BETWEEN = 60.0
# The parts of an identity that errors quote; the rest are digests.
NAMES = ("engine", "device", "driver")
ABOUT, WEIGHTS, SNAPSHOTS, RECORDED = "about", "weights", "snapshots", "recorded"
# The first line: the type of the file, and the SHA-256 of everything after the line.
HEADER = "toolnoise checkpoint 2 sha256 {}\n"


class Progress(NamedTuple):
    """How far a training has come.

    It has the state, a row for each epoch, seconds by purpose, the epochs after which training resumed, the weights
    after each cycle, and the weights and logits after each recorded step.
    """

    state: State
    rows: list[dict[str, Any]]
    seconds: dict[str, float]
    resumed: list[int]
    snapshots: list[Weights]
    recorded: list[Weights]


class Checkpoints:
    """The checkpoint of one run."""

    def __init__(self, path: str | Path, identity: dict[str, Any]) -> None:
        self.path, self.identity = Path(path), identity
        self.last = time.monotonic()

    def read(self) -> Progress | None:
        """The progress from which the run can resume, if any."""
        if not self.path.exists():
            return None
        if not self.path.is_file():
            raise BadInput(self.path, "", "not a file", "remove it: a checkpoint belongs there")
        try:
            return self._read()
        except BadInput as error:
            print(f"toolnoise: {error}; training starts over", file=sys.stderr, flush=True)
            return None

    def write(self, progress: Callable[[], Progress]) -> None:
        """Save a run's progress if the last save is at least SECONDS_BETWEEN ago."""
        if time.monotonic() - self.last < SECONDS_BETWEEN:
            return
        state, rows, seconds, resumed, snapshots, recorded = progress()
        about = {"identity": self.identity, "step": state.step, "rows": rows, "seconds": seconds, "resumed": resumed}
        groups = {WEIGHTS: state.weights, **state.slots, SNAPSHOTS: packed_weights(snapshots)}
        groups[RECORDED] = packed_weights(recorded)
        tensors = {f"{group} {path}": tensor for group, named in groups.items() for path, tensor in named.items()}
        text = np.frombuffer(json.dumps(about, allow_nan=False).encode(), np.uint8)
        try:
            with files.replacing(self.path) as scratch, scratch.open("wb+") as file:
                file.write(_header("0" * 64))
                arrays.pack_npz(file, {ABOUT: text, **tensors})
                whole = _digest(file)
                file.seek(0)
                file.write(_header(whole))
        except OSError as error:
            # A full disk ends a run when it writes its results, not when it writes a checkpoint.
            print(f"toolnoise: {self.path}: no checkpoint ({fault_name(error)})", file=sys.stderr, flush=True)
        self.last = time.monotonic()

    def _read(self) -> Progress:
        with files.readable(self.path, "a checkpoint that train wrote"), self.path.open("rb") as file:
            first = file.read(len(_header("0" * 64)))
            if first != _header(_digest(file)):
                raise BadInput(self.path, "", "damaged", "expected a checkpoint that train wrote")
            tensors = arrays.unpack_npz(file)
        about = json.loads(tensors.pop(ABOUT).tobytes())
        step, rows, seconds, resumed = (about[key] for key in ("step", "rows", "seconds", "resumed"))
        for key, wanted in self.identity.items():
            if (stored := about["identity"].get(key)) != wanted:
                if key in NAMES:
                    raise BadInput(self.path, key, f"found {stored!r}, from another run", f"expected {wanted!r}")
                problem = "from another run, or from an earlier version of this one"
                raise BadInput(self.path, key, problem, "expected this run's")
        groups: dict[str, Weights] = {}
        for name, tensor in tensors.items():
            group, _, path = name.partition(" ")
            groups.setdefault(group, {})[path] = tensor
        snapshots, recorded = (unpacked_weights(groups.pop(kept, {})) for kept in (SNAPSHOTS, RECORDED))
        state = State(groups.pop(WEIGHTS), groups, step)
        return Progress(state, rows, seconds, resumed, snapshots, recorded)


def _header(digest: str) -> bytes:
    return HEADER.format(digest).encode()


def _digest(file: IO[bytes]) -> str:
    """The SHA-256 of everything after the header."""
    file.seek(len(_header("0" * 64)))
    return hashlib.file_digest(file, "sha256").hexdigest()
