"""Summers and Dinneen's ResNets for small images (their resnet_cifar.py).

The network has a 3x3 stem, then stages of two blocks. Each stage has half the image and twice the filters of the stage
before. If a stage halves the image, the shortcut takes every second pixel, normalises, and fills the new channels with
zeros: it has no convolution. The last batch normalisation of a block starts with scale 0, so every block starts as the
identity. Convolutions start from a normal distribution (He et al., by fan-out), here truncated at two standard
deviations.
"""

import keras
from keras import KerasTensor, initializers, layers, ops

from toolnoise.models.pytorch import convolved, dense, normalised


def build(
    input_shape: tuple[int, int, int], classes: int, stages: int = 3, width: int = 16, blocks: int = 2
) -> keras.Model:
    """Build the network, `width` filters wide in its first stage; it gives logits."""
    images = keras.Input(input_shape, name="images")
    values = layers.ReLU(name="stem_relu")(_convolved(images, width, 1, "stem"))
    for stage in range(1, stages + 1):
        for block in range(1, blocks + 1):
            halve = stage > 1 and block == 1
            values = _block(values, width * 2 ** (stage - 1), f"stage{stage}_block{block}", halve)
    values = layers.GlobalAveragePooling2D(name="pool")(values)
    return keras.Model(images, dense(values, classes, "logits"))


def _block(values: KerasTensor, filters: int, name: str, halve: bool) -> KerasTensor:
    strides = 2 if halve else 1
    shortcut = _widened(values, filters, f"{name}_shortcut") if halve else values
    values = layers.ReLU(name=f"{name}_relu1")(_convolved(values, filters, strides, f"{name}_1"))
    values = layers.Add(name=f"{name}_sum")([shortcut, _convolved(values, filters, 1, f"{name}_2", scale="zeros")])
    return layers.ReLU(name=f"{name}_relu2")(values)


def _widened(values: KerasTensor, filters: int, name: str) -> KerasTensor:
    values = normalised(layers.AveragePooling2D(1, 2, name=f"{name}_pool")(values), f"{name}_bn")
    return ops.pad(values, ((0, 0), (0, 0), (0, 0), (0, filters - values.shape[-1])))


def _convolved(values: KerasTensor, filters: int, strides: int, name: str, scale: str = "ones") -> KerasTensor:
    he = initializers.VarianceScaling(2.0, "fan_out", "truncated_normal")
    values = convolved(values, filters, 3, f"{name}_conv", strides, initializer=he)
    return normalised(values, f"{name}_bn", scale)
