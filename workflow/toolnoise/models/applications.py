"""Networks of keras.applications, untrained: they give logits, and all random numbers come from the streams.

They are Keras's networks with three exceptions. Dropout is toolnoise's. Layers that Keras numbers per process are
numbered within the network, since a tensor's name is the key of its initial weights. Pixel scaling at the start of a
network is removed, because the recipe defines the scaling of pixels for every network.
"""

import re
from collections.abc import Callable

import keras

from toolnoise.models.dropout import Dropout


def build(input_shape: tuple[int, int, int], classes: int, architecture: str) -> keras.Model:
    """Build the network that keras.applications calls `architecture`, such as VGG16."""
    network = getattr(keras.applications, architecture, None)
    if not callable(network):
        raise ValueError(f"keras.applications has no network {architecture!r}")
    model = network(weights=None, input_shape=input_shape, classes=classes, classifier_activation=None)
    return keras.models.clone_model(model, clone_function=_remade(model))


def _remade(model: keras.Model) -> Callable[[keras.layers.Layer], keras.layers.Layer]:
    """The function that recreates each layer of a network."""
    counted = {layer.name: count for layer in model.layers if (count := _count(layer))}
    first = {kind: min(number for other, number in counted.values() if other == kind) for kind, _ in counted.values()}

    def remade(layer: keras.layers.Layer) -> keras.layers.Layer:
        if isinstance(layer, keras.layers.Dropout):
            return Dropout(layer.rate, whole=layer.noise_shape is not None, name=layer.name)
        if isinstance(layer, keras.layers.Rescaling):
            return keras.layers.Identity(name=layer.name)
        config = layer.get_config()
        if layer.name in counted:
            kind, number = counted[layer.name]
            config["name"] = f"{kind}_{number - first[kind]}"
        return type(layer).from_config(config)

    return remade


def _count(layer: keras.layers.Layer) -> tuple[str, int] | None:
    """Kind and number of a layer that Keras named by counting: conv2d is its first Conv2D, conv2d_1 its second."""
    kind = re.sub("(?<=[a-z])(?=[A-Z])", "_", type(layer).__name__).lower()
    match = re.fullmatch(rf"{kind}(?:_(\d+))?", layer.name)
    return (kind, int(match[1] or 0)) if match else None
