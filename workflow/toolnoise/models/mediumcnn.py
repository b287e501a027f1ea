"""The paper's six-layer CNN of the overhead study (Zhuang et al., appendix C; the authors' cnns.py).

It has six convolutions with 16, 32, 64, 128, 256 and 512 filters, each with batch normalisation, ReLU and 2x2
max-pooling. Global average pooling and a dense layer for the classes follow. The paper varies the size of the kernels.
"""

import keras
from keras import layers


def build(input_shape: tuple[int, int, int], classes: int, kernel_size: int) -> keras.Model:
    """Build the network for images of 64x64 pixels or more; it gives logits."""
    images = values = keras.Input(input_shape, name="images")
    for number in range(6):
        values = layers.Conv2D(16 * 2**number, kernel_size, padding="same", name=f"conv{number + 1}")(values)
        values = layers.BatchNormalization(name=f"bn{number + 1}")(values)
        values = layers.ReLU(name=f"relu{number + 1}")(values)
        values = layers.MaxPooling2D(2, name=f"pool{number + 1}")(values)
    values = layers.GlobalAveragePooling2D(name="pool")(values)
    return keras.Model(images, layers.Dense(classes, name="logits")(values))
