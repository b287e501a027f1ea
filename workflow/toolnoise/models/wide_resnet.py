"""Wide residual networks (Zagoruyko and Komodakis, 2016), such as WRN-28-10.

They have three stages of (depth - 4) / 6 blocks with 16, 32 and 64 times `width` filters. Normalisation and ReLU come
before each convolution. The shortcut is not normalised, unless the number of filters changes: then it is a 1x1
convolution of the normalised values. No convolution has a bias. As in the code of Pham et al. (wideresnet_original.py),
scales start from a uniform distribution on [0, 1], running means keep a tenth of their value in a step, epsilon is
1.1e-5, and a stride pads an even image at its far end only (Keras's "same").
"""

import keras
from keras import KerasTensor, initializers, layers

from toolnoise.models.dropout import Dropout


def build(input_shape: tuple[int, int, int], classes: int, depth: int, width: int, dropout: float = 0.0) -> keras.Model:
    """Build the network; it gives logits. `dropout` is the rate between the two convolutions of a block."""
    blocks, rest = divmod(depth - 4, 6)
    if blocks < 1 or rest:
        raise ValueError(f"depth {depth} is not 6 n + 4")
    images = keras.Input(input_shape, name="images")
    values = _convolved(images, 16, 3, 1, "stem_conv")
    for stage, filters in enumerate((16 * width, 32 * width, 64 * width), 1):
        for block in range(1, blocks + 1):
            strides = 2 if stage > 1 and block == 1 else 1
            values = _block(values, filters, strides, dropout, f"stage{stage}_block{block}")
    values = layers.GlobalAveragePooling2D(name="pool")(_active(values, "last"))
    return keras.Model(images, layers.Dense(classes, kernel_initializer="he_normal", name="logits")(values))


def _block(values: KerasTensor, filters: int, strides: int, dropout: float, name: str) -> KerasTensor:
    shortcut, values = values, _active(values, f"{name}_1")
    if shortcut.shape[-1] != filters:
        shortcut = _convolved(values, filters, 1, strides, f"{name}_shortcut")
    values = _active(_convolved(values, filters, 3, strides, f"{name}_1_conv"), f"{name}_2")
    if dropout:
        values = Dropout(dropout, name=f"{name}_dropout")(values)
    return layers.Add(name=f"{name}_sum")([shortcut, _convolved(values, filters, 3, 1, f"{name}_2_conv")])


def _active(values: KerasTensor, name: str) -> KerasTensor:
    scale = initializers.RandomUniform(0.0, 1.0)
    values = layers.BatchNormalization(momentum=0.1, epsilon=1.1e-5, gamma_initializer=scale, name=f"{name}_bn")(values)
    return layers.ReLU(name=f"{name}_relu")(values)


def _convolved(values: KerasTensor, filters: int, kernel: int, strides: int, name: str) -> KerasTensor:
    return layers.Conv2D(
        filters, kernel, strides, padding="same", use_bias=False, kernel_initializer="he_normal", name=name
    )(values)
