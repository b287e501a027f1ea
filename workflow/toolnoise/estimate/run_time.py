"""The time of a run, from measurements: finished runs of the same work, else some steps timed by `speed`.

Same work means the same model, data set, tooling, determinism setting (on or off) and batch size. Runs of other studies
in this folder count too. Nothing is guessed without a measurement.
"""

import contextlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from toolnoise.base import shapes
from toolnoise.base.errors import BadInput
from toolnoise.base.shapes import AMOUNT, COUNT, INTEGER, POSITIVE, Shape
from toolnoise.base.spec import Spec
from toolnoise.epoch_plan import cycles
from toolnoise.study import layout, runs

ONCE = ("start_up", "compile")
# What is read of the records of runs, of timed steps, and of the cost of determinism.
TIMED: Shape = {"spec": runs.SPEC, "epochs": POSITIVE, "seconds": {"*": AMOUNT}, "recorded_steps?": [COUNT]}
PROBED: Shape = {**TIMED, "weight_bytes": INTEGER, "steps_timed": INTEGER}
PROFILED: Shape = {"seconds": {"*": AMOUNT}}
# More runs of one kind add no information.
LOOKED_AT = 10


class Pace(NamedTuple):
    """Seconds before the first epoch, per epoch with its evaluation, and per evaluation; and their source.

    `weight_bytes` is the size of the weights after a cycle: a run keeps the weights after each cycle.
    """

    start: float
    epoch: float
    evaluation: float
    weight_bytes: int
    source: str
    epochs: int  # of the measured run

    def run(self, recipe: dict[str, Any]) -> float:
        """Seconds of a whole run; an existing training program has no recipe that says how many epochs it takes."""
        return self.start + recipe.get("epochs", self.epochs) * self.epoch

    def predictions(self, runs: int) -> float:
        """Seconds of the job that dumps the predictions of `runs` runs."""
        return self.start + runs * self.evaluation


def find(spec: Spec) -> Pace | None:
    """The pace of a run like the one that `spec` describes, if one was measured."""
    finished = list(islice(_like(spec, layout.RECORD, TIMED), LOOKED_AT))
    if finished:
        path, record = finished[0]
        weights = path.with_name("weights.npz")
        # Its final weights, the snapshots, and what was recorded after some steps.
        copies = cycles(record["spec"]["recipe"]) + len(record.get("recorded_steps", ()))
        size = weights.stat().st_size // copies if weights.exists() else 0
        return _pace([record for _, record in finished], size, f"finished runs: {len(finished)}")
    for _, measured in islice(_like(spec, layout.SPEED, PROBED), 1):
        return _pace([measured], measured["weight_bytes"], f"steps timed: {measured['steps_timed']}")
    return None


def profiling(spec: Spec) -> float | None:
    """Seconds of a measurement of the cost of determinism like the one that `spec` describes, if one is finished."""
    names = {"model": spec.model.name, "hardware": spec.hardware.name, "mode": spec.variant.name}
    totals = []
    for path in sorted(Path().glob(layout.PROFILE_RECORD.format(study="*", repeat="*", **names))):
        with contextlib.suppress(BadInput, KeyError, TypeError):
            record = shapes.read(path, PROFILED, "the record that profile wrote")
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
    epochs = records[0]["epochs"]
    return Pace(
        typical(*ONCE, per_epoch=False), typical(*repeated), typical("evaluation"), weight_bytes, source, epochs
    )


def _like(spec: Spec, pattern: str, shape: Shape) -> Iterator[tuple[Path, dict[str, Any]]]:
    names = {"model": spec.model.name, "dataset": spec.dataset.name, "hardware": spec.hardware.name}
    for path in sorted(Path().glob(pattern.format(study="*", variant="*", seed="*", **names))):
        try:
            record = shapes.read(path, shape, runs.WANTED)
            if _work(Spec.read(record["spec"])) == _work(spec) and record["epochs"] > 0 and record["seconds"]:
                yield path, record
        except (BadInput, KeyError, TypeError):
            continue  # the audit reports damaged records


def _work(spec: Spec) -> list[Any]:
    recipe = [spec.recipe.get(key) for key in ("batch_size", "optimizer")]
    return [spec.model, spec.dataset, spec.hardware, spec.varies("impl"), *recipe]
