"""Every model of the registry as it is built, without a number for any of its weights: size, names, initialisers."""

import sys

from toolnoise import config, files, study, training

# Where a published count is of another task than 224x224 pixels in 1,000 classes.
TASKS = {
    "smallcnn": [((32, 32, 3), 10)],
    "smallcnn-bn": [((32, 32, 3), 10)],
    "resnet18": [((32, 32, 3), 10), ((32, 32, 3), 100)],
    "inception-v3": [((299, 299, 3), 1000)],
    "xception": [((299, 299, 3), 1000)],
}


def described(entry, shape, classes):
    from toolnoise.models.dropout import Dropout

    model = training._builder(entry)(shape, classes, **entry["options"])
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


def main(study_file, _data, out):
    loaded = study.load(study_file)
    training.start_engine(loaded.spec(loaded.cells[0], 1))
    import keras

    found = {}
    with keras.StatelessScope(initialize_variables=False):
        for name, entry in config._registry("models").items():
            entry = {"name": name, **entry}
            found[name] = [described(entry, *task) for task in TASKS.get(name, [((224, 224, 3), 1000)])]
        again = {"name": "inception-v3", **config._registry("models")["inception-v3"]}
        found["again"] = [described(again, (75, 75, 3), 10)]
        pooled = {"name": "resnet18", **config._registry("models")["resnet18"], "options": {"pool_size": 4}}
        found["pooled"] = [described(pooled, (size, size, 3), 2) for size in (32, 128)]
    files.write_json(out, found)


main(*sys.argv[1:])
