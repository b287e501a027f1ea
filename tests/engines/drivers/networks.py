"""Networks as they are built, without training: `networks.py FUNCTION STUDY DATA OUT ARGUMENT...`."""

import sys

import numpy as np

from toolnoise.base import arrays, files
from toolnoise.datasets import prepared
from toolnoise.engines import State, keras_engine
from toolnoise.models.initial import initial_weights
from toolnoise.papers.layers.dump import LayerOutputs
from toolnoise.study import config, grid
from toolnoise.training import network

CIFAR10, CIFAR100, MNIST = ((32, 32, 3), 10), ((32, 32, 3), 100), ((28, 28, 1), 10)
# 64 tokens in a row, of 256.
BYTES = ((64,), 256)
# Where a published count is of another task than 224x224 pixels in 1,000 classes.
TASKS = {
    "smallcnn": [CIFAR10],
    "smallcnn-bn": [CIFAR10],
    "smallcnn-bn-nobias": [CIFAR10],
    "smallcnn-dropout": [CIFAR10],
    "resnet18": [CIFAR10, CIFAR100],
    **{
        name: [CIFAR10]
        for name in ("resnet34", "resnet6", "resnet10", "resnet14", "resnet18-padded", "resnet38", "resnet56")
    },
    "resnet14-snapshots": [CIFAR10],
    **{f"resnet14-x{times}": [CIFAR10] for times in ("0125", "025", "050", "2", "4", "8")},
    **{name: [CIFAR10] for name in ("vgg11", "shufflenet-x05")},
    "wrn-28-10": [CIFAR100],
    **{name: [MNIST, CIFAR10] for name in ("linear", "hidden", "hidden-conv")},
    **{name: [MNIST] for name in ("mnist-cnn", "lenet1", "lenet4", "lenet5", "lenet5-glorot")},
    **{name: [BYTES] for name in ("lstm", "qrnn", "transformer")},
    "inception-v3": [((299, 299, 3), 1000)],
    "xception": [((299, 299, 3), 1000)],
}


def described(entry, shape, classes):
    from keras.layers import BatchNormalization, Conv2D, MaxPooling2D

    from toolnoise.models.dropout import Dropout

    model = network._builder(entry)(shape, classes, **entry["options"])
    initializers = {
        variable.path: [type(variable._initializer).__name__, variable._initializer.get_config()]
        for variable in model.weights
    }
    return {
        "task": [shape, classes],
        "parameters": model.count_params(),
        "trained": sum(variable.shape.num_elements() for variable in model.trainable_variables),
        "output": list(model.output.shape),
        "ends_in": model.layers[-1].activation.__name__,
        "own_random_numbers": [layer.name for layer in model.layers if hasattr(layer, "seed_generator")],
        "initializers": initializers,
        "shapes": {variable.path: list(variable.shape) for variable in model.weights},
        "dropouts": {layer.name: [layer.rate, layer.whole] for layer in model.layers if isinstance(layer, Dropout)},
        # Windows of several pixels that skip some: what is beyond the edge depends on the padding.
        "padding": {
            layer.name: layer.padding
            for layer in model.layers
            if isinstance(layer, Conv2D | MaxPooling2D)
            and max(layer.strides) > 1
            and max(getattr(layer, "kernel_size", ()) or layer.pool_size) > 1
        },
        "epsilons": sorted({layer.epsilon for layer in model.layers if isinstance(layer, BatchNormalization)}),
        "layers": sorted({type(layer).__name__ for layer in model.layers}),
    }


def pixels():
    """What a stride of 2 sees of numbered pixels, and how halves of channels are dealt out."""
    import keras

    from toolnoise.models import pytorch, shufflenet

    board = np.arange(36, dtype=np.float32).reshape(1, 6, 6, 1)
    images = keras.Input(board.shape[1:])
    centre = keras.initializers.Constant(np.eye(9, dtype=np.float32)[4].reshape(3, 3, 1, 1))
    seen = keras.Model(images, pytorch.convolved(images, 1, 3, "conv", strides=2, initializer=centre))(board)
    one, other = keras.Input((1, 1, 3)), keras.Input((1, 1, 3))
    dealt = keras.Model([one, other], shufflenet._dealt(one, other, "dealt"))
    channels = np.arange(6, dtype=np.float32).reshape(2, 1, 1, 1, 3)
    return {"stride": np.array(seen).ravel().tolist(), "dealt": np.array(dealt(list(channels))).ravel().tolist()}


