"""The training of several runs in one process, each with its own draws, weights, history and record."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.analyses.replicas import engines
from toolnoise.base import arrays, files
from toolnoise.base.errors import BadInput
from toolnoise.base.spec import Spec
from toolnoise.base.timings import Timings
from toolnoise.datasets import prepared
from toolnoise.engines import Weights
from toolnoise.epoch_plan import plan_epoch, steps_per_epoch
from toolnoise.models.initial import Parameter
from toolnoise.training import loop
from toolnoise.training.network import build_model, initial_state

Rows = list[dict[str, Any]]


class Outcome(NamedTuple):
    """What a run leaves: its weights, what its record has, and its history."""

    weights: Weights
    about: dict[str, Any]
    rows: Rows


class Process:
    """The runs that this process trains together, once the first of them is asked for."""

    def __init__(self) -> None:
        self.asked: list[Spec] = []
        self.trained: dict[str, Outcome] = {}

    def outcome(self, spec: Spec, data: str | Path) -> Outcome:
        """What a run leaves; one that nobody else was asked for with is trained alone."""
        if _key(spec) not in self.trained:
            together = self.asked if any(_key(one) == _key(spec) for one in self.asked) else [spec]
            outcomes = train_together(together, data)
            self.trained |= {_key(one): outcome for one, outcome in zip(together, outcomes, strict=True)}
        return self.trained.pop(_key(spec))


HERE = Process()


def train(spec: Spec, data: str | Path, weights: str | Path, history: str | Path, record: str | Path) -> dict[str, Any]:
    """Write the weights, history and record of the run that `spec` describes; return what was observed.

    The first call trains all runs that HERE was asked for, and later ones write what that left.
    """
    outcome = HERE.outcome(spec, data)
    arrays.write_npz(weights, outcome.weights)
    files.write_text(history, loop.as_csv(outcome.rows))
    files.write_json(record, outcome.about)
    return outcome.about["observed"]


def train_together(specs: Sequence[Spec], data: str | Path) -> list[Outcome]:
    """Train runs of one cell in this process."""
    timings, (spec, *_) = Timings(), specs
    with timings.measure("start_up"):
        dataset = prepared.load(data, spec.recipe["normalise"])
        steps_per_epoch(spec.recipe, len(dataset.train))
        engine = engines.of(spec.hardware.json)
        observed = engine.start(spec.hardware.json, deterministic=True)
    with timings.measure("compile"):
        parameters = build_model(engine, spec, dataset)
        engine.compile(spec.recipe, dataset.train)
    outcomes, at_once = [], engine.at_once()
    for start in range(0, len(specs), at_once):
        outcomes += _trained(engine, specs[start : start + at_once], parameters, dataset, timings)
    seeds = [one.seed for one in specs]
    for place, outcome in enumerate(outcomes, 1):
        # A run's part of the seconds of its process.
        outcome.about["seconds"] = {name: value / len(specs) for name, value in timings.items()}
        outcome.about["observed"] = observed
        outcome.about["shared"] = {"seeds": seeds, "place": place}
    return outcomes


def _key(spec: Spec) -> str:
    return files.canonical_sha256(spec.as_json())


def _trained(
    engine: engines.InTurn | engines.AtOnce,
    group: Sequence[Spec],
    parameters: Sequence[Parameter],
    dataset: prepared.Data,
    timings: Timings,
) -> list[Outcome]:
    """Train some runs side by side."""
    initial = [initial_state(parameters, spec) for spec in group]
    engine.restore_all(initial)
    histories: list[Rows] = [[] for _ in group]
    final: list[Weights] = [{} for _ in group]
    epochs = group[0].recipe["epochs"]
    for epoch in range(epochs):
        with timings.measure("planning"):
            plans = [plan_epoch(spec, len(dataset.train), epoch, dataset.train.margin) for spec in group]
        before = timings.get("training", 0.0)
        with timings.measure("training"):
            results = engine.epochs(plans)
        each = (timings["training"] - before) / len(group)
        for place, (rows, plan, result) in enumerate(zip(histories, plans, results, strict=True)):
            # One that has diverged has ended, whatever the others do.
            if not loop.has_ended(rows, epochs):
                engine.show(place)
                rows.append(loop.row_of(engine, dataset, plan, result, timings, epoch, each))
                final[place] = engine.weights()
        if all(loop.has_ended(rows, epochs) for rows in histories):
            break
    _require_equal_copies(engine, group[0])
    for spec, rows in zip(group, histories, strict=True):
        print(f"seed {spec.seed}: {len(rows)} epochs, test accuracy {rows[-1]['test_accuracy']:.4f}", flush=True)
    return [
        Outcome(
            weights,
            loop.about_run(spec, dataset, state.weights, rows, parameters) | {"resumed_after": [], "moved_bit": None},
            rows,
        )
        for spec, state, weights, rows in zip(group, initial, final, histories, strict=True)
    ]


def _require_equal_copies(engine: engines.InTurn | engines.AtOnce, spec: Spec) -> None:
    """A run and its copies in one program have the same bits, or the tooling is not under control."""
    differs = engine.differing_copy()
    if differs:
        problem = f"a copy of a run in another place of one program differs in {differs}"
        raise BadInput(
            f"hardware {spec.hardware.name}", "at_once", problem, "runs in turn, or in processes of their own"
        )
