"""An engine's first step, its loss and gradients; its kernels; and the logits that it gives of some runs' weights."""

import sys

import numpy as np

from toolnoise import epoch_plan
from toolnoise.analyses.overhead.profilers import profile
from toolnoise.base import arrays
from toolnoise.datasets import prepared
from toolnoise.engines import State
from toolnoise.models.initial import initial_weights
from toolnoise.study import grid
from toolnoise.training import network


def main(study_file, data_file, out, *others):
    loaded = grid.load(study_file)
    spec = loaded.spec(loaded.cells[0], 1)
    data = prepared.load(data_file, spec.recipe["normalise"])
    engine, _ = network.start_engine(spec)
    parameters = network.build_model(engine, spec, data)
    initial = initial_weights(parameters, spec.study_seed, 0, "model")
    # At a rate of one the first momentum is the gradient itself.
    engine.compile(spec.recipe | {"optimizer": "sgd"}, data.train)
    engine.restore(State(initial, {}, 0))
    plan = epoch_plan.plan_epoch(spec, len(data.train.labels), 0)
    first = plan.steps(0, 1)._replace(rates=np.ones(1, np.float32))
    found = {"loss": np.array(engine.epoch(first).loss), "order": first.order[0]}
    for path, momentum in engine.state().slots["momentum"].items():
        found[f"gradient/{path}"] = -momentum
    found |= {f"after/{path}": tensor for path, tensor in engine.weights().items()}
    found |= {f"initial/{path}": tensor for path, tensor in initial.items()}
    kernels = profile(engine, plan)
    found["microseconds"] = np.array([kernel.microseconds for kernel in kernels])
    found["calls"] = np.array([kernel.calls for kernel in kernels])
    for number, other in enumerate(others):
        engine.restore(State(arrays.read_npz(other), {}, 0))
        found[f"logits/{number}"] = engine.logits(data.test)
    arrays.write_npz(out, found)


main(*sys.argv[1:])
