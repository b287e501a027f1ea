"""Loss scaling for float16, whose smallest number is too large for many gradients.

The loss is multiplied by a power of two before gradients are taken and these are divided by it again, so that no bit
is lost. It is found as Keras's LossScaleOptimizer finds it, which Keras puts around every optimiser under
mixed_float16: from 2^15, halved by a step whose gradients overflow, which is left out, and doubled after 2,000 steps in
a row that were not. All of it is counted in integers, which are 0 at the start, and belongs to the state of training.

The counts are int32 tensors of whatever framework trains.
"""

from collections.abc import Callable, Mapping
from typing import Any

DOUBLINGS, STEPS_IN_A_ROW, LEFT_OUT = COUNTS = ("doublings", "steps_in_a_row", "left_out")
INITIAL_EXPONENT = 15
STEPS_TO_GROW = 2000
# So that the factor and its inverse are always normal numbers.
EXPONENTS = (-126, 126)


def bits(doublings: Any, sign: int = 1) -> Any:
    """The factor as the bits of a float32, or with sign -1 of what undoes it: exact on every device."""
    return (sign * (doublings + INITIAL_EXPONENT) + 127) * 2**23


def after(counts: Mapping[str, Any], finite: Any, clip: Callable[[Any, int, int], Any]) -> dict[str, Any]:
    """The counts after a step; `finite` is 1 if its gradients were finite and it was taken, and else 0."""
    in_a_row = finite * (counts[STEPS_IN_A_ROW] + 1)
    grown = in_a_row // STEPS_TO_GROW
    low, high = (exponent - INITIAL_EXPONENT for exponent in EXPONENTS)
    return {
        DOUBLINGS: clip(counts[DOUBLINGS] + grown - (1 - finite), low, high),
        STEPS_IN_A_ROW: in_a_row * (1 - grown),
        LEFT_OUT: counts[LEFT_OUT] + 1 - finite,
    }
