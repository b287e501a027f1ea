"""The layer representations of a cell's runs: Gram matrices of each layer's output on some test examples.

A Gram matrix (example x example) is all that linear CKA needs of a layer, whatever its size, so any two runs can be
compared without their activations. Columns are centred; sums are float64, stored as float32. CKA is a cosine between
two such matrices, and this rounding changes a distance 1 - CKA of 1e-10 by less than a thousandth of it. A diverged run
is stored as NaN.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from unittest import mock

import numpy as np

from toolnoise import streams
from toolnoise.base import arrays, files
from toolnoise.base.errors import BadInput
from toolnoise.base.job import Input, Output, Timings, TrainedRuns
from toolnoise.base.spec import Spec
from toolnoise.datasets.prepared import Split
from toolnoise.dumps import prediction_dump
from toolnoise.engines.keras_engine import KerasEngine
from toolnoise.study import runs

AT_A_TIME = 2**28  # activations in memory: a GiB
BLOCK = 2**18  # activations in float64: they fit a processor's cache


class LayerOutputs:
    """The layers of an engine's network; the function of their outputs is compiled once for each set of layers."""

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

        outputs_of = self.engine.compiled_for_images(watched)(self.engine.blank_inputs(self.engine.shape))
        return {name: int(values.shape[1]) for name, values in zip(names, outputs_of, strict=True)}

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
            flat_outputs = [ops.reshape(output, (ops.shape(output)[0], -1)) for output in keras.tree.flatten(values)]
            flat = ops.cast(ops.concatenate(flat_outputs, 1), "float32")
            watched[f"{layer.path}#{times + 1}" if times else layer.path] = flat
        return values

    # Functional, sequential and user-defined models all call their layers, nested ones included.
    with mock.patch.object(keras.Layer, "__call__", watching):
        engine.model(images, training=False)
    return watched


def _has_own_weights(layer: Any) -> bool:
    inside = {id(weight) for nested in layer._flatten_layers(include_self=False) for weight in nested.weights}
    return any(id(weight) not in inside for weight in layer.weights)


def chosen_examples(study_seed: int, dataset: str, examples: int, available: int) -> np.ndarray:
    """The test examples to use, in their order.

    They are drawn, because a data set may be sorted by class; once per data set, so that all cells can be compared.
    """
    if examples > available:
        allowed = f"from 4 to the {available} test examples of {dataset}"
        raise BadInput("study", "layers", f"found {examples}", allowed)
    order = streams.permutation(streams.stream_key(study_seed, streams.ANALYSIS, 0, "layers", dataset), available)
    return np.sort(order[:examples])


def dump(
    spec: Spec, examples: int, data: Input, records: TrainedRuns, *, grams: Output, index: Output
) -> dict[str, Any]:
    """Run every network of a cell on some test examples, on the cell's tooling; `spec` is that of any of its runs.

    Return the observed machine.
    """
    timings = Timings()
    cell = [runs.read_run(record) for record in records]
    network = prediction_dump.build(spec, data, timings)
    test, outputs = network.dataset.test, LayerOutputs(network.engine)
    sizes = outputs.sizes()
    which = chosen_examples(spec.study_seed, spec.dataset.name, examples, len(test))
    shape = (len(cell), len(sizes), examples, examples)

    def rows() -> Iterator[np.ndarray]:
        for run in cell:
            if run.diverged:
                yield np.full(shape[1:], np.nan, np.float32)
            else:
                network.take(run.weights(), run)
                yield np.stack(list(_grams(outputs, test.chosen(which), sizes)))

    with timings.measure("looking"):
        arrays.write_npy(grams, arrays.Rows(shape, np.dtype(np.float32), rows()))
    about = prediction_dump.index_of_dump(spec, cell, shape, network.observed, timings)
    files.write_json(index, about | {"layers": list(sizes), "examples": which.tolist()})
    return network.observed


def gram_matrix(activations: np.ndarray) -> np.ndarray:
    """The Gram matrix of activations [example, number] with centred columns, float32."""
    examples, columns = activations.shape
    total = np.zeros((examples, examples))
    step = max(1, BLOCK // examples)
    # A layer whose values overflowed has a matrix of NaN, and no CKA.
    with np.errstate(invalid="ignore", over="ignore"):
        for start in range(0, columns, step):
            block = activations[:, start : start + step].astype(np.float64)
            # Relative to the first example: the mean of equal floats can be off by a rounding, the mean of zeros
            # cannot.
            block -= block[:1].copy()
            block -= block.mean(axis=0)
            total += block @ block.T
        return total.astype(np.float32)


def _grams(outputs: LayerOutputs, split: Split, sizes: dict[str, int]) -> Iterator[np.ndarray]:
    for names in in_groups(sizes, AT_A_TIME // len(split)):
        yield from map(gram_matrix, outputs.of_split(split, names))


def in_groups(sizes: Mapping[str, int], most: int) -> Iterator[list[str]]:
    """Layers in order, in groups whose sizes sum to at most `most`; a larger layer is a group of its own."""
    names: list[str] = []
    for name, size in sizes.items():
        if names and sum(map(sizes.get, names)) + size > most:
            yield names
            names = []
        names.append(name)
    if names:
        yield names
