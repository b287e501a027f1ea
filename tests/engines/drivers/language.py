"""Networks for language models in one framework: `language.py FUNCTION STUDY DATA OUT STEPS WAY...`."""

import sys

import numpy as np

from toolnoise.base import arrays
from toolnoise.base.errors import BadInput
from toolnoise.engines import State
from toolnoise.study import config, grid
from toolnoise.training import network

BATCH, LENGTH, CLASSES, CHANGED = 5, 12, 11, 7
# A key of dropout, and the examples' places in the batch.
WORDS, SLOTS = np.array([3, 141, 59, 26], np.uint32), np.array([4, 0, 3, 1, 2], np.uint32)
# Small, with more than one of everything.
OPTIONS = {
    "lstm": {"units": 7, "layers": 2, "embedding": 5},
    "qrnn": {"units": [7, 4], "windows": [3, 1], "embedding": 5},
    "transformer": {"width": 6, "heads": 2},
}


def logits_of(engine, tokens):
    """Logits of the engine's current weights, as it predicts."""
    return engine.values_of(engine._forward(tokens))


def plan_masks(engine, step):
    """Plan the masks of dropout as the engine does."""
    integers = "int64" if engine.framework == "torch" else "uint32"
    words, slots = (engine.keras.ops.convert_to_tensor(values.astype(integers)) for values in (WORDS, SLOTS))
    for number, layer in enumerate(engine.dropouts):
        layer.plan(words, step, number, slots)


def planned_logits(engine, tokens, step):
    """Logits in training."""
    plan_masks(engine, step)
    return engine._logits(tokens, training=True)


def of_tensorflow(engine, tokens, targets):
    import tensorflow as tf

    trained = [engine.tensors[path] for path in engine.trainable]

    @tf.function(autograph=False, input_signature=[tf.TensorSpec((), tf.uint32)])
    def differentiated(step):
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(trained)
            logits = planned_logits(engine, tf.constant(tokens), step)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits))
        # Those of an embedding have rows for the tokens that occur, and no others.
        return loss, [tf.convert_to_tensor(gradient) for gradient in tape.gradient(loss, trained)]

    return differentiated


def of_jax(engine, tokens, targets):
    import jax

    def objective(tensors, step):
        logits, _ = engine._called(tensors, lambda: planned_logits(engine, tokens, step))
        return -jax.numpy.mean(jax.numpy.take_along_axis(jax.nn.log_softmax(logits), targets[..., None], -1))

    compiled = jax.jit(jax.value_and_grad(objective))

    def differentiated(step):
        loss, gradients = compiled(engine.tensors, step)
        return loss, [gradients[path] for path in engine.trainable]

    return differentiated


def of_torch(engine, tokens, targets):
    import torch

    trained = [engine.tensors[path] for path in engine.trainable]
    classes = torch.as_tensor(targets).flatten().long()

    def differentiated(step):
        logits = planned_logits(engine, torch.as_tensor(tokens), step)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), classes)
        return loss.detach(), torch.autograd.grad(loss, trained)

    return differentiated


def trained(engine, builder, options, steps):
    """A network's losses and gradients in some steps; its logits, with a token changed too; with dropout its masks."""
    engine.build(builder, options, (LENGTH,), CLASSES)
    numbers = np.random.Generator(np.random.Philox(5))
    tokens, targets = numbers.integers(0, CLASSES, (2, BATCH, LENGTH), dtype=np.int32)
    # All of them random, so that no weight is without effect.
    draw = {path: numbers.normal(0, 0.5, tensor.shape).astype(np.float32) for path, tensor in engine.weights().items()}
    engine.restore(State(draw, {}, 0))
    other = tokens.copy()
    other[:, CHANGED] = (other[:, CHANGED] + 1) % CLASSES
    found = {f"weights/{path}": values for path, values in draw.items()}
    # In prediction dropout does nothing.
    if not engine.dropouts:
        found |= {"tokens": tokens, "logits": logits_of(engine, tokens), "changed": logits_of(engine, other)}
    differentiated = globals()[f"of_{engine.framework}"](engine, tokens, targets)
    for step in range(steps):
        loss, gradients = differentiated(np.uint32(step))
        gradients = dict(zip(engine.trainable, map(np.array, gradients), strict=True))
        found[f"loss/{step}"] = np.array(loss)
        found |= {f"gradient/{step}/{path}": gradient for path, gradient in gradients.items()}
        after = {path: values - np.float32(0.1) * gradients[path] for path, values in engine.weights().items()}
        engine.restore(State(after, {}, 0))
    ops = engine.keras.ops
    plan_masks(engine, np.uint32(steps))
    for layer in engine.dropouts:
        found[f"mask/{layer.name}"] = ops.convert_to_numpy(layer(ops.ones((BATCH, LENGTH, 6)), training=True))
    return found


def refusals():
    """Lines that refuse networks: scores of a whole sequence, a position too few, probabilities; the last is right."""
    import keras

    def builder(last):
        def build(shape, classes):
            tokens = keras.Input(shape, dtype="int32")
            return keras.Model(tokens, last(keras.layers.Embedding(classes, classes)(tokens)))

        return build

    def refused(last):
        try:
            network.checked(builder(last), {"name": "mine", "builder": "own:build"}, (LENGTH, CLASSES))(
                (LENGTH,), CLASSES
            )
        except BadInput as error:
            return str(error)
        return ""

    lasts = (lambda values: values[:, 0], lambda values: values[:, 1:], keras.layers.Softmax(), lambda values: values)
    return np.array([refused(last) for last in lasts])


def train(study_file, _data, out, steps, *ways):
    """Each of these networks, `NAME` or `NAME-dropout`."""
    loaded = grid.load(study_file)
    engine, _ = network.start_engine(loaded.spec(loaded.cells[0], 1))
    found = {"words": WORDS, "slots": SLOTS, "changed_at": np.array(CHANGED)}
    for way in ways:
        name, _, dropout = way.partition("-")
        entry = {"name": name, **config.registered("models")[name]}
        builder = network.checked(network._builder(entry), entry, (LENGTH, CLASSES))
        given = trained(engine, builder, OPTIONS[name] | ({"dropout": 0.5} if dropout else {}), int(steps))
        found |= {f"{way}/{key}": values for key, values in given.items()}
    arrays.write_npz(out, found | {"refusals": refusals()})


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
