"""ResNet-18 and ResNet-34 in the form for small images (Zhuang et al.; the authors' resnet.py).

A 3x3 stem of 64 filters with stride 1 and no max-pooling, four stages of blocks with 64 to 512 filters, and 1x1
convolutions as shortcuts where a stage halves the image. No convolution has a bias; batch normalisation is Keras's
(momentum 0.99, epsilon 1e-3).
"""

import keras
from keras import KerasTensor, layers

BLOCKS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3)}


def build(input_shape: tuple[int, int, int], classes: int, pool_size: int = 0, depth: int = 18) -> keras.Model:
    """Build the network; it gives logits.

    `pool_size` is the side of the windows of the last average pooling; 0 is the whole map. The authors use 4, which is
    the whole map of 32x32 images. 128x128 images have 4x4 such windows: 8,192 features for the classifier, not 512.
    """
    images = keras.Input(input_shape, name="images")
    values = layers.ReLU(name="stem_relu")(_convolved(images, 64, 3, 1, "stem"))
    if depth not in BLOCKS:
        raise ValueError(f"depth {depth} is not one of {', '.join(map(str, BLOCKS))}")
    for stage, (filters, blocks) in enumerate(zip((64, 128, 256, 512), BLOCKS[depth], strict=True), 1):
        for block in range(1, blocks + 1):
            values = _block(values, filters, f"stage{stage}_block{block}", halve=stage > 1 and block == 1)
    if pool_size:
        values = layers.Flatten(name="flat")(layers.AveragePooling2D(pool_size, name="pool")(values))
    else:
        values = layers.GlobalAveragePooling2D(name="pool")(values)
    return keras.Model(images, layers.Dense(classes, name="logits")(values))


def _block(values: KerasTensor, filters: int, name: str, halve: bool) -> KerasTensor:
    strides = 2 if halve else 1
    shortcut = _convolved(values, filters, 1, strides, f"{name}_shortcut") if halve else values
    values = layers.ReLU(name=f"{name}_relu1")(_convolved(values, filters, 3, strides, f"{name}_1"))
    values = layers.Add(name=f"{name}_sum")([shortcut, _convolved(values, filters, 3, 1, f"{name}_2")])
    return layers.ReLU(name=f"{name}_relu2")(values)


def _convolved(values: KerasTensor, filters: int, kernel: int, strides: int, name: str) -> KerasTensor:
    values = layers.Conv2D(filters, kernel, strides, padding="same", use_bias=False, name=f"{name}_conv")(values)
    return layers.BatchNormalization(name=f"{name}_bn")(values)
