"""What the engine says of the layers of some models, and what they give of a few images, asked for in several ways."""

import sys

import numpy as np

from toolnoise.base import arrays
from toolnoise.datasets import prepared
from toolnoise.engines import State, keras_engine
from toolnoise.models.initial import initial_weights
from toolnoise.study import config, grid
from toolnoise.training import network


def called(model, images):
    from keras import ops

    return ops.convert_to_numpy(model(ops.convert_to_tensor(images), training=False))


def main(study_file, data_file, out, *names):
    keras_engine.EVALUATION_BATCH = 7
    loaded = grid.load(study_file)
    spec = loaded.spec(loaded.cells[0], 1)
    data = prepared.load(data_file)
    some = data.test.chosen(np.array([2, 3, 5, 7, 11, 13, 17, 19, 23]))
    engine, _ = network.start_engine(spec)
    import keras

    found = {}
    for name in names:
        entry = {"name": name, **config.registered("models")[name]}
        engine.build(network._builder(entry), entry["options"], (32, 32, 3), 10)
        found[f"registry/{name}"] = np.array(list(engine.layers()))
        weighted = [(layer.path, layer.output.shape) for layer in engine.model.layers if layer.weights]
        found[f"keras/{name}"] = np.array([path for path, _ in weighted])
        sizes = {path: int(np.prod(shape[1:])) for path, shape in weighted}
        assert engine.layers() == {path: sizes[path] for path in engine.layers()}, name

    parameters = network.build_model(engine, spec, data)
    engine.restore(State(initial_weights(parameters, 0, 1, "model"), {}, 0))
    sizes = engine.layers()
    found["layers"], found["sizes"] = np.array(list(sizes)), np.array(list(sizes.values()))
    for way in ("whole", "again"):
        for name, values in zip(sizes, engine.activations(some, list(sizes)), strict=True):
            found[f"{way}/{name}"] = values
    for name in sizes:
        (found[f"alone/{name}"],) = engine.activations(some, [name])
    found["logits"] = engine.logits(some)
    # JAX's variables have no values of their own.
    for variable in engine.model.weights:
        variable.assign(engine.weights()[variable.path])
    images = some.middle(slice(None))
    for layer in engine.model.layers:
        if len(layer._inbound_nodes) == 1 and layer.weights:
            shown = called(keras.Model(engine.model.inputs, layer.output), images)
            found[f"theirs/{layer.name}"] = shown.reshape(len(images), -1)
    arrays.write_npz(out, found)


main(*sys.argv[1:])
