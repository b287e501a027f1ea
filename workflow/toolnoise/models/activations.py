"""Activation functions that a builder's option chooses by name: ReLU, and smooth ones in its place.

SmeLU (Shamir, Lin and Coviello, "Smooth activations and reproducibility in deep networks", 2020, arXiv:2010.09931) is
ReLU with a parabola in place of its corner, from -beta to beta. Shamir et al. report that smooth activations give a
better trade-off of accuracy and reproducibility than ReLU. Swish is x * sigmoid(x).
"""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from toolnoise.base.errors import BadInput

NAMES = ("relu", "swish", "smelu")


def activation(name: str, beta: float = 1.0) -> Callable[[Any], Any]:
    """The function of that name; `beta` is SmeLU's, half the width of its parabola."""
    if name not in NAMES:
        raise BadInput("model", "options.activation", f"found {name!r}", f"allowed: {', '.join(NAMES)}")
    if name == "smelu":
        if beta <= 0:
            raise BadInput("model", "options.beta", f"found {beta:g}", "a number above 0")
        return lambda values: smelu(values, beta)
    return keras.activations.get(name)


def smelu(values: Any, beta: float) -> Any:
    """0 up to -beta, (x + beta)^2 / (4 beta) up to beta, x beyond."""
    inside = ops.clip(values + beta, 0.0, 2 * beta)
    # Each part is constant where the other one bends, so the gradient is continuous at both ends.
    return ops.square(inside) * (1 / (4 * beta)) + ops.relu(values - beta)
