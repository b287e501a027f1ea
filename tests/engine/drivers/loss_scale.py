"""Our loss scale and Keras's on the same gradients, some of which overflowed; it grows after four steps in a row."""

import sys

import numpy as np

from toolnoise import arrays, study, training

GROW = 4


def main(study_file, _data_file, out):
    loaded = study.load(study_file)
    training.start_engine(loaded.spec(loaded.cells[0], 1))
    import keras
    import tensorflow as tf

    from toolnoise.engines import loss_scale

    loss_scale.STEPS_TO_GROW = GROW
    ours = loss_scale.LossScale(tf)
    values, undone = tf.Variable([1.0, 2.0]), tf.Variable([0.0, 0.0])

    @tf.function(autograph=False)
    def step(gradient):
        def apply(gradients):
            undone.assign(gradients[0])
            values.assign_sub(gradients[0])

        ours.step([gradient, gradient * 2], apply)
        return ours.factor()

    theirs = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(1.0), dynamic_growth_steps=GROW)
    variable = keras.Variable([1.0, 2.0])
    theirs.build([variable])
    found = {name: [] for name in ("ours", "keras", "values", "keras values", "undone", "sent")}
    for number in range(40):
        bad = number in (0, 1, 9, 10, 11, 30)
        gradient = np.array([np.inf if bad and number % 2 else 0.37, np.nan if bad else -1.25], np.float32)
        scaled = tf.constant(gradient) * ours.factor()
        found["ours"].append(float(step(scaled)))
        theirs.apply([scaled], [variable])
        found["keras"].append(float(theirs.dynamic_scale))
        found["values"].append(values.numpy())
        found["keras values"].append(variable.numpy())
        found["undone"].append(undone.numpy())
        found["sent"].append(np.zeros(2, np.float32) if bad else gradient)
    # As far down and up as a scale can go.
    for sign, name in ((-1, "lowest"), (1, "highest")):
        ours.variables["doublings"].assign(sign * 1000)
        ours._multiply(0)
        found[name] = [float(ours.factor()), float(ours.factor(-1))]
    arrays.write_npz(out, {name: np.array(value) for name, value in found.items()})


main(*sys.argv[1:])
