"""One update of each optimiser from given gradients, weights and slots, on the engine of a study; and other layers."""

import sys

import numpy as np

from toolnoise.base import arrays
from toolnoise.datasets import prepared
from toolnoise.engines import State
from toolnoise.engines.formulas import BETA_1, BETA_2
from toolnoise.study import grid
from toolnoise.training import network

UPDATE, RATE = 7, np.float32(0.008)


def main(study_file, data_file, out, given_file):
    loaded = grid.load(study_file)
    spec = loaded.spec(loaded.cells[0], 1)
    data = prepared.load(data_file, spec.recipe["normalise"])
    engine, _ = network.start_engine(spec)
    network.build_model(engine, spec, data)
    given, found = arrays.read_npz(given_file), {}
    powers = np.array([BETA_1**UPDATE, BETA_2**UPDATE], np.float32)
    for optimizer, slots in (("adam", ("m", "v")), ("sgd", ("momentum",))):
        engine.compile(spec.recipe | {"optimizer": optimizer}, data.train)
        weights = {path: given[f"weights/{path}"] for path in engine.tensors}
        of_slots = {slot: {path: given[f"{slot}/{path}"] for path in engine.trainable} for slot in slots}
        engine.restore(State(weights, of_slots, UPDATE - 1))
        gradients = [given[f"gradient/{path}"] for path in engine.trainable]
        apply(engine, spec.hardware.engine, gradients, powers)
        state = engine.state()
        found |= {f"{optimizer}/weights/{path}": state.weights[path] for path in engine.trainable}
        for slot in slots:
            found |= {f"{optimizer}/{slot}/{path}": tensor for path, tensor in state.slots[slot].items()}
    labels, logits = given["labels"], given["logits"]
    found["losses"] = losses(engine, spec.hardware.engine, labels, logits)
    arrays.write_npz(out, found)


def apply(engine, framework, gradients, powers):
    if framework == "tensorflow":
        engine.tf.function(lambda: engine._update(list(map(engine.tf.constant, gradients)), RATE, powers))()
    elif framework == "jax":
        trained = {path: engine.tensors[path] for path in engine.trainable}
        named = dict(zip(engine.trainable, gradients, strict=True))
        new, engine.slots = engine.jax.jit(engine._updated)(trained, engine.slots, named, RATE, *powers)
        engine.tensors |= new
    else:
        trained = [engine.tensors[path] for path in engine.trainable]
        with engine.torch.no_grad():
            engine._update(trained, tuple(map(engine.torch.tensor, gradients)), RATE, powers, UPDATE)


def losses(engine, framework, labels, logits):
    if framework == "tensorflow":
        return np.array(engine._losses(engine.tf.constant(labels), engine.tf.constant(logits)))
    if framework == "jax":
        return np.array(engine._losses(labels, logits))
    torch = engine.torch
    targets = engine._targets(torch.tensor(labels).long(), logits.shape[1])
    return torch.nn.functional.cross_entropy(torch.tensor(logits), targets, reduction="none").numpy()


main(*sys.argv[1:])
