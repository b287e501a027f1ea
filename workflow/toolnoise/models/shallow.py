"""Summers and Dinneen's shallow networks (their mnist_models.py; the same, except `cnn`, in resnet_cifar.py).

They range from no hidden layer to two convolutions, and show that runs of even simple networks move apart.
"""

import keras
from keras import layers

from toolnoise.models.pytorch import convolved, dense


def linear(input_shape: tuple[int, int, int], classes: int) -> keras.Model:
    """Build softmax regression on pixels; it gives logits."""
    images = keras.Input(input_shape, name="images")
    return keras.Model(images, dense(layers.Flatten(name="flat")(images), classes, "logits"))


def hidden(input_shape: tuple[int, int, int], classes: int, units: int = 512) -> keras.Model:
    """Build one hidden dense layer; it gives logits."""
    images = keras.Input(input_shape, name="images")
    values = dense(layers.Flatten(name="flat")(images), units, "hidden")
    return keras.Model(images, dense(layers.ReLU(name="relu")(values), classes, "logits"))


def hidden_conv(input_shape: tuple[int, int, int], classes: int, filters: int = 64) -> keras.Model:
    """Build one hidden convolution, 5x5 with stride 2; it gives logits."""
    images = keras.Input(input_shape, name="images")
    values = layers.ReLU(name="relu")(convolved(images, filters, 5, "conv", strides=2, bias=True))
    return keras.Model(images, dense(layers.Flatten(name="flat")(values), classes, "logits"))


def cnn(input_shape: tuple[int, int, int], classes: int) -> keras.Model:
    """Build two unpadded 3x3 convolutions, max-pooling and a hidden dense layer; it gives logits."""
    images = values = keras.Input(input_shape, name="images")
    for number, filters in enumerate((32, 64), 1):
        values = convolved(values, filters, 3, f"conv{number}", bias=True, padded=False)
        values = layers.ReLU(name=f"relu{number}")(values)
    values = layers.Flatten(name="flat")(layers.MaxPooling2D(2, name="pool")(values))
    values = layers.ReLU(name="relu3")(dense(values, 128, "hidden"))
    return keras.Model(images, dense(values, classes, "logits"))
