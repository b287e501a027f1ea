"""The engine beside a plain Keras loop in half precision, from a loss scale so high that the first steps overflow."""

import sys

import numpy as np
from overflowing import DOUBLINGS, STEPS, begin

from toolnoise.base import arrays
from toolnoise.engines import loss_scale


def main(study_file, data_file, out):
    engine, spec, data, initial, plan = begin(study_file, data_file)
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
    exponent = loss_scale.INITIAL_EXPONENT + DOUBLINGS
    theirs = keras.optimizers.LossScaleOptimizer(adam, initial_scale=2.0**exponent) if float16 else adam
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
        found["ours scale"] = np.array([2.0 ** (exponent - DOUBLINGS + scale["doublings"]), scale["steps_in_a_row"]])
        found["keras scale"] = np.array([float(theirs.dynamic_scale), int(theirs.step_counter)])
        found["updates"] = np.array([STEPS - scale["left_out"], int(theirs.iterations)])
    arrays.write_npz(out, found)


main(*sys.argv[1:])
