"""Eight steps in float16 from a loss scale so high that the first ones overflow: the state that they end in."""

import sys

import numpy as np

from toolnoise import arrays, plans, study, training
from toolnoise.datasets import prepared
from toolnoise.engines import State
from toolnoise.models.initial import initial_weights

STEPS, DOUBLINGS = 8, 9


def main(study_file, data_file, out):
    loaded = study.load(study_file)
    spec = loaded.spec(loaded.cells[0], 1)
    data = prepared.load(data_file, spec["recipe"]["normalise"])
    engine, _ = training.start_engine(spec)
    parameters = training.build_model(engine, spec, data)
    engine.compile(spec["recipe"], data.train)
    start = {"doublings": DOUBLINGS, "steps_in_a_row": 0, "left_out": 0}
    slots = {"loss_scale": {name: np.array(value, np.int32) for name, value in start.items()}}
    engine.restore(State(initial_weights(parameters, spec["study_seed"], 0, "model"), slots, 0))
    engine.epoch(plans.plan_epoch(spec, len(data.train.labels), 0).steps(0, STEPS))
    state = engine.state()
    arrays.write_npz(out, {**state.slots["loss_scale"], **state.weights})


main(*sys.argv[1:])
