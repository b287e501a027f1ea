"""The engine in half precision, beside Keras: `half_precision.py FUNCTION STUDY DATA OUT`."""

import sys

import numpy as np
from training import opened

from toolnoise import epoch_plan
from toolnoise.base import arrays
from toolnoise.engines import State, loss_scale
from toolnoise.models.initial import initial_weights
from toolnoise.training import network

STEPS, DOUBLINGS = 8, 9
# Beside Keras: a scale from which fewer steps overflow, and so few steps in a row that it grows among them.
FEWER, GROW = 5, 2


def begin(study_file, data_file, doublings=DOUBLINGS):
    """The engine of a study's first run, its spec, data and initial weights, and the plan of its first steps."""
    engine, spec, data = opened(study_file, data_file)
    parameters = network.build_model(engine, spec, data)
    engine.compile(spec.recipe, data.train)
    start = {"doublings": doublings, "steps_in_a_row": 0, "left_out": 0}
    scaled = spec.hardware.json["precision"] == "mixed_float16"
    initial = initial_weights(parameters, spec.study_seed, 0, "model")
    engine.restore(State(initial, {}, 0))
    if scaled:
        state = engine.state()
        counts = {name: np.array(value, np.int32) for name, value in start.items()}
        engine.restore(state._replace(slots=state.slots | {"loss_scale": counts}))
    return engine, spec, data, initial, epoch_plan.plan_epoch(spec, len(data.train.labels), 0).steps(0, STEPS)


def overflow(study_file, data_file, out):
    """Eight steps in float16 from a loss scale so high that the first ones overflow: the state that they end in."""
    engine, *_, plan = begin(study_file, data_file)
    engine.epoch(plan)
    state = engine.state()
    arrays.write_npz(out, {**state.slots["loss_scale"], **state.weights})


def training_beside_keras(study_file, data_file, out):
    """The engine beside a plain Keras loop, from a loss scale so high that the first steps overflow."""
    loss_scale.STEPS_TO_GROW = GROW
    engine, spec, data, initial, plan = begin(study_file, data_file, FEWER)
    import keras
    import own_models
    import tensorflow as tf

    float16 = spec.hardware.json["precision"] == "mixed_float16"
    result = engine.epoch(plan)
    state = engine.state()

    model = own_models.smooth(data.train.images.shape[1:], len(data.classes))
    model.layers[-1].dtype_policy = "float32"
    for variable in model.weights:
        variable.assign(initial[variable.path])
    adam = keras.optimizers.Adam(spec.recipe["learning_rate"])
    exponent = loss_scale.INITIAL_EXPONENT + FEWER
    options = {"initial_scale": 2.0**exponent, "dynamic_growth_steps": GROW}
    theirs = keras.optimizers.LossScaleOptimizer(adam, **options) if float16 else adam
    theirs.build(model.trainable_variables)
    losses = []
    for step in range(STEPS):
        images, labels = (array[plan.order[step]] for array in (data.train.images, data.train.labels))
        with tf.GradientTape() as tape:
            logits = model(images, training=True)
            loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)(labels, logits)
            scaled = theirs.scale_loss(loss)
        theirs.apply(tape.gradient(scaled, [v.value for v in model.trainable_variables]), model.trainable_variables)
        losses.append(float(loss))

    found = {"loss": np.array([result.loss, np.mean(losses)]), "logits": engine.logits(data.test)}
    found["computes_in"] = np.array([layer.compute_dtype for layer in engine.model.layers])
    for variable in model.weights:
        found[f"ours/{variable.path}"] = state.weights[variable.path]
        found[f"keras/{variable.path}"] = np.array(variable.value)
    if float16:
        scale = {name: int(value) for name, value in state.slots["loss_scale"].items()}
        found["ours scale"] = np.array([2.0 ** (exponent - FEWER + scale["doublings"]), scale["steps_in_a_row"]])
        found["keras scale"] = np.array([float(theirs.dynamic_scale), int(theirs.step_counter)])
        found["updates"] = np.array([STEPS - scale["left_out"], int(theirs.iterations)])
    arrays.write_npz(out, found)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
