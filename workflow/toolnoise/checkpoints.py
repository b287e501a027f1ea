"""Checkpoints: where an interrupted training goes on, bit for bit.

One file a run, written whole or not at all, at most once a minute, so that a short run pays nothing; it goes when the
run ends. It names what it belongs to (spec, data, code, framework, device). One that is damaged or belongs to something
else is told in the log and never used: training starts anew.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toolnoise import arrays, cycles
from toolnoise.engines import State, Weights
from toolnoise.errors import BadInput

SECONDS_BETWEEN = 60.0
# What of an identity is told as it is; the rest are digests.
NAMES = ("engine", "device", "driver")
ABOUT, WEIGHTS, SNAPSHOTS = "about", "weights", "snapshots"


class Progress(NamedTuple):
    """How far a training has come.

    Its state, a row an epoch, seconds by purpose, the epochs after which it resumed, the weights after each cycle.
    """

    state: State
    rows: list[dict[str, Any]]
    seconds: dict[str, float]
    resumed: list[int]
    snapshots: list[Weights]


class Checkpoints:
    """The checkpoint of one run."""

    def __init__(self, path: str | Path, identity: dict[str, Any]) -> None:
        self.path, self.identity = Path(path), identity
        self.last = time.monotonic()

    def read(self) -> Progress | None:
        """What the run can go on from, if there is something."""
        if not self.path.exists():
            return None
        try:
            return self._read()
        except BadInput as error:
            print(f"toolnoise: {error}; training starts anew", file=sys.stderr, flush=True)
            return None

    def write(self, progress: Callable[[], Progress]) -> None:
        """Keep a run's progress if the last time is long enough ago."""
        if time.monotonic() - self.last < SECONDS_BETWEEN:
            return
        state, rows, seconds, resumed, snapshots = progress()
        about = {"identity": self.identity, "step": state.step, "rows": rows, "seconds": seconds, "resumed": resumed}
        groups = {WEIGHTS: state.weights, **state.slots, SNAPSHOTS: cycles.packed(snapshots)}
        tensors = {f"{group} {path}": tensor for group, named in groups.items() for path, tensor in named.items()}
        text = np.frombuffer(json.dumps(about, allow_nan=False).encode(), np.uint8)
        try:
            arrays.write_npz(self.path, {ABOUT: text, **tensors})
        except OSError as error:
            # A full disk ends a run when it writes its results, not when it takes precautions.
            print(f"toolnoise: {self.path}: no checkpoint ({error})", file=sys.stderr, flush=True)
        self.last = time.monotonic()

    def discard(self) -> None:
        """Remove the checkpoint, and what a write that was killed left beside it."""
        for path in (self.path, *self.path.parent.glob(f".{self.path.name}.*")):
            path.unlink(missing_ok=True)

    def _read(self) -> Progress:
        tensors = arrays.read_npz(self.path)
        try:
            about = json.loads(tensors.pop(ABOUT).tobytes())
            identity, step = dict(about["identity"]), about["step"]
            rest = about["rows"], about["seconds"], about["resumed"]
        except (KeyError, ValueError, TypeError):
            raise BadInput(self.path, "", "damaged", "expected a checkpoint that train wrote") from None
        for key, wanted in self.identity.items():
            if (found := identity.get(key)) != wanted:
                if key in NAMES:
                    raise BadInput(self.path, key, f"found {found!r}, another run's", f"expected {wanted!r}")
                raise BadInput(self.path, key, "of another run, or of this one as it was", "expected this run's")
        groups: dict[str, Weights] = {}
        for name, tensor in tensors.items():
            group, _, path = name.partition(" ")
            groups.setdefault(group, {})[path] = tensor
        snapshots = cycles.unpacked(groups.pop(SNAPSHOTS, {}))
        return Progress(State(groups.pop(WEIGHTS, {}), groups, step), *rest, snapshots)
