"""Rules about draws: runs that must share one do, on every tooling, and control runs are bit-equal."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from toolnoise.base import arrays
from toolnoise.base.arrays import bit_equal
from toolnoise.base.noise_sources import replicate
from toolnoise.measures import control_gate
from toolnoise.provenance.audit.evidence import Evidence, Found, RunFacts, guarded
from toolnoise.study import layout
from toolnoise.study.cells import Cell
from toolnoise.study.study import Study


def runs_can_be_read(evidence: Evidence) -> Found:
    """The record and the history of every run can be read."""
    yield from evidence.runs[1]


def runs_share_their_data(evidence: Evidence) -> Found:
    """All runs on a data set were trained on the same data."""
    for dataset, runs in _groups(evidence, lambda run: run.task[1]):
        for run, other in _odd_ones(runs, lambda run: run.data_sha256):
            yield run.name, f"was trained on a different {dataset} than {other.name}"


def initial_weights_are_shared(evidence: Evidence) -> Found:
    """Runs of a model have the same initial weights if they have the same init replicate, and different ones if not."""
    for _, runs in _groups(evidence, _start):
        for run, other in _odd_ones(runs, lambda run: run.initial_sha256):
            yield run.name, f"starts from different weights than {other.name}"
    for _, runs in _groups(evidence, lambda run: run.task):
        seen: dict[str, RunFacts] = {}
        for run in runs:
            other = seen.setdefault(run.initial_sha256, run)
            if _start(other) != _start(run):
                yield run.name, f"starts from the weights of {other.name}, which has a different init replicate"


def draws_are_shared(evidence: Evidence) -> Found:
    """Runs with the same replicates of all random sources in training have the same draws in every epoch."""
    for _, runs in _groups(evidence, _drawn):
        blamed = set()
        for epoch in range(max(len(run.draws) for run in runs)):
            # A run that diverged has fewer draws.
            drew = [run for run in runs if epoch < len(run.draws) and run.name not in blamed]
            for run, other in _odd_ones(drew, lambda run, epoch=epoch: run.draws[epoch]):
                blamed.add(run.name)
                yield run.name, f"has different draws than {other.name} from epoch {epoch + 1} on"


def control_is_bit_equal(evidence: Evidence) -> Found:
    """Control runs are bit-equal: weights, histories and logits, in agreement with the gate's verdict."""
    study = evidence.tree.study
    controls = [run for run in evidence.runs[0] if run.spec.variant.name == "control"]
    runs = {(*run.task, run.spec.hardware.name, run.spec.seed): run for run in controls}
    for cell in study.controls if study else ():
        alike = [runs[*cell[:3], seed] for seed in study.seeds[cell] if (*cell[:3], seed) in runs]
        yield from guarded(study.path(layout.GATE, cell), lambda cell=cell, alike=alike: _equal(evidence, cell, alike))


def _equal(evidence: Evidence, cell: Cell, runs: list[RunFacts]) -> Found:
    study, hashed, left_out = evidence.tree.study, evidence.hashed, evidence.tree.left_out
    for run in runs[1:]:
        pairs = enumerate(itertools.zip_longest(runs[0].epochs, run.epochs), 1)
        parted = next((epoch for epoch, (row, other_row) in pairs if row != other_row), None)
        if parted:
            yield run.name, f"differs from {runs[0].name} from epoch {parted} on"
        weights, first_weights = (f"{of.path}/weights.npz" for of in (run, runs[0]))
        if hashed.get(weights) != hashed.get(first_weights) or left_out.get(weights) != left_out.get(first_weights):
            yield run.name, f"has different weights than {runs[0].name}"
    logits = study.path(layout.LOGITS, cell)
    if evidence.tree.inside(logits) in evidence.tree.files:
        stack = arrays.read_npy(evidence.path(logits))
        if len(stack) != len(study.seeds[cell]):
            yield logits, f"has {len(stack)} runs; the study has {len(study.seeds[cell])}"
        for seed, layer in zip(study.seeds[cell][1:], stack[1:], strict=False):
            if not bit_equal(stack[0], layer):
                yield logits, f"has different logits for seeds {seed} and {study.seeds[cell][0]}"
    yield from _gate(evidence, study, cell, runs)


def _gate(evidence: Evidence, study: Study, cell: Cell, runs: list[RunFacts]) -> Found:
    name = study.path(layout.GATE, cell)
    if not runs or evidence.tree.inside(name) not in evidence.tree.files:
        return
    if evidence.record(name) != control_gate.passed(cell, study.seeds[cell], runs[0].weights[-1]):
        yield name, "the gate's verdict does not follow from its runs"


def _groups(evidence: Evidence, key: Any) -> Iterator[tuple[Any, list[RunFacts]]]:
    groups: dict[Any, list[RunFacts]] = {}
    for run in evidence.runs[0]:
        groups.setdefault(key(run), []).append(run)
    yield from groups.items()


def _odd_ones(runs: list[RunFacts], key: Callable[[RunFacts], str]) -> Iterator[tuple[RunFacts, RunFacts]]:
    """The runs that differ from the majority, each with one of the others; all runs if there is no majority."""
    values = Counter(map(key, runs)).most_common(2)
    if len(values) > 1:
        usual = values[0][0] if values[0][1] > values[1][1] else None
        for run in runs:
            if key(run) != usual:
                yield run, next(other for other in runs if key(other) != key(run) and usual in (None, key(other)))


def _start(run: RunFacts) -> tuple[Any, ...]:
    return (*run.task, run.spec.study_seed, replicate("init", run.spec))


def _drawn(run: RunFacts) -> tuple[Any, ...]:
    """Everything that determines a run's plan, except its learning rates."""
    recipe = run.spec.recipe
    emulated = replicate("impl", run.spec) if run.spec.hardware.impl_noise == "reduction-order" else 0
    replicates = (replicate(source, run.spec) for source in ("shuffle", "augment", "dropout"))
    shape = (recipe["batch_size"], "last_batch" in recipe, recipe["crop"], recipe["flip"])
    shape = (*shape, str(recipe.get("resized_crop")))
    return (run.task[1], run.spec.study_seed, *shape, *replicates, emulated)
