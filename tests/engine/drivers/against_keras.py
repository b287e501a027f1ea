"""The engine beside a plain Keras loop: the same initial weights, the same batches, step by step in eager mode."""

import sys

import numpy as np

from toolnoise import arrays, plans, study, training
from toolnoise.datasets import prepared
from toolnoise.engines import State
from toolnoise.models.initial import initial_weights

STEPS = 6


def augmented(images, plan, step, pad):
    batch = []
    for index, (row, column), flip in zip(plan.order[step], plan.offsets[step], plan.flips[step], strict=True):
        padded = np.pad(images[index], ((pad, pad), (pad, pad), (0, 0)))
        crop = padded[row : row + images.shape[1], column : column + images.shape[2]]
        batch.append(crop[:, ::-1] if flip else crop)
    return np.stack(batch)


def main(study_file, data_file, out):
    loaded = study.load(study_file)
    spec = loaded.spec(loaded.cells[0], 1)
    data = prepared.load(data_file, spec["recipe"]["normalise"])
    engine, _ = training.start_engine(spec)
    # Frameworks are imported when the engine has made its settings.
    import keras
    import own_models
    import tensorflow as tf

    found = {"counts": own_models.counted()}
    whole = plans.plan_epoch(spec, len(data.train.labels), 0)
    plan = plans.Plan(*(part if name == "dropout" else part[:STEPS] for name, part in whole._asdict().items()))
    for optimizer in ("adam", "sgd"):
        recipe = spec["recipe"] | {"optimizer": optimizer}
        parameters = training.build_model(engine, spec, data)
        engine.compile(recipe, data.train)
        initial = initial_weights(parameters, spec["study_seed"], 0, "model")
        engine.restore(State(initial, {}, 0))
        held = engine.weights()
        result = engine.epoch(plan)
        trained = engine.weights()

        model = own_models.smooth(data.train.images.shape[1:], len(data.classes))
        for variable in model.weights:
            variable.assign(initial[variable.path])
        theirs = {
            "adam": lambda: keras.optimizers.Adam(0.0, beta_1=0.9, beta_2=0.999, epsilon=1e-7),
            "sgd": lambda momentum=recipe["momentum"]: keras.optimizers.SGD(0.0, momentum=momentum),
        }[optimizer]()
        loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        losses, right = [], []
        for step in range(STEPS):
            labels = data.train.labels[plan.order[step]]
            theirs.learning_rate = float(plan.rates[step])
            with tf.GradientTape() as tape:
                logits = model(augmented(data.train.images, plan, step, recipe["crop"]), training=True)
                loss = loss_of(labels, logits)
            theirs.apply(tape.gradient(loss, [v.value for v in model.trainable_variables]), model.trainable_variables)
            losses.append(float(loss))
            right.append(float(np.mean(np.argmax(logits, -1) == labels)))
        found[f"{optimizer}/loss"] = np.array([result.loss, np.mean(losses)])
        found[f"{optimizer}/accuracy"] = np.array([result.accuracy, np.mean(right)])
        for variable in model.weights:
            found[f"{optimizer}/held/{variable.path}"] = held[variable.path]
            found[f"{optimizer}/engine/{variable.path}"] = trained[variable.path]
            found[f"{optimizer}/keras/{variable.path}"] = np.array(variable.value)
        # Keras names the parameters of a model in the order that the engine does.
        assert [parameter.path for parameter in parameters] == [variable.path for variable in model.weights]
    arrays.write_npz(out, found)


main(*sys.argv[1:])
