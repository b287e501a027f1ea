"""VGG-11 in the form for small images (Summers and Dinneen's vgg.py, after kuangliu's pytorch-cifar).

Eight 3x3 convolutions with biases, each with batch normalisation and ReLU, five 2x2 max-poolings, and one dense layer.
"""

import keras
from keras import layers

from toolnoise.models.pytorch import convolved, dense, normalised

# Filters of the convolutions before each pooling.
STAGES = ((64,), (128,), (256, 256), (512, 512), (512, 512))


def build(input_shape: tuple[int, int, int], classes: int) -> keras.Model:
    """Build the network for images of 32x32 pixels or more; it gives logits."""
    images = values = keras.Input(input_shape, name="images")
    for stage, convolutions in enumerate(STAGES, 1):
        for number, filters in enumerate(convolutions, 1):
            name = f"stage{stage}_{number}"
            values = normalised(convolved(values, filters, 3, f"{name}_conv", bias=True), f"{name}_bn")
            values = layers.ReLU(name=f"{name}_relu")(values)
        values = layers.MaxPooling2D(2, name=f"stage{stage}_pool")(values)
    return keras.Model(images, dense(layers.Flatten(name="flat")(values), classes, "logits"))
