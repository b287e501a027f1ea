"""One bit: one weight of a run moved to the adjacent floating-point number, up or down.

The weight is drawn uniformly from all kernels (weights that multiply inputs); biases and scales start from constants
such as 0, where the adjacent number is too small to matter. Or it is drawn from the tensor that the block names. The
weight and the direction depend only on the replicate, so moving it later moves the same weight.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from toolnoise import streams
from toolnoise.base.errors import BadInput
from toolnoise.base.noise_sources import replicate_of
from toolnoise.base.spec import Spec
from toolnoise.models.initial import Parameter


class Move(NamedTuple):
    """The weight to move, by its tensor's path and its index in it, and the direction."""

    tensor: str
    index: tuple[int, ...]
    up: bool

    def made(self, weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The weights with this one moved."""
        moved = weights[self.tensor].copy()
        moved[self.index] = np.nextafter(moved[self.index], moved.dtype.type(math.inf if self.up else -math.inf))
        return {**weights, self.tensor: moved}


def of_run(parameters: Sequence[Parameter], spec: Spec) -> Move | None:
    """The move of the run that `spec` describes, if its variant lets a bit vary."""
    if not spec.varies("bit"):
        return None
    return draw_move(parameters, spec.study_seed, replicate_of("bit", spec), spec.model.name, spec.variant.bit_tensor)


def record_of_move(move: Move | None, spec: Spec, epochs: int) -> dict[str, Any] | None:
    """The entry on its move in the record of a run of `epochs` epochs; None if the run diverged before the move."""
    if move is None or epochs <= spec.variant.bit_after:
        return None
    return {**move._asdict(), "index": list(move.index), "after_epoch": spec.variant.bit_after}


def draw_move(
    parameters: Sequence[Parameter], study_seed: int, replicate: int, model: str, tensor: str | None = None
) -> Move:
    """Draw the move of a replicate, in `tensor` or in any kernel; errors name the model as `model`."""
    trained = [parameter for parameter in parameters if parameter.trainable]
    kernels = [parameter for parameter in trained if (parameter.path == tensor if tensor else len(parameter.shape) > 1)]
    if tensor and not kernels:
        allowed = f"allowed: {', '.join(parameter.path for parameter in trained)}"
        raise BadInput(f"model {model}", "bit_tensor", f"no trained tensor {tensor!r}", allowed)
    if not kernels:
        problem = "no trained tensor of two axes or more"
        raise BadInput(f"model {model}", "", problem, "expected one to move a weight in")
    which, way = map(int, streams.raw_integers(streams.stream_key(study_seed, "bit", replicate, "weight"), 2))
    place = which * sum(math.prod(kernel.shape) for kernel in kernels) >> 64
    for kernel in kernels:
        if place < (size := math.prod(kernel.shape)):
            break
        place -= size
    index = tuple(map(int, np.unravel_index(place, kernel.shape)))
    return Move(kernel.path, index, bool(way >> 63))
