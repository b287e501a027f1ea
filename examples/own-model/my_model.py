import keras
from keras import layers

from toolnoise.models.dropout import Dropout  # masks from the streams; keras.layers.Dropout is refused


def build(input_shape, classes, width=32):
    images = values = keras.Input(input_shape)
    for number in (1, 2):
        values = layers.Conv2D(width, 3, padding="same", activation="relu", name=f"conv{number}")(values)
        values = layers.MaxPooling2D(2, name=f"pool{number}")(values)
    values = layers.Flatten(name="flat")(values)
    values = Dropout(0.2, name="dropout")(values)
    return keras.Model(images, layers.Dense(classes, name="logits")(values))
