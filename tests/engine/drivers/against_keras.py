"""The engine beside a plain Keras loop: the same initial weights, the same batches, step by step in eager mode."""

import sys

import numpy as np

from toolnoise import epoch_plan
from toolnoise.base import arrays
from toolnoise.datasets import prepared
from toolnoise.engines import State
from toolnoise.models.initial import initial_weights
from toolnoise.study import grid
from toolnoise.training import network

STEPS = 6
CASES = {
    "adam": {"optimizer": "adam"},
    "sgd": {"optimizer": "sgd"},
    "regularised": {"optimizer": "sgd", "label_smoothing": 0.1, "weight_decay": 0.05},
    "by kind": {
        "optimizer": "sgd",
        "weight_decay": 0.05,
        "decay_normalisation": True,
        "bias_rate": 0.3,
        "scale_rate": 3,
    },
    "adam by kind": {"optimizer": "adam", "bias_rate": 0.3, "scale_rate": 3},
}


def augmented(images, plan, step, pad):
    batch = []
    for index, (row, column), flip in zip(plan.order[step], plan.offsets[step], plan.flips[step], strict=True):
        padded = np.pad(images[index], ((pad, pad), (pad, pad), (0, 0)))
        crop = padded[row : row + images.shape[1], column : column + images.shape[2]]
        batch.append(crop[:, ::-1] if flip else crop)
    return np.stack(batch)


def main(study_file, data_file, out):
    loaded = grid.load(study_file)
    spec = loaded.spec(loaded.cells[0], 1)
    data = prepared.load(data_file, spec.recipe["normalise"])
    engine, _ = network.start_engine(spec)
    # Frameworks are imported when the engine has made its settings.
    import keras
    import own_models
    import tensorflow as tf

    found = {}
    whole = epoch_plan.plan_epoch(spec, len(data.train.labels), 0)
    plan = whole.steps(0, STEPS)
    for case, changes in CASES.items():
        recipe = spec.recipe | changes
        parameters = network.build_model(engine, spec, data)
        engine.compile(recipe, data.train)
        initial = initial_weights(parameters, spec.study_seed, 0, "model")
        engine.restore(State(initial, {}, 0))
        held = engine.weights()
        result = engine.epoch(plan)
        ours = engine.weights()

        model = own_models.smooth(data.train.images.shape[1:], len(data.classes))
        for variable in model.weights:
            variable.assign(initial[variable.path])
        make = {
            "adam": lambda: keras.optimizers.Adam(0.0, beta_1=0.9, beta_2=0.999, epsilon=1e-7),
            "sgd": lambda momentum=recipe["momentum"]: keras.optimizers.SGD(0.0, momentum=momentum),
        }[recipe["optimizer"]]
        # Keras has one rate for all: an optimiser for each kind of variable.
        factors = {"bias": recipe["bias_rate"], "beta": recipe["bias_rate"], "gamma": recipe["scale_rate"], "kernel": 1}
        theirs = {kind: make() for kind in factors}
        loss_of = keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=recipe["label_smoothing"])
        # Half the decay of the sum of squares has the decay times the weight for its gradient.
        decay = keras.regularizers.L2(recipe["weight_decay"] / 2)
        spared = () if recipe["decay_normalisation"] else ("gamma", "beta")
        decayed = [variable for variable in model.trainable_variables if variable.name not in spared]
        losses, right = [], []
        for step in range(STEPS):
            labels = data.train.labels[plan.order[step]]
            with tf.GradientTape() as tape:
                logits = model(augmented(data.train.images, plan, step, recipe["crop"]), training=True)
                loss = loss_of(keras.ops.one_hot(labels, len(data.classes)), logits)
                whole = loss + sum(decay(variable) for variable in decayed)
            trained = model.trainable_variables
            gradients = tape.gradient(whole, [variable.value for variable in trained])
            for kind, optimizer in theirs.items():
                optimizer.learning_rate = float(plan.rates[step]) * factors[kind]
                some = [place for place, variable in enumerate(trained) if variable.name == kind]
                optimizer.apply([gradients[place] for place in some], [trained[place] for place in some])
            losses.append(float(loss))
            right.append(float(np.mean(np.argmax(logits, -1) == labels)))
        found[f"{case}/loss"] = np.array([result.loss, np.mean(losses)])
        found[f"{case}/accuracy"] = np.array([result.accuracy, np.mean(right)])
        for variable in model.weights:
            found[f"{case}/held/{variable.path}"] = held[variable.path]
            found[f"{case}/engine/{variable.path}"] = ours[variable.path]
            found[f"{case}/keras/{variable.path}"] = np.array(variable.value)
        # Keras names the parameters of a model in the order that the engine does.
        assert [parameter.path for parameter in parameters] == [variable.path for variable in model.weights]
    arrays.write_npz(out, found)


main(*sys.argv[1:])
