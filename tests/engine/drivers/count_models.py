"""Every model of the registry as it is built, without a number for any of its weights: size, names, initialisers."""

import sys

from toolnoise.base import files
from toolnoise.study import config, grid
from toolnoise.training import network

CIFAR10, CIFAR100, MNIST = ((32, 32, 3), 10), ((32, 32, 3), 100), ((28, 28, 1), 10)
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
    **{name: [MNIST] for name in ("mnist-cnn", "lenet1", "lenet4", "lenet5")},
    "inception-v3": [((299, 299, 3), 1000)],
    "xception": [((299, 299, 3), 1000)],
}


def described(entry, shape, classes):
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
        "dropouts": {layer.name: [layer.rate, layer.whole] for layer in model.layers if isinstance(layer, Dropout)},
        "layers": sorted({type(layer).__name__ for layer in model.layers}),
    }


def pixels():
    """What a stride of 2 sees of numbered pixels, and how halves of channels are dealt out."""
    import keras
    import numpy as np

    from toolnoise.models import pytorch, shufflenet

    board = np.arange(36, dtype=np.float32).reshape(1, 6, 6, 1)
    images = keras.Input(board.shape[1:])
    centre = keras.initializers.Constant(np.eye(9, dtype=np.float32)[4].reshape(3, 3, 1, 1))
    seen = keras.Model(images, pytorch.convolved(images, 1, 3, "conv", strides=2, initializer=centre))(board)
    one, other = keras.Input((1, 1, 3)), keras.Input((1, 1, 3))
    dealt = keras.Model([one, other], shufflenet._dealt(one, other, "dealt"))
    channels = np.arange(6, dtype=np.float32).reshape(2, 1, 1, 1, 3)
    return {"stride": np.array(seen).ravel().tolist(), "dealt": np.array(dealt(list(channels))).ravel().tolist()}


def main(study_file, _data, out):
    loaded = grid.load(study_file)
    network.start_engine(loaded.spec(loaded.cells[0], 1))
    import keras

    found = {}
    with keras.StatelessScope(initialize_variables=False):
        for name, entry in config.registered("models").items():
            entry = {"name": name, **entry}
            found[name] = [described(entry, *task) for task in TASKS.get(name, [((224, 224, 3), 1000)])]
        again = {"name": "inception-v3", **config.registered("models")["inception-v3"]}
        found["again"] = [described(again, (75, 75, 3), 10)]
        pooled = {"name": "resnet18", **config.registered("models")["resnet18"], "options": {"pool_size": 4}}
        found["pooled"] = [described(pooled, (size, size, 3), 2) for size in (32, 128)]
    found["pixels"] = pixels()
    files.write_json(out, found)


main(*sys.argv[1:])
