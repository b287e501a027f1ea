"""Our loss scale and Keras's on the same gradients, some of which overflowed; it grows after four steps in a row."""

import sys

import numpy as np

from toolnoise.base import arrays
from toolnoise.study import grid
from toolnoise.training import network

GROW = 4


def main(study_file, _data_file, out):
    loaded = grid.load(study_file)
    network.start_engine(loaded.spec(loaded.cells[0], 1))
    import keras
    import tensorflow as tf

    from toolnoise.engines import loss_scale

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


main(*sys.argv[1:])
