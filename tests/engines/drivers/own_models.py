"""Builders of a user's own: models that keep what they were shown, and one with Keras's own dropout."""

import keras

from toolnoise.models.dropout import Dropout


class Recorder(keras.layers.Layer):
    """Hands its input on and keeps the last batch that it saw in training, as a tensor that is not trained."""

    def __init__(self, batch, **options):
        super().__init__(**options)
        self.batch, self.seen_initializer = batch, keras.initializers.Zeros()

    def build(self, shape):
        self.seen = self.add_weight(
            shape=(self.batch, *shape[1:]), initializer=self.seen_initializer, trainable=False, name="seen"
        )

    def call(self, values, training=False):
        if training:
            self.seen.assign(values)
        return values


def recorder(input_shape, classes, batch):
    """What comes into the network."""
    images = keras.Input(input_shape, name="images")
    values = keras.layers.Flatten(name="flat")(Recorder(batch, name="recorder")(images))
    return keras.Model(images, keras.layers.Dense(classes, name="logits")(values))


def dropped(input_shape, classes, batch, rate, whole=False):
    """What two dropout layers leave: the first of the images, the second of what a dense layer makes of them."""
    images = keras.Input(input_shape, name="images")
    values = Recorder(batch, name="first")(Dropout(rate, name="drop1")(images))
    values = keras.layers.Dense(16, activation="relu", name="dense")(keras.layers.Flatten(name="flat")(values))
    # All ones: what is left of them shows the mask.
    ones = Recorder(batch, name="second")(Dropout(rate, whole, name="drop2")(keras.ops.ones_like(values)))
    values = keras.layers.Multiply(name="product")([values, ones])
    return keras.Model(images, keras.layers.Dense(classes, name="logits")(values))


def smooth(input_shape, classes):
    """No kinks: where a rounding error decides which way a gradient goes, two right loops part within a few steps.

    No bias before batch normalisation either: its gradient is rounding alone, which Adam scales up to whole steps.
    """
    images = keras.Input(input_shape, name="images")
    values = keras.layers.Conv2D(8, 3, use_bias=False, name="conv")(images)
    values = keras.layers.BatchNormalization(name="bn")(values)
    values = keras.layers.Activation("tanh", name="tanh")(values)
    values = keras.layers.GlobalAveragePooling2D(name="pool")(values)
    values = keras.layers.Dense(8, activation="tanh", name="dense")(values)
    return keras.Model(images, keras.layers.Dense(classes, name="logits")(values))


class Doubled(keras.layers.Layer):
    """A layer with a weight of its own around another, which it calls twice."""

    def __init__(self, **options):
        super().__init__(**options)
        self.inner = keras.layers.Dense(5, name="inner")

    def build(self, shape):  # noqa: ARG002 (the name that Keras looks for)
        self.factor = self.add_weight(shape=(), initializer="ones", name="factor")

    def call(self, values):
        return self.factor * self.inner(self.inner(values))


def nested(input_shape, classes):
    """Layers in layers, a layer that is used twice, one without weights, and a network as a layer."""
    images = keras.Input(input_shape, name="images")
    block = keras.Sequential(
        [keras.layers.Dense(7, name="one"), keras.layers.ReLU(name="relu"), keras.layers.Dense(5, name="two")],
        name="block",
    )
    values = Doubled(name="doubled")(block(keras.layers.Flatten(name="flat")(images)))
    shared = keras.layers.Dense(5, activation="tanh", name="shared")
    values = keras.layers.Add(name="sum")([shared(shared(values)), values])
    return keras.Model(images, keras.layers.Dense(classes, name="logits")(values))


def kerases(input_shape, classes):
    """Dropout that draws random numbers of its own."""
    images = keras.Input(input_shape, name="images")
    values = keras.layers.Dropout(0.5, name="theirs")(keras.layers.Flatten(name="flat")(images))
    return keras.Model(images, keras.layers.Dense(classes, name="logits")(values))


def unknown(input_shape, classes):
    """Weights from a function that is no initialiser of Keras's."""
    images = keras.Input(input_shape, name="images")
    flat = keras.layers.Flatten(name="flat")(images)
    dense = keras.layers.Dense(
        classes, kernel_initializer=lambda shape, dtype: keras.ops.ones(shape, dtype), name="dense"
    )
    return keras.Model(images, dense(flat))


def softmax(input_shape, classes):
    """Probabilities, from inside a network in the network."""
    inner = keras.Sequential([keras.Input(input_shape), keras.layers.Flatten(), keras.layers.Dense(classes)])
    images = keras.Input(input_shape, name="images")
    return keras.Model(images, keras.ops.softmax(inner(images)))


def activated(input_shape, classes):
    """Probabilities, from the last layer of a network in the network."""
    last = keras.layers.Dense(classes, activation="softmax")
    inner = keras.Sequential([keras.Input(input_shape), keras.layers.Flatten(), last])
    images = keras.Input(input_shape, name="images")
    return keras.Model(images, inner(images))


def seven(input_shape, classes):  # noqa: ARG001 (the fault)
    """Seven outputs, whatever the number of classes."""
    return keras.Sequential([keras.Input(input_shape), keras.layers.Flatten(), keras.layers.Dense(7)])


def unbuilt(input_shape, classes):  # noqa: ARG001 (the fault)
    """A network that does not know its input."""
    return keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(classes)])


def nothing(input_shape, classes):
    """A forgotten `return`."""
    seven(input_shape, classes)


def mistaken(input_shape, classes):
    """A name that does not exist."""
    return keras.Sequential([keras.Input(input_shape), keras.layers.Dens(classes)])
