import keras
from keras import layers

from toolnoise.models.dropout import Dropout  # masks from the streams; keras.layers.Dropout is refused


def build(input_shape, classes, width=32):
    images = values = keras.Input(input_shape)
    values = layers.Conv2D(width, 3, strides=2, padding="same", activation="relu", name="conv")(values)
    values = layers.Flatten(name="flat")(values)
    values = Dropout(0.2, name="dropout")(values)
    return keras.Model(images, layers.Dense(classes, name="logits")(values))
