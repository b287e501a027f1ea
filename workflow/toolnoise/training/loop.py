"""The loop over epochs: engine-neutral, one run per process.

After every epoch the history records losses and accuracies and, as digests, the weights tensor by tensor: two runs can
be compared epoch by epoch without keeping their weights. A run whose training or test loss is no longer finite ends
there and is recorded as diverged; that is a result, not an error. An interrupted run resumes from its last checkpoint
and ends with the same bits as without the interruption. If a recipe has several cycles, the weights after each are
kept. With `record_steps`, the weights after steps 1, 2, 4, 8, ... are kept with their test logits.
"""

import csv
import io
from collections.abc import Iterable, Sequence
from importlib import metadata
from typing import Any

import numpy as np

from toolnoise.base import arrays, code_digest, files
from toolnoise.base.job import Aside, Input, Inputs, Output, Timings
from toolnoise.base.spec import Spec
from toolnoise.datasets import prepared
from toolnoise.engines import EpochResult, Weights
from toolnoise.engines.keras_engine import KerasEngine
from toolnoise.epoch_plan import Plan, cycle_length, plan_epoch, steps_per_epoch
from toolnoise.study import runs
from toolnoise.study.entries import records_steps
from toolnoise.training import bitflip
from toolnoise.training.checkpoints import Checkpoints, Progress
from toolnoise.training.network import build_model, emulated_noise, initial_state, start_engine

HISTORY = ("epoch", *runs.NUMBERS, *runs.DIGESTS)
# The first test examples: with more, recording would take more than a twentieth of a short training.
RECORDED_EXAMPLES = 256


def train(
    spec: Spec,
    data: Input,
    base: Inputs = (),
    *,
    weights: Output,
    history: Output,
    record: Output,
    checkpoint: Aside,
) -> dict[str, Any]:
    """Train the run that `spec` describes; write its weights, history and record; return what was observed.

    `base` has the weights of the run that this one starts from, if there is one.
    An interrupted run of the same spec, data and code resumes from `checkpoint`. The checkpoint stays until the caller
    has stored the results safely.
    """
    timings = Timings()
    with timings.measure("start_up"):
        dataset = prepared.load(data, spec.recipe["normalise"])
        steps_per_epoch(spec.recipe, len(dataset.train))
        engine, observed = start_engine(spec)
        if dataset.train.boxes:  # Pillow's decoder decides bits, too
            observed["versions"]["pillow"] = metadata.version("pillow")
    with timings.measure("compile"):
        parameters = build_model(engine, spec, dataset)
        engine.compile(spec.recipe, dataset.train)
        recording = Recording(engine, spec.recipe, dataset)
    checkpoints = Checkpoints(checkpoint, _identity(spec, dataset, base, observed))
    initial = initial_state(parameters, spec, base)
    engine.restore(initial)
    kept = checkpoints.read()
    progress = kept or Progress(initial, [], {}, [], [], [])
    if kept:
        engine.restore(kept.state)
    if progress.rows:
        timings.update(progress.seconds)
        progress.resumed.append(len(progress.rows))
        print(f"goes on after epoch {len(progress.rows)} of {spec.recipe['epochs']}", flush=True)
    rows, snapshots, move = progress.rows, progress.snapshots, bitflip.of_run(parameters, spec)
    recording.recorded = progress.recorded
    while not _has_ended(rows, spec.recipe["epochs"]):
        with timings.measure("checkpoints"):
            checkpoints.write(lambda: progress._replace(state=engine.state(), seconds=dict(timings)))
        if move and len(rows) == spec.variant.bit_after:
            state = engine.state()
            engine.restore(state._replace(weights=move.made(state.weights)))
        rows.append(_epoch(recording, spec, dataset, timings, len(rows)))
        if not _has_ended(rows, spec.recipe["epochs"]) and len(rows) % cycle_length(spec.recipe) == 0:
            snapshots.append(engine.weights())
        row = rows[-1]
        measured = f"train loss {row['train_loss']:.4g}, test accuracy {row['test_accuracy']:.4f}"
        print(f"epoch {row['epoch']} of {spec.recipe['epochs']}: {measured}, {row['seconds']:.1f} s", flush=True)
    steps = runs.packed_weights(recording.recorded, runs.OF_STEPS)
    arrays.write_npz(weights, {**engine.weights(), **runs.packed_weights(snapshots), **steps})
    files.write_text(history, _as_csv(rows))
    files.write_json(
        record,
        {
            "spec": spec.as_json(),
            "data_sha256": dataset.sha256,
            "initial_sha256": runs.weight_digests(initial.weights)[0],
            "status": "diverged" if _has_diverged(rows[-1]) else "completed",
            "epochs": len(rows),
            "resumed_after": progress.resumed,
            "emulated_noise": emulated_noise(spec),
            "moved_bit": bitflip.record_of_move(move, spec, len(rows)),
            **recording.about(),
            "trainable": [parameter.path for parameter in parameters if parameter.trainable],
            "observed": observed,
            "seconds": dict(timings),
        },
    )
    return observed


