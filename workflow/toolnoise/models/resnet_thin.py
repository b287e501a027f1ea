"""The thin ResNets for small images (He et al., 2016, section 4.2) as in Keras's example, examples/cifar10_resnet.py.

Three stages of 16, 32 and 64 filters with (depth - 2) / 6 blocks each. Unlike in He et al., convolutions have
biases, and a shortcut that halves the image is a 1x1 convolution without normalisation.
"""

import keras
from keras import KerasTensor, layers


def build(input_shape: tuple[int, int, int], classes: int, depth: int) -> keras.Model:
    """Build the network of 20, 26, 32, 38, ... layers; it gives logits."""
    blocks, rest = divmod(depth - 2, 6)
    if blocks < 1 or rest:
        raise ValueError(f"depth {depth} is not 6 n + 2")
    images = keras.Input(input_shape, name="images")
    values = layers.ReLU(name="stem_relu")(_convolved(images, 16, 1, "stem"))
    for stage, filters in enumerate((16, 32, 64), 1):
        for block in range(1, blocks + 1):
            values = _block(values, filters, f"stage{stage}_block{block}", halve=stage > 1 and block == 1)
    values = layers.GlobalAveragePooling2D(name="pool")(values)
    return keras.Model(images, layers.Dense(classes, kernel_initializer="he_normal", name="logits")(values))


def _block(values: KerasTensor, filters: int, name: str, halve: bool) -> KerasTensor:
    strides = 2 if halve else 1
    shortcut = values
    if halve:
        shortcut = layers.Conv2D(filters, 1, 2, kernel_initializer="he_normal", name=f"{name}_shortcut")(values)
    values = layers.ReLU(name=f"{name}_relu1")(_convolved(values, filters, strides, f"{name}_1"))
    values = layers.Add(name=f"{name}_sum")([shortcut, _convolved(values, filters, 1, f"{name}_2")])
    return layers.ReLU(name=f"{name}_relu2")(values)


def _convolved(values: KerasTensor, filters: int, strides: int, name: str) -> KerasTensor:
    convolution = layers.Conv2D(
        filters, 3, strides, padding="same", kernel_initializer="he_normal", name=f"{name}_conv"
    )
    return layers.BatchNormalization(name=f"{name}_bn")(convolution(values))
