"""ResNets for ImageNet without biases in convolutions: ResNet-18 as in torchvision, ResNet-50 as in the Model Garden.

ResNet-50 is version 1.5: in a block, the 3x3 convolution has the stride, not the first (Model Garden, resnet_model.py).
Both begin with a 7x7 convolution and a 3x3 max-pooling, each with stride 2. Batch normalisation averages with momentum
0.9 and has epsilon 1e-5. Convolutions start from He et al.'s normal distribution, truncated, by fan-out in torchvision
and by fan-in in the Model Garden. After the first convolution, layers with a stride pad both sides of an image in
torchvision, and only the far ends in the Model Garden (Keras's "same").
"""

import keras
from keras import KerasTensor, initializers, layers

from toolnoise.models.pytorch import convolved, dense, normalised

# Blocks of each stage; the kernels of a block's convolutions, and the index of the one with the stride.
BLOCKS = {18: (2, 2, 2, 2), 50: (3, 4, 6, 3)}
KERNELS = {18: ((3, 3), 0), 50: ((1, 3, 1), 1)}


def build(input_shape: tuple[int, int, int], classes: int, depth: int) -> keras.Model:
    """Build the network of 18 or 50 layers; it gives logits."""
    if depth not in BLOCKS:
        raise ValueError(f"depth {depth} is not one of {', '.join(map(str, BLOCKS))}")
    garden = depth == 50
    images = keras.Input(input_shape, name="images")
    values = layers.ReLU(name="stem_relu")(_convolved(images, 64, 7, 2, "stem", garden))
    if not garden:
        values = layers.ZeroPadding2D(1, name="stem_pad")(values)
    values = layers.MaxPooling2D(3, 2, padding="same" if garden else "valid", name="stem_pool")(values)
    for stage, (filters, blocks) in enumerate(zip((64, 128, 256, 512), BLOCKS[depth], strict=True), 1):
        for block in range(1, blocks + 1):
            strides = 2 if stage > 1 and block == 1 else 1
            values = _block(values, filters, *KERNELS[depth], strides, f"stage{stage}_block{block}", garden)
    values = layers.GlobalAveragePooling2D(name="pool")(values)
    if not garden:
        return keras.Model(images, dense(values, classes, "logits"))
    small = initializers.TruncatedNormal(stddev=0.01)
    return keras.Model(images, layers.Dense(classes, kernel_initializer=small, name="logits")(values))


def _block(
    values: KerasTensor, filters: int, kernels: tuple[int, ...], striding: int, strides: int, name: str, garden: bool
) -> KerasTensor:
    shortcut, last = values, filters * (4 if len(kernels) == 3 else 1)
    if strides > 1 or values.shape[-1] != last:
        shortcut = _convolved(values, last, 1, strides, f"{name}_shortcut", garden)
    for number, kernel in enumerate(kernels):
        of_last = number == len(kernels) - 1
        moves = strides if number == striding else 1
        values = _convolved(values, last if of_last else filters, kernel, moves, f"{name}_{number + 1}", garden)
        if not of_last:
            values = layers.ReLU(name=f"{name}_relu{number + 1}")(values)
    return layers.ReLU(name=f"{name}_relu")(layers.Add(name=f"{name}_sum")([shortcut, values]))


def _convolved(values: KerasTensor, filters: int, kernel: int, strides: int, name: str, garden: bool) -> KerasTensor:
    he = initializers.VarianceScaling(2.0, "fan_in" if garden else "fan_out", "truncated_normal")
    if garden and kernel == 3:
        values = layers.Conv2D(
            filters, kernel, strides, padding="same", use_bias=False, kernel_initializer=he, name=f"{name}_conv"
        )(values)
    else:
        values = convolved(values, filters, kernel, f"{name}_conv", strides, initializer=he)
    return normalised(values, f"{name}_bn")
