"""Rules about weights: the final ones and those after cycles and recorded steps agree with the history, and a moved bit
is the drawn one.

Weights are read a second time for this, after their files were hashed. A slim copy has no weights to read.
"""

import functools
from collections.abc import Callable
from typing import Any

from toolnoise.epoch_plan import cycles
from toolnoise.models.initial import Parameter
from toolnoise.study.entries import records_steps
from toolnoise.training import bitflip, kept_weights
from toolnoise.training.runs import weight_digests
from toolnoise.verify.audit.evidence import Evidence, Found, RunFacts, differences, guarded

Check = Callable[[Evidence, str, RunFacts], Found]


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