class Recording:
    """The recorder of a run's steps; it records nothing unless the recipe asks for it.

    `recorded` has the tensors and logits of the steps so far, and grows.
    """

    def __init__(self, engine: KerasEngine, recipe: dict[str, Any], dataset: prepared.Data) -> None:
        self.engine = engine
        self.recorded: list[Weights] = []
        self.steps_per_epoch = steps_per_epoch(recipe, len(dataset.train))
        self.steps = runs.recording_steps(recipe["epochs"] * self.steps_per_epoch) if records_steps(recipe) else []
        self.test = dataset.test.first(max(1, RECORDED_EXAMPLES // dataset.test.units))
        if self.steps:
            # XLA compiles for this number of examples: now, not between two steps.
            engine.logits(self.test)

    def epoch(self, plan: Plan, before: int) -> EpochResult:
        """Train the epoch that follows `before` epochs."""
        if not self.steps:
            return self.engine.epoch(plan)
        if not self.recorded:
            self._record()
        steps = [step - before * self.steps_per_epoch for step in self.steps]
        return self.engine.epoch(plan, [step for step in steps if 0 < step <= self.steps_per_epoch], self._record)

    def about(self) -> dict[str, Any]:
        """The entries on recorded steps in the run's record."""
        if not self.steps:
            return {}
        return {"steps_per_epoch": self.steps_per_epoch, "recorded_steps": self.steps[: len(self.recorded)]}

    def _record(self) -> None:
        self.recorded.append(self.engine.weights() | {runs.LOGITS: self.engine.logits(self.test)})


def _identity(spec: Spec, dataset: prepared.Data, base: Sequence[str], observed: dict[str, Any]) -> dict[str, Any]:
    """Everything that determines an epoch's bits, except its plan: a checkpoint must share it with the run."""
    return {
        "engine": spec.hardware.engine,
        "spec": files.canonical_sha256(spec.as_json()),
        "data": dataset.sha256,
        "base": [files.sha256(path) for path in base],
        "code": code_digest.digest_of_code(__name__, *code_digest.named_by(spec)),
        "device": observed["device"],
        "driver": observed.get("driver", ""),
        "versions": observed["versions"],
    }


def _epoch(recording: Recording, spec: Spec, dataset: prepared.Data, timings: Timings, epoch: int) -> dict[str, Any]:
    engine = recording.engine
    plan = plan_epoch(spec, len(dataset.train), epoch, dataset.train.margin, dataset.train.boxes)
    before = timings.get("training", 0.0)
    with timings.measure("training"):
        result = recording.epoch(plan, epoch)
    seconds = timings["training"] - before
    with timings.measure("evaluation"):
        loss, accuracy = _evaluate(engine.scores(dataset.test), dataset.test.labels)
    with timings.measure("digests"):
        whole, tensors = runs.weight_digests(engine.weights())
    return {
        "epoch": epoch + 1,
        "train_loss": result.loss,
        "train_accuracy": result.accuracy,
        "test_loss": loss,
        "test_accuracy": accuracy,
        "learning_rate": float(plan.rates[-1]),
        "seconds": round(seconds, 6),
        "weights_sha256": whole,
        "tensors_sha256": " ".join(digest[: runs.TENSOR_DIGITS] for digest in tensors),
        "draws_sha256": plan.digest(),
    }


def _has_ended(rows: list[dict[str, Any]], epochs: int) -> bool:
    return len(rows) == epochs or bool(rows and _has_diverged(rows[-1]))


def _has_diverged(row: dict[str, Any]) -> bool:
    return not np.isfinite([row["train_loss"], row["test_loss"]]).all()


def _evaluate(batches: Iterable[tuple[slice, np.ndarray]], labels: np.ndarray) -> tuple[float, float]:
    losses, right = np.empty(len(labels)), np.empty(len(labels), bool)
    for units, scores in batches:
        logits, wanted = scores.astype(np.float64), labels[units]
        top = logits.max(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):
            of_label = logits[np.arange(len(wanted)), wanted]
            losses[units] = np.log(np.exp(logits - top).sum(axis=1)) + top[:, 0] - of_label
        right[units] = logits.argmax(axis=1) == wanted
    return float(losses.mean()), float(right.mean())


def _as_csv(rows: list[dict[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, HISTORY, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
