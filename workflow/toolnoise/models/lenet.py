"""LeNet-1, LeNet-4 and LeNet-5 as trained in Keras on MNIST (Pei et al., "DeepXplore"; their MNIST/Model1.py to 3.py).

They have two padded 5x5 convolutions, each with ReLU and 2x2 max-pooling, and no, one or two hidden dense layers. LeCun
et al.'s own networks of 1998 use neither padding nor max-pooling. Pham et al. draw every initial weight and bias from
one uniform distribution (their models_utils.py, set_weights_to_randoms).
"""

import keras
from keras import initializers, layers

# Filters of the two convolutions, and units of the hidden dense layers.
FORMS = {1: ((4, 12), ()), 4: ((6, 16), (84,)), 5: ((6, 16), (120, 84))}


def build(
    input_shape: tuple[int, int, int], classes: int, number: int, largest_initial: float | None = None
) -> keras.Model:
    """Build LeNet-`number`; it gives logits.

    Every tensor starts uniform between -`largest_initial` and `largest_initial`; without it, by Keras's defaults
    (Glorot, biases 0).
    """
    if number not in FORMS:
        raise ValueError(f"no LeNet-{number}; there are {', '.join(map(str, FORMS))}")
    drawn = {}
    if largest_initial is not None:
        uniform = initializers.RandomUniform(-largest_initial, largest_initial)
        drawn = {"kernel_initializer": uniform, "bias_initializer": uniform}
    convolutions, hidden = FORMS[number]
    images = values = keras.Input(input_shape, name="images")
    for place, filters in enumerate(convolutions, 1):
        values = layers.Conv2D(filters, 5, padding="same", activation="relu", name=f"conv{place}", **drawn)(values)
        values = layers.MaxPooling2D(2, name=f"pool{place}")(values)
    values = layers.Flatten(name="flat")(values)
    for place, units in enumerate(hidden, 1):
        values = layers.Dense(units, activation="relu", name=f"dense{place}", **drawn)(values)
    return keras.Model(images, layers.Dense(classes, name="logits", **drawn)(values))
