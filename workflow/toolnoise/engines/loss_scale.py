"""Loss scaling for float16, whose smallest number is larger than many gradients.

The loss is multiplied by a power of two and the gradients are divided by it again, so no bit is lost. The scale follows
Keras's LossScaleOptimizer, which Keras puts around every optimiser under mixed_float16: it starts at 2^15, is halved
when a step's gradients overflow (the step is skipped), and is doubled after 2,000 steps in a row without overflow. All
of it is counted in integers, which start at 0 and belong to the training state.

The counts are int32 tensors of the engine's framework.
"""

from collections.abc import Callable, Mapping
from typing import Any

DOUBLINGS, STEPS_IN_A_ROW, LEFT_OUT = COUNTS = ("doublings", "steps_in_a_row", "left_out")
INITIAL_EXPONENT = 15
STEPS_TO_GROW = 2000
# Keeps the factor and its inverse normal numbers.
EXPONENTS = (-126, 126)


def bits(doublings: Any, sign: int = 1) -> Any:
    """The factor as the bits of a float32 or, with sign -1, its inverse: exact on every device."""
    return (sign * (doublings + INITIAL_EXPONENT) + 127) * 2**23


def after(counts: Mapping[str, Any], finite: Any, clip: Callable[[Any, int, int], Any]) -> dict[str, Any]:
    """The counts after a step; `finite` is 1 if its gradients were finite and the step was made, else 0."""
    in_a_row = finite * (counts[STEPS_IN_A_ROW] + 1)
    grown = in_a_row // STEPS_TO_GROW
    low, high = (exponent - INITIAL_EXPONENT for exponent in EXPONENTS)
    return {
        DOUBLINGS: clip(counts[DOUBLINGS] + grown - (1 - finite), low, high),
        STEPS_IN_A_ROW: in_a_row * (1 - grown),
        LEFT_OUT: counts[LEFT_OUT] + 1 - finite,
    }
