"""Rules about numbers in files: weights agree with the history, accuracies with logits, tables with their parts.

A moved bit is the drawn one. Weights are read a second time for this, after their files were hashed. A slim copy has no
weights to read. `audit --recompute` performs the other jobs again, apart from training.
"""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from toolnoise.base import arrays
from toolnoise.base.errors import BadInput
from toolnoise.base.files import readable
from toolnoise.datasets import prepared
from toolnoise.epoch_plan import cycles
from toolnoise.formulas.accuracy import predictions
from toolnoise.models.initial import Parameter
from toolnoise.provenance.audit.evidence import Evidence, Found, RunFacts, differences, guarded
from toolnoise.steps import STEPS, Job, writing
from toolnoise.study import kept_weights, layout, runs
from toolnoise.study.cells import MetricFile
from toolnoise.study.entries import records_steps
from toolnoise.study.runs import weight_digests
from toolnoise.training import bitflip

Check = Callable[[Evidence, str, RunFacts], Found]
# Inference may differ in its last bits from one machine to the next: a class that changes with them is no finding.
BORDERLINE = 1 / 1000


def _each_run(check: Check) -> Callable[[Evidence], Found]:
    """A rule that checks the weights of every run that has them, by the name of their file."""

    @functools.wraps(check)
    def over_all(evidence: Evidence) -> Found:
        for run in evidence.runs[0]:
            name = f"{run.path}/weights.npz"
            if name not in evidence.tree.left_out:
                name = evidence.tree.named(name)
                yield from guarded(name, lambda name=name, run=run: check(evidence, name, run))

    return over_all


@_each_run
def final_weights_are_the_histories(evidence: Evidence, name: str, run: RunFacts) -> Found:
    """The weights of every run have the digest in the last row of its history."""
    if evidence.final_weights(run) != run.weights[-1]:
        yield name, f"has weights after epoch {len(run.weights)} that differ from its history"


@_each_run
def snapshots_are_the_histories(evidence: Evidence, name: str, run: RunFacts) -> Found:
    """A run of several cycles has the weights after each finished cycle, with the digests in its history."""
    recipe = run.spec.recipe
    if cycles(recipe) == 1:
        return
    epochs = kept_weights.snapshot_epochs(recipe, len(run.weights))
    for epoch, weights in zip(epochs, evidence.weights(run)[:-1], strict=True):
        if weight_digests(weights)[0] != run.weights[epoch - 1]:
            yield name, f"has weights after epoch {epoch} that differ from its history"


@_each_run
def recorded_steps_are_the_histories(evidence: Evidence, name: str, run: RunFacts) -> Found:
    """A run that records steps has weights after the steps of its recipe; those at an epoch's end have its digest."""
    if not records_steps(run.spec.recipe):
        return
    trained = evidence.whole(run)
    recorded, about = trained.recorded(), trained.record
    if about["recorded_steps"] != list(recorded):
        yield run.name, "has recorded_steps that are not those of its recipe"
    ends = {about["steps_per_epoch"] * epoch: digest for epoch, digest in enumerate(run.weights, 1)}
    for step, tensors in recorded.items():
        weights = {path: tensor for path, tensor in tensors.items() if path != kept_weights.LOGITS}
        if step in ends and weight_digests(weights)[0] != ends[step]:
            yield name, f"has weights after step {step} that differ from its history"


@_each_run
def moved_bits_are_the_drawn(evidence: Evidence, _name: str, run: RunFacts) -> Found:
    """The weight whose bit a run moved follows from its seeds and tensors; runs without `bit` moved none."""
    other = differences({"moved_bit": _drawn(evidence, run)}, {"moved_bit": run.moved_bit})
    if other:
        yield run.name, f"has a moved_bit that does not follow from its seeds and tensors: {', '.join(other)}"


def _drawn(evidence: Evidence, run: RunFacts) -> dict[str, Any] | None:
    if not run.spec.varies("bit"):
        return None
    tensors = evidence.weights(run)[-1].items()
    parameters = [Parameter(path, tensor.shape, path in run.trainable, "", {}) for path, tensor in tensors]
    return bitflip.recorded(bitflip.of_run(parameters, run.spec), run.spec, len(run.weights))


def collected_are_their_parts(evidence: Evidence) -> Found:
    """Every metric file of the whole study has the rows of its parts, in their order, and no others."""
    for name, job in evidence.jobs.items():
        if isinstance(job.place, MetricFile) and evidence.tree.inside(name) in evidence.tree.files:
            yield from guarded(name, lambda name=name, job=job: _collected(evidence, name, job))


def accuracies_are_the_logits(evidence: Evidence) -> Found:
    """The last accuracy in the history of every run is that of its logits."""
    present = evidence.tree.files
    for name, job in evidence.jobs.items():
        # What a training program left has no accuracies of its own.
        predicts = job.verb in writing(layout.LOGITS) and STEPS[job.verb].tooling
        needs = [file for file, _ in (*job.inputs, *job.outputs)] if predicts else []
        # What is left out of a slim copy is named in the verdict, what is missing under other rules.
        if needs and all(evidence.tree.inside(file) in present for file in needs):
            yield from guarded(name, lambda name=name, job=job: _accuracies(evidence, name, job))


def _collected(evidence: Evidence, name: str, job: Job) -> Found:
    heads, bodies = zip(*(_split(evidence.small(part)) for part, _ in job.inputs), strict=True)
    if _split(evidence.small(name)) != (heads[0], b"".join(bodies)):
        yield name, f"does not have the rows of its {len(job.inputs)} parts"


def _split(path: Path) -> tuple[bytes, bytes]:
    """The version and the names of the columns, and the rows."""
    with readable(path, "a metric file"):
        version, _, body = path.read_bytes().partition(b"\n")
    columns, _, rows = body.partition(b"\n")
    return version + b"\n" + columns, rows


def _accuracies(evidence: Evidence, logits: str, job: Job) -> Found:
    named: dict[str, list[str]] = {}
    for name, role in job.inputs:
        named.setdefault(role, []).append(name)
    (data,) = named["data"]
    stack, labels = (
        arrays.read_npy(evidence.path(logits)),
        prepared.targets(evidence.path(data))["test_labels"].reshape(-1),
    )
    records = named["records"]
    if stack.ndim not in (2, 3) or stack.shape[:2] != (len(records), len(labels)):
        raise BadInput(logits, "shape", f"found {stack.shape}", f"{len(records)} runs x {len(labels)} examples")
    for record, layer in zip(records, stack, strict=True):
        yield from guarded(record, lambda record=record, layer=layer: _accuracy(evidence, record, layer, labels))


def _accuracy(evidence: Evidence, record: str, layer: np.ndarray, labels: np.ndarray) -> Found:
    run = runs.read(evidence.small(record))
    history = evidence.tree.named(f"{evidence.tree.inside(record).rpartition('/')[0]}/history.csv")
    evidence.small(history)
    if run.diverged:
        return
    stated, computed = (
        float(run.history()[-1]["test_accuracy"]),
        float((predictions(layer[np.newaxis])[0] == labels).mean()),
    )
    allowed = max(1, int(BORDERLINE * len(labels))) / len(labels)
    if not abs(stated - computed) <= allowed * (1 + 1e-9):
        yield history, f"ends with a test accuracy of {stated:.6g}; that of its logits is {computed:.6g}"
