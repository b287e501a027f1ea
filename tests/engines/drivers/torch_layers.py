"""Layers and scans in PyTorch as this program calls them and as Keras does, in one process: printed as JSON."""

import json
from types import SimpleNamespace
from unittest import mock

import keras
import numpy as np
import torch

from toolnoise.engines import torch_layers


class Trains(keras.layers.Layer):
    """Adds 1 in training."""

    def call(self, values, training=False):
        return values + 1 if training else values


class Around(keras.layers.Layer):
    """Has a layer inside, which learns from Keras whether it trains."""

    def __init__(self, **options):
        super().__init__(**options)
        self.inner = Trains(name="inner")

    def call(self, values):
        return self.inner(values)


class Masked(keras.layers.Layer):
    """The mask of what it gets."""

    supports_masking = True

    def call(self, values, mask=None):
        return values if mask is None else values * keras.ops.cast(mask, "float32")[..., None]


class Ours(keras.layers.Layer):
    """Calls itself in a way of its own."""

    def __call__(self, values, **more):
        return super().__call__(values, **more) + 1

    def call(self, values):
        return values


def layers():
    """Of each network whether its layers are called by themselves, and whether the bits are Keras's."""
    generator = np.random.default_rng(1)
    pictures, tokens = generator.random((5, 6, 8, 2), np.float32), generator.integers(0, 4, (5, 7))
    said = {}
    for name, build in BUILT.items():
        of_tokens = name in ("masked", "embedded")
        values = keras.Input((7,), dtype="int32") if of_tokens else keras.Input((6, 8, 2))
        inputs = keras.ops.convert_to_tensor(tokens if of_tokens else pictures)
        model = keras.Model(values, build(values))
        start = model.get_weights()
        ours = torch_layers.forward(keras, model)
        with mock.patch.object(model, "_run_through_graph", wraps=model._run_through_graph) as run:
            ours(inputs, False)
            is_bare = run.call_args.kwargs["operation_fn"].__module__ == torch_layers.__name__ if run.called else False
        bits = []
        for function in (ours, lambda images, training, model=model: model(images, training=training)):
            model.set_weights(start)
            given = [function(inputs, training) for training in (True, False, True)]
            bits.append([each.detach().numpy().tobytes() for each in (*given, *(w.value for w in model.weights))])
        said[name] = [is_bare, bits[0] == bits[1]]
    return said


def _usual(values):
    values = keras.layers.BatchNormalization()(keras.layers.Conv2D(4, 3, activation="relu")(values))
    left, right = keras.ops.split(values, 2, axis=-1)
    values = keras.layers.Add()([Trains()(left), keras.layers.MaxPooling2D(3, 1, padding="same")(right)])
    return keras.layers.Dense(3)(keras.layers.Flatten()(values))


def _half(values):
    return keras.layers.Flatten()(keras.layers.Conv2D(4, 3, dtype="mixed_bfloat16")(values))


BUILT = {
    "usual": _usual,
    "around another": lambda values: Around()(values),
    "a network inside": lambda values: keras.Sequential([keras.layers.Conv2D(4, 3), Trains()])(values),
    "half precision": _half,
    "its own call": lambda values: Ours()(values),
    "embedded": lambda values: Masked()(keras.layers.Embedding(4, 3)(values)),
    "masked": lambda values: Masked()(keras.layers.Embedding(4, 3, mask_zero=True)(values)),
}

# Scans: whether results and gradients are the same bits

LENGTH, EXAMPLES, UNITS = 7, 3, 4


def scans():
    """Of each way to scan whether the bits are Keras's, and whether ours was called."""
    core = keras.src.backend.torch.core
    theirs = core.scan
    taken_apart = []

    def stack(tensors):
        taken_apart.append(len(tensors))
        return torch.stack(tensors)

    # PyTorch, but for counting what is taken apart at once.
    counted = SimpleNamespace(zeros_like=torch.zeros_like, stack=stack)
    torch_layers.install_scan(counted, keras)
    torch_layers.install_scan(counted, keras)
    said = {}
    for name, way in WAYS.items():
        before = len(taken_apart)
        said[name] = [found(theirs, way) == found(keras.ops.scan, way), len(taken_apart) > before]
    return said


def found(scan, way):
    """The bytes of what a scan gives, and of its gradients."""
    torch.manual_seed(1)
    shape = (LENGTH, EXAMPLES, UNITS)
    tensors = [torch.randn(size, requires_grad=True) for size in (shape, shape, (UNITS, UNITS), shape[1:])]
    given = keras.tree.flatten(way(scan, *tensors))
    sum((each * each).sum() for each in given).backward()
    gradients = [tensor.grad for tensor in tensors if tensor.grad is not None]
    return [each.detach().numpy().tobytes() for each in (*given, *gradients)]


def _one(scan, inputs, _, weights, start, **more):
    return scan(lambda state, given: (torch.tanh(state @ weights + given),) * 2, start, inputs, **more)


def _several(scan, inputs, others, weights, start):
    def step(state, given):
        hidden, total = state
        return (torch.tanh(hidden @ weights + given[0]), total + given[1]), (hidden * given[1], total)

    return scan(step, (start, torch.zeros_like(start)), (inputs, others))


def _nothing_made(scan, inputs, _, weights, start):
    return scan(lambda state, given: (torch.tanh(state @ weights + given), None), start, inputs)


WAYS = {
    "one": _one,
    "several": _several,
    "nothing made": _nothing_made,
    "back": lambda *given: _one(*given, reverse=True),
    "some": lambda *given: _one(*given, length=LENGTH - 2),
}

if __name__ == "__main__":
    print(json.dumps({"layers": layers(), "scans": scans()}))
