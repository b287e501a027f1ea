"""The paper's three-layer CNN (Zhuang et al., appendix C), optionally with batch normalisation and dropout.

Three times 3x3 convolution, (batch normalisation,) ReLU and 2x2 max-pooling, with 16, 32 and 32 filters; then global
average pooling, dense 32 and dense classes. The authors' code pools globally, which gives 15,722 parameters at
32x32x3 and ten classes. Dropout, which the paper does not have, acts on the input of the last dense layer.

`bias=False` leaves out the biases of the convolutions. Batch normalisation removes what they add, so their gradient is
rounding noise, which Adam scales up to full steps. `activation` can replace every ReLU by a smooth function.

SmeLU (Shamir, Lin and Coviello, "Smooth activations and reproducibility in deep networks", 2020, arXiv:2010.09931) is
ReLU with a parabola in place of its corner, from -beta to beta. Shamir et al. report that smooth activations give a
better trade-off of accuracy and reproducibility than ReLU. Swish is x * sigmoid(x).
"""

from collections.abc import Callable
from typing import Any

import keras
from keras import layers, ops

from toolnoise.base.errors import BadInput
from toolnoise.models.dropout import Dropout

ACTIVATIONS = ("relu", "swish", "smelu")


def build(
    input_shape: tuple[int, int, int],
    classes: int,
    batch_norm: bool = False,
    dropout: float = 0.0,
    bias: bool = True,
    activation: str = "relu",
    beta: float = 1.0,
) -> keras.Model:
    """Build the network; it gives logits. `beta` is half the width of the parabola in `smelu`."""
    function = named_activation(activation, beta)
    images = values = keras.Input(input_shape, name="images")
    for number, filters in enumerate((16, 32, 32), 1):
        values = layers.Conv2D(filters, 3, padding="same", use_bias=bias, name=f"conv{number}")(values)
        if batch_norm:
            values = layers.BatchNormalization(name=f"bn{number}")(values)
        values = layers.Activation(function, name=f"{activation}{number}")(values)
        values = layers.MaxPooling2D(2, name=f"pool{number}")(values)
    values = layers.GlobalAveragePooling2D(name="pool")(values)
    values = layers.Dense(32, activation=function, name="dense")(values)
    if dropout:
        values = Dropout(dropout, name="dropout")(values)
    return keras.Model(images, layers.Dense(classes, name="logits")(values))


def named_activation(name: str, beta: float = 1.0) -> Callable[[Any], Any]:
    """The function of that name; `beta` is SmeLU's, half the width of its parabola."""
    if name not in ACTIVATIONS:
        raise BadInput("model", "options.activation", f"found {name!r}", f"allowed: {', '.join(ACTIVATIONS)}")
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
