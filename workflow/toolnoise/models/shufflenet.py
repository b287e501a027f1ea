"""ShuffleNetV2 x0.5 in the form for small images (Summers and Dinneen's shufflenetv2.py, after pytorch-cifar).

It has a 3x3 stem with stride 1, three stages, a 1x1 convolution and global pooling. The first block of each stage
halves the image. A block works on half of the channels and then interleaves the channels of both halves.
"""

import keras
from keras import KerasTensor, layers, ops

from toolnoise.models.pytorch import convolved, dense, depthwise, normalised

# Channels of each stage, and the number of blocks after the block that halves the image.
STAGES = ((48, 3), (96, 7), (192, 3))
STEM, LAST = 24, 1024


def build(input_shape: tuple[int, int, int], classes: int) -> keras.Model:
    """Build the network; it gives logits."""
    images = keras.Input(input_shape, name="images")
    values = _convolved(images, STEM, 3, "stem")
    for stage, (channels, blocks) in enumerate(STAGES, 1):
        values = _halving(values, channels, f"stage{stage}_block1")
        for block in range(2, blocks + 2):
            values = _block(values, f"stage{stage}_block{block}")
    values = _convolved(values, LAST, 1, "last")
    values = layers.GlobalAveragePooling2D(name="pool")(values)
    return keras.Model(images, dense(values, classes, "logits"))


def _halving(values: KerasTensor, channels: int, name: str) -> KerasTensor:
    half = channels // 2
    left = normalised(depthwise(values, 3, f"{name}_left1_conv", strides=2), f"{name}_left1_bn")
    left = _convolved(left, half, 1, f"{name}_left2")
    return _dealt(left, _worked(values, half, 2, name), name)


def _block(values: KerasTensor, name: str) -> KerasTensor:
    # Not two slices: the gradient of each is a whole array, mostly zeros, which took TensorFlow a fifth of a step.
    left, right = ops.split(values, 2, axis=-1)
    return _dealt(left, _worked(right, right.shape[-1], 1, name), name)


def _worked(values: KerasTensor, channels: int, strides: int, name: str) -> KerasTensor:
    values = _convolved(values, channels, 1, f"{name}_1")
    values = normalised(depthwise(values, 3, f"{name}_2_conv", strides), f"{name}_2_bn")
    return _convolved(values, channels, 1, f"{name}_3")


def _dealt(left: KerasTensor, right: KerasTensor, name: str) -> KerasTensor:
    height, width, channels = left.shape[1:]
    values = layers.Concatenate(name=f"{name}_both")([left, right])
    values = layers.Reshape((height, width, 2, channels), name=f"{name}_halves")(values)
    values = layers.Permute((1, 2, 4, 3), name=f"{name}_alternate")(values)
    return layers.Reshape((height, width, 2 * channels), name=f"{name}_dealt")(values)


def _convolved(values: KerasTensor, filters: int, kernel: int, name: str) -> KerasTensor:
    values = normalised(convolved(values, filters, kernel, f"{name}_conv"), f"{name}_bn")
    return layers.ReLU(name=f"{name}_relu")(values)
