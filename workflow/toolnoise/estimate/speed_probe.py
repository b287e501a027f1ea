"""The speed of a tooling on a task, from a few steps: the basis of `estimate` before the first run is finished.

The engine trains as usual on the first steps of the first epoch and stops after some seconds; only times and sizes are
kept.
"""

import time
from typing import Any

from toolnoise.base import files
from toolnoise.base.job import Input, TimedOutput, unrepeatable
from toolnoise.base.spec import Spec
from toolnoise.datasets import prepared
from toolnoise.engines.keras_engine import KerasEngine
from toolnoise.epoch_plan import Plan, plan_epoch, steps_per_epoch
from toolnoise.study.runs import weight_digests
from toolnoise.training.loop import Timings, build_model, initial_state, start_engine

SECONDS = 5.0
# The first steps choose kernels and allocate memory.
WARM_UP_STEPS = 2
EVALUATED = 512


@unrepeatable("what it made are times")
def measure(spec: Spec, data: Input, *, out: TimedOutput) -> dict[str, Any]:
    """Time some steps of the run that `spec` describes and write the time of a whole run; return the observations."""
    timings = Timings()
    with timings.measure("start_up"):
        dataset = prepared.load(data, spec.recipe["normalise"])
        steps = steps_per_epoch(spec.recipe, len(dataset.train))
        engine, observed = start_engine(spec)
    with timings.measure("compile"):
        parameters = build_model(engine, spec, dataset)
        engine.compile(spec.recipe, dataset.train)
    engine.restore(initial_state(parameters, spec))
    train, test = dataset.train, dataset.test.first(EVALUATED)
    step_seconds, timed = _time_steps(engine, plan_epoch(spec, len(train), 0, train.margin, train.boxes))
    engine.logits(test)
    with timings.measure("evaluation"):
        engine.logits(test)
    with timings.measure("digests"):
        weights = engine.weights()
        weight_digests(weights)
    files.write_json(
        out,
        {
            "spec": spec.as_json(),
            "steps_timed": timed,
            "seconds": {
                "start_up": timings["start_up"],
                "compile": timings["compile"],
                "training": step_seconds * steps,
                "evaluation": timings["evaluation"] * len(dataset.test) / len(test),
                "digests": timings["digests"],
            },
            "epochs": 1,
            "weight_bytes": sum(tensor.nbytes for tensor in weights.values()),
            "observed": observed,
        },
    )
    return observed


def _time_steps(engine: KerasEngine, plan: Plan) -> tuple[float, int]:
    """Mean seconds per step, and the number of steps timed: all of an epoch, or as many as fill some seconds."""
    engine.epoch(plan.steps(0, WARM_UP_STEPS))
    count = 1
    while True:
        part = plan.steps(0, count)
        started = time.perf_counter()
        engine.epoch(part)
        spent = time.perf_counter() - started
        if spent >= SECONDS or count >= len(plan.order):
            return spent / len(part.order), len(part.order)
        count *= 4
