"""The outputs of a network's layers, watched while it is called, whatever kind of Keras model it is."""

from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock

import numpy as np

from toolnoise.datasets.prepared import Split
from toolnoise.engines.keras_engine import KerasEngine


class LayerOutputs:
    """The layers of an engine's network; what computes their outputs is compiled once for the same layers."""

    def __init__(self, engine: KerasEngine) -> None:
        self.engine = engine
        self.compiled: dict[tuple[str, ...], Callable[[Any], Any]] = {}

    def sizes(self) -> dict[str, int]:
        """Every layer with weights of its own, in the order of computation, and the size of its output for one image.

        Nested layers count, their containers do not. A layer that computes twice is listed twice.
        """
        names: list[str] = []

        def watched(images: Any) -> list[Any]:
            outputs = _called(self.engine, images)
            names[:] = outputs
            return list(outputs.values())

        given = self.engine.compiled_for_images(watched)(self.engine.blank_inputs(self.engine.shape))
        return {name: int(values.shape[1]) for name, values in zip(names, given, strict=True)}

    def of_split(self, split: Split, layers: Sequence[str]) -> list[np.ndarray]:
        """The output of each of these layers on the middle of every image, [example, number], float32.

        A layer's own activation function is included. The bits are as reproducible as those of logits, for the same
        layers.
        """
        layers = tuple(layers)
        if layers not in self.compiled:
            self.compiled[layers] = self.engine.compiled_for_images(
                lambda images: list(map(_called(self.engine, images).get, layers))
            )
        outputs: list[np.ndarray] = []
        start = 0
        for images in self.engine.batches(split):
            batch = [self.engine.values_of(values) for values in self.compiled[layers](images)]
            # Filled batch by batch: concatenating batches at the end would take twice the memory.
            outputs = outputs or [np.empty((len(split), values.shape[1]), np.float32) for values in batch]
            for whole, values in zip(outputs, batch, strict=True):
                whole[start : start + len(values)] = values[: len(whole) - start]
            start += len(images)
        return outputs


def _called(engine: KerasEngine, images: Any) -> dict[str, Any]:
    """The output of each layer with weights of its own, by name, recorded during a call of the network."""
    keras, watched = engine.keras, {}
    ops, call = keras.ops, keras.Layer.__call__

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
        engine.model(images, training=False)
    return watched


def _has_own_weights(layer: Any) -> bool:
    inside = {id(weight) for nested in layer._flatten_layers(include_self=False) for weight in nested.weights}
    return any(id(weight) not in inside for weight in layer.weights)
