"""The speed of runs: measured on a few steps, or read from earlier measurements.

The time of a run comes from finished runs of the same work, else from steps that the job `measure-speed` timed. Same
work means the same model, data set, tooling, determinism setting (on or off) and batch size. Runs of other studies in
this folder count too. Nothing is guessed without a measurement.
"""

import contextlib
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from toolnoise.base import files, shapes
from toolnoise.base.errors import BadInput
from toolnoise.base.job import Input, TimedOutput, unrepeatable
from toolnoise.base.shapes import AMOUNT, COUNT, INTEGER, POSITIVE, Shape
from toolnoise.base.spec import Spec
from toolnoise.datasets import prepared
from toolnoise.engines.keras_engine import KerasEngine
from toolnoise.epoch_plan import Plan, count_cycles, plan_epoch, steps_per_epoch
from toolnoise.study import layout, runs
from toolnoise.study.runs import weight_digests
from toolnoise.training.loop import Timings, build_model, initial_state, start_engine

ONCE = ("start_up", "compile")
# The keys that are read from records of runs, of timed steps, and of the cost of determinism.
TIMED: Shape = {"spec": runs.SPEC, "epochs": POSITIVE, "seconds": {"*": AMOUNT}, "recorded_steps?": [COUNT]}
PROBED: Shape = {**TIMED, "weight_bytes": INTEGER, "steps_timed": INTEGER}
PROFILED: Shape = {"seconds": {"*": AMOUNT}}
# More runs of one kind add no information.
LOOKED_AT = 10
# Steps are timed for at least this many seconds, or for an epoch.
SECONDS = 5.0
# The first steps choose kernels and allocate memory.
WARM_UP_STEPS = 2
EVALUATED = 512


class Pace(NamedTuple):
    """Seconds before the first epoch, per epoch with its evaluation, and per evaluation; and their source.

    `weight_bytes` is the size of the weights after a cycle: a run keeps the weights after each cycle.
    """

    start: float
    epoch: float
    evaluation: float
    weight_bytes: int
    source: str
    epochs: int  # the number of epochs of the measured run

    def run(self, recipe: dict[str, Any]) -> float:
        """Seconds of a whole run; the recipe of an existing training program has no number of epochs."""
        return self.start + recipe.get("epochs", self.epochs) * self.epoch

    def predictions(self, runs: int) -> float:
        """Seconds of the job that dumps the predictions of `runs` runs."""
        return self.start + runs * self.evaluation


def find_pace(spec: Spec) -> Pace | None:
    """The pace of a run like the one that `spec` describes, if one was measured."""
    finished = list(islice(_like(spec, layout.RECORD, TIMED), LOOKED_AT))
    if finished:
        path, record = finished[0]
        weights = path.with_name("weights.npz")
        # The file has the final weights, the snapshots, and the weights recorded after some steps.
        copies = count_cycles(record["spec"]["recipe"]) + len(record.get("recorded_steps", ()))
        size = weights.stat().st_size // copies if weights.exists() else 0
        return _pace([record for _, record in finished], size, f"finished runs: {len(finished)}")
    for _, measured in islice(_like(spec, layout.SPEED, PROBED), 1):
        return _pace([measured], measured["weight_bytes"], f"steps timed: {measured['steps_timed']}")
    return None


def profiling_seconds(spec: Spec) -> float | None:
    """Seconds of a measurement of the cost of determinism like the one that `spec` describes, if one is finished."""
    names = {"model": spec.model.name, "hardware": spec.hardware.name, "mode": spec.variant.name}
    totals = []
    for path in sorted(Path().glob(layout.PROFILE_RECORD.format(study="*", repeat="*", **names))):
        with contextlib.suppress(BadInput, KeyError, TypeError):
            record = shapes.read_json_of_shape(path, PROFILED, "the record that profile wrote")
            if {**record["spec"], "seed": 0} == {**spec.json, "seed": 0}:
                totals.append(sum(record["seconds"].values()))
    return median(totals) if totals else None


def _pace(records: list[dict[str, Any]], weight_bytes: int, source: str) -> Pace:
    def typical(*parts: str, per_epoch: bool = True) -> float:
        return median(
            sum(record["seconds"].get(part, 0.0) for part in parts) / (record["epochs"] if per_epoch else 1)
            for record in records
        )

    repeated = sorted(set().union(*(record["seconds"] for record in records)) - set(ONCE))
    times = typical(*ONCE, per_epoch=False), typical(*repeated), typical("evaluation")
    return Pace(*times, weight_bytes, source, records[0]["epochs"])


def _like(spec: Spec, pattern: str, shape: Shape) -> Iterator[tuple[Path, dict[str, Any]]]:
    names = {"model": spec.model.name, "dataset": spec.dataset.name, "hardware": spec.hardware.name}
    for path in sorted(Path().glob(pattern.format(study="*", variant="*", seed="*", **names))):
        try:
            record = shapes.read_json_of_shape(path, shape, runs.WANTED)
            if _work(Spec.read(record["spec"])) == _work(spec) and record["epochs"] > 0 and record["seconds"]:
                yield path, record
        except (BadInput, KeyError, TypeError):
            continue  # the audit reports damaged records


def _work(spec: Spec) -> list[Any]:
    recipe = [spec.recipe.get(key) for key in ("batch_size", "optimizer")]
    return [spec.model, spec.dataset, spec.hardware, spec.varies("impl"), *recipe]


# Measured


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
    """Mean seconds per step, and the number of steps timed: a whole epoch, or as many steps as take `SECONDS`."""
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
