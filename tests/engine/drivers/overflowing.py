"""Where half precision begins in a test: an engine before its first step, at a loss scale so high that it overflows."""

import numpy as np

from toolnoise import epoch_plan
from toolnoise.datasets import prepared
from toolnoise.engines import State
from toolnoise.models.initial import initial_weights
from toolnoise.study import grid
from toolnoise.training import network

STEPS, DOUBLINGS = 8, 9


def begin(study_file, data_file):
    """The engine of a study's first run, its spec, data and initial weights, and the plan of its first steps."""
    loaded = grid.load(study_file)
    spec = loaded.spec(loaded.cells[0], 1)
    data = prepared.load(data_file, spec.recipe["normalise"])
    engine, _ = network.start_engine(spec)
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
