"""One specification of the optimisers and of loss scaling, constant by constant, which every engine follows.

With g the gradient plus the L2 coefficient times the weight, r the learning rate times the tensor's factor, and every
operation rounded to float32 in this order:

    Adam    m += (g - m) * RISE_1
            v += (g * g - v) * RISE_2
            weight -= m * (r * sqrt(1 - BETA_2^t) / (1 - BETA_1^t)) / (sqrt(v) + EPSILON)
    SGD     momentum = momentum * recipe's momentum - r * g
            weight += momentum

RISE is 1 - beta, taken from the float32 nearest to beta, as TensorFlow's kernel ResourceApplyAdam does. It is not the
float32 nearest to 1 - beta: for 0.999 the two are 1.3 parts in 100,000 apart. That is far more than rounding, and
enough to drive two frameworks as far apart as two seeds (docs/frameworks.md). The powers of the betas are computed
once, in float64, and rounded.

A tooling with `formulas: shipped` uses its framework's own optimisers instead. PyTorch has torch.optim's Adam, which
divides by the second bias correction before it adds epsilon, and its SGD, which multiplies by the rate after the
momentum. JAX ships no optimiser: it uses Keras's Adam, with the float32 nearest to 1 - beta, and the SGD above.
TensorFlow's kernels follow the formulas above.

Loss scaling is for float16, whose smallest number is larger than many gradients. The loss is multiplied by a power of
two and the gradients are divided by it again, so no bit is lost. The scale follows Keras's LossScaleOptimizer, which
Keras puts around every optimiser under mixed_float16: it starts at 2^15, is halved when a step's gradients overflow
(the step is skipped), and is doubled after 2,000 steps in a row without overflow. All of it is counted in integers,
int32 tensors of the engine's framework, which start at 0 and belong to the training state.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-7
RISE_1, RISE_2 = (float(np.float32(1) - np.float32(beta)) for beta in (BETA_1, BETA_2))

DOUBLINGS, STEPS_IN_A_ROW, LEFT_OUT = COUNTS = ("doublings", "steps_in_a_row", "left_out")
INITIAL_EXPONENT = 15
STEPS_TO_GROW = 2000
# Keeps the factor and its inverse normal numbers.
EXPONENTS = (-126, 126)


def smoothed_targets(smoothing: float, classes: int) -> tuple[float, float]:
    """The target of an example's class and that of any other, with label smoothing."""
    elsewhere = smoothing / classes
    return 1 - smoothing + elsewhere, elsewhere


def scale_bits(doublings: Any, sign: int = 1) -> Any:
    """The factor as the bits of a float32 or, with sign -1, its inverse: exact on every device."""
    return (sign * (doublings + INITIAL_EXPONENT) + 127) * 2**23


def scale_counts_after(counts: Mapping[str, Any], finite: Any, clip: Callable[[Any, int, int], Any]) -> dict[str, Any]:
    """The counts after a step; `finite` is 1 if its gradients were finite and the step was made, else 0."""
    in_a_row = finite * (counts[STEPS_IN_A_ROW] + 1)
    grown = in_a_row // STEPS_TO_GROW
    low, high = (exponent - INITIAL_EXPONENT for exponent in EXPONENTS)
    return {
        DOUBLINGS: clip(counts[DOUBLINGS] + grown - (1 - finite), low, high),
        STEPS_IN_A_ROW: in_a_row * (1 - grown),
        LEFT_OUT: counts[LEFT_OUT] + 1 - finite,
    }
