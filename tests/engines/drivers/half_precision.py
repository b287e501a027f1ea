"""The engine in half precision, beside Keras: `half_precision.py FUNCTION STUDY DATA OUT`."""

import sys

import numpy as np
from training import opened

from toolnoise import epoch_plan
from toolnoise.base import arrays
from toolnoise.engines import State, loss_scale
from toolnoise.models.initial import initial_weights
from toolnoise.study import grid
from toolnoise.training import network

STEPS, DOUBLINGS = 8, 9
GROW = 4


def begin(study_file, data_file):
    """The engine of a study's first run, its spec, data and initial weights, and the plan of its first steps."""
    engine, spec, data = opened(study_file, data_file)
    parameters = network.build_model(engine, spec, data)
    engine.compile(spec.recipe, data.train)
    start = {"doublings": DOUBLINGS, "steps_in_a_row": 0, "left_out": 0}
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


def scale_beside_keras(study_file, _data_file, out):
    """Our loss scale and Keras's on the same gradients, some of which overflowed; both grow after GROW steps."""
    loaded = grid.load(study_file)
    network.start_engine(loaded.spec(loaded.cells[0], 1))
    import keras
    import tensorflow as tf

    loss_scale.STEPS_TO_GROW = GROW
    counts = dict.fromkeys(loss_scale.COUNTS, np.int32(0))

    def factor(sign=1):
        return np.int32(loss_scale.bits(counts[loss_scale.DOUBLINGS], sign)).view(np.float32)

    theirs = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(1.0), dynamic_growth_steps=GROW)
    variable = keras.Variable([1.0, 2.0])
    theirs.build([variable])
    values, undone = np.array([1.0, 2.0], np.float32), np.zeros(2, np.float32)
    found = {name: [] for name in ("ours", "keras", "values", "keras values", "undone", "sent")}
    for number in range(40):
        bad = number in (0, 1, 9, 10, 11, 30)
        gradient = np.array([np.inf if bad and number % 2 else 0.37, np.nan if bad else -1.25], np.float32)
        scaled = gradient * factor()
        if finite := np.isfinite(scaled).all():
            undone = scaled * factor(-1)
            values -= undone
        counts = loss_scale.after(counts, np.int32(finite), np.clip)
        found["ours"].append(float(factor()))
        theirs.apply([tf.constant(scaled)], [variable])
        found["keras"].append(float(theirs.dynamic_scale))
        found["values"].append(values.copy())
        found["keras values"].append(variable.numpy())
        found["undone"].append(undone)
        found["sent"].append(np.zeros(2, np.float32) if bad else gradient)
    # As far down and up as a scale can go.
    for sign, name in ((-1, "lowest"), (1, "highest")):
        counts[loss_scale.DOUBLINGS] = np.int32(sign * 1000)
        counts = loss_scale.after(counts, np.int32(1), np.clip)
        found[name] = [float(factor()), float(factor(-1))]
    arrays.write_npz(out, {name: np.array(value) for name, value in found.items()})


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