def count_models(study_file, _data, out):
    """Every model of the registry as it is built, without numbers for its weights: size, names, initialisers."""
    loaded = grid.load_study(study_file)
    network.start_engine(loaded.spec(loaded.cells[0], 1))
    import keras

    found = {}
    with keras.StatelessScope(initialize_variables=False):
        for name, entry in config.registry_entries("models").items():
            entry = {"name": name, **entry}
            found[name] = [described(entry, *task) for task in TASKS.get(name, [((224, 224, 3), 1000)])]
        pooled = {"name": "resnet18", **config.registry_entries("models")["resnet18"], "options": {"pool_size": 4}}
        bottlenecks = {"name": "resnet50-v15", **config.registry_entries("models")["resnet50-v15"]}
        model = network._builder(bottlenecks)((64, 64, 3), 10, **bottlenecks["options"])
        block = [
            layer for layer in model.layers if layer.name.startswith("stage2_block1") and hasattr(layer, "strides")
        ]
        found["striding"] = {layer.name: list(layer.strides) for layer in block if layer.strides != (1, 1)}
        found["pooled"] = [described(pooled, (size, size, 3), 2) for size in (32, 128)]
    found["pixels"] = pixels()
    files.write_json(out, found)


def called(model, images):
    from keras import ops

    return ops.convert_to_numpy(model(ops.convert_to_tensor(images), training=False))


def watch_layers(study_file, data_file, out):
    """What the engine says of the layers of a model, and what they give of images, asked for in several ways."""
    keras_engine.EVALUATION_BATCH = 7
    loaded = grid.load_study(study_file)
    spec = loaded.spec(loaded.cells[0], 1)
    data = prepared.load(data_file)
    some = data.test.chosen(np.array([2, 3, 5, 7, 11, 13, 17, 19, 23]))
    engine, _ = network.start_engine(spec)
    import keras

    found = {}
    parameters = network.build_model(engine, spec, data)
    engine.restore(State(initial_weights(parameters, 0, 1, "model"), {}, 0))
    outputs = LayerOutputs(engine)
    sizes = outputs.sizes()
    found["layers"], found["sizes"] = np.array(list(sizes)), np.array(list(sizes.values()))
    for way in ("whole", "again"):
        for name, values in zip(sizes, outputs.of_split(some, list(sizes)), strict=True):
            found[f"{way}/{name}"] = values
    for name in sizes:
        (found[f"alone/{name}"],) = outputs.of_split(some, [name])
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


def smooth_activations(study_file, _data_file, out):
    """What the activations give of equally spaced numbers."""
    loaded = grid.load_study(study_file)
    network.start_engine(loaded.spec(loaded.cells[0], 1))
    from keras import ops

    from toolnoise.models.smallcnn import named_activation as activation

    found = {"places": np.linspace(-3, 3, 241, dtype=np.float32)}
    places = ops.convert_to_tensor(found["places"])
    for name, beta in (("relu", 1), ("swish", 1), ("smelu", 0.5), ("smelu", 1), ("smelu", 2)):
        found[f"{name} {beta:g}"] = ops.convert_to_numpy(activation(name, beta)(places))
    arrays.write_npz(out, found)


# Networks for language


BATCH, LENGTH, CLASSES, CHANGED = 5, 12, 11, 7
# Small, with more than one of everything.
OPTIONS = {
    "lstm": {"units": 7, "layers": 2, "embedding": 5},
    "qrnn": {"units": [7, 4], "windows": [3, 1], "embedding": 5},
    "transformer": {"width": 6, "heads": 2},
}


def language(study_file, _data, out, *names):
    """Of each network its random weights and the logits that it gives, with a token changed, too."""
    loaded = grid.load_study(study_file)
    engine, _ = network.start_engine(loaded.spec(loaded.cells[0], 1))
    found = {"changed_at": np.array(CHANGED)}
    for name in names:
        entry = {"name": name, **config.registry_entries("models")[name]}
        engine.build(
            network.checked_builder(network._builder(entry), entry, (LENGTH, CLASSES)),
            OPTIONS[name],
            (LENGTH,),
            CLASSES,
        )
        numbers = np.random.Generator(np.random.Philox(5))
        tokens = numbers.integers(0, CLASSES, (BATCH, LENGTH), dtype=np.int32)
        # All of them random, so that no weight is without effect.
        shapes = {path: tensor.shape for path, tensor in engine.weights().items()}
        weights = {path: numbers.normal(0, 0.5, shape).astype(np.float32) for path, shape in shapes.items()}
        engine.restore(State(weights, {}, 0))
        other = tokens.copy()
        other[:, CHANGED] = (other[:, CHANGED] + 1) % CLASSES
        found |= {f"{name}/weights/{path}": values for path, values in weights.items()}
        for what, given in (("logits", tokens), ("changed", other)):
            found[f"{name}/{what}"] = engine.values_of(engine._forward(given))
        found[f"{name}/tokens"] = tokens
    arrays.write_npz(out, found)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
