"""Layers watched while a network is called, whatever kind of Keras model it is."""

from typing import Any
from unittest import mock


def outputs(keras: Any, model: Any, images: Any) -> dict[str, Any]:
    """The output of each layer with weights of its own, by name, recorded during a call of the network."""
    ops, watched, call = keras.ops, {}, keras.Layer.__call__

    def watching(layer, *args, **options):  # noqa: ANN001, ANN002, ANN003, ANN202
        values = call(layer, *args, **options)
        if _has_own_weights(layer):
            times = sum(name.partition("#")[0] == layer.path for name in watched)
            given = [ops.reshape(output, (ops.shape(output)[0], -1)) for output in keras.tree.flatten(values)]
            flat = ops.cast(ops.concatenate(given, 1), "float32")
            watched[f"{layer.path}#{times + 1}" if times else layer.path] = flat
        return values

    # Functional, sequential and user-defined models all call their layers, nested ones included.
    with mock.patch.object(keras.Layer, "__call__", watching):
        model(images, training=False)
    return watched


def _has_own_weights(layer: Any) -> bool:
    inside = {id(weight) for nested in layer._flatten_layers(include_self=False) for weight in nested.weights}
    return any(id(weight) not in inside for weight in layer.weights)
