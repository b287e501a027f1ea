"""The loop over epochs: engine-neutral, one run a process.

The history says after every epoch how training stands and what the weights are, tensor by tensor, as digests: two
runs can be compared epoch by epoch without keeping their weights. A run whose loss or weights stop being numbers ends
there and is recorded as diverged; that is a result, not an error. A run that was interrupted goes on from its last
checkpoint and ends with the bits that it would have had. A recipe of several cycles keeps the weights after each.
"""

import csv
import hashlib
import importlib
import inspect
import io
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from toolnoise import engines
from toolnoise.base import arrays, files
from toolnoise.base.errors import BadInput
from toolnoise.datasets import prepared
from toolnoise.engines import Engine, State
from toolnoise.epoch_plan import plan_epoch, steps_per_epoch
from toolnoise.models.initial import Parameter, initial_weights
from toolnoise.study.variants import replicate
from toolnoise.training import bitflip
from toolnoise.training.checkpoints import Checkpoints, Progress
from toolnoise.training.snapshots import length, packed

HISTORY = (
    "epoch",
    "train_loss",
    "train_accuracy",
    "test_loss",
    "test_accuracy",
    "learning_rate",
    "seconds",
    "weights_sha256",
    "tensors_sha256",
    "draws_sha256",
)
TENSOR_DIGITS = 12


class Timings(dict[str, float]):
    """Seconds by what they went into."""

    @contextmanager
    def measure(self, what: str) -> Iterator[None]:
        """Add the seconds of the block to `what`."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.add({what: time.perf_counter() - started})

    def add(self, seconds: Mapping[str, float]) -> None:
        """Add seconds that were measured elsewhere."""
        for what, value in seconds.items():
            self[what] = self.get(what, 0.0) + value


def train(
    spec: dict[str, Any],
    data: str | Path,
    code: str,
    weights: str | Path,
    history: str | Path,
    record: str | Path,
    checkpoint: str | Path,
) -> dict[str, Any]:
    """Train the run that `spec` describes; write its weights, history and record; return what was observed.

    `code` is the digest of what trains. An interrupted run of the same spec, data and code goes on where `checkpoint`
    has it; the checkpoint stays, until the caller has the results safe.
    """
    timings = Timings()
    with timings.measure("start_up"):
        dataset = prepared.load(data, spec["recipe"]["normalise"])
        steps_per_epoch(spec["recipe"], len(dataset.train.labels))
        engine, observed = start_engine(spec)
    with timings.measure("compile"):
        parameters = build_model(engine, spec, dataset)
        engine.compile(spec["recipe"], dataset.train)
    checkpoints = Checkpoints(checkpoint, _identity(spec, dataset, code, observed))
    initial = initial_state(parameters, spec)
    engine.restore(initial)
    kept = checkpoints.read(engine.state, lambda tensors: weight_digests(tensors)[0])
    progress = kept or Progress(initial, [], {}, [], [])
    if kept:
        engine.restore(kept.state)
    if progress.rows:
        timings.add(progress.seconds)
        progress.resumed.append(len(progress.rows))
        print(f"goes on after epoch {len(progress.rows)} of {spec['recipe']['epochs']}", flush=True)
    rows, snapshots, move = progress.rows, progress.snapshots, bitflip.of_run(parameters, spec)
    while not _has_ended(rows, spec["recipe"]["epochs"]):
        with timings.measure("checkpoints"):
            checkpoints.write(lambda: Progress(engine.state(), rows, dict(timings), progress.resumed, snapshots))
        if move and len(rows) == spec["variant"]["bit_after"]:
            state = engine.state()
            engine.restore(state._replace(weights=move.made(state.weights)))
        rows.append(_epoch(engine, spec, dataset, timings, len(rows)))
        if not _has_ended(rows, spec["recipe"]["epochs"]) and len(rows) % length(spec["recipe"]) == 0:
            snapshots.append(engine.weights())
        print(_told(rows[-1], spec["recipe"]["epochs"]), flush=True)
    arrays.write_npz(weights, {**engine.weights(), **packed(snapshots)})
    files.write_text(history, _as_csv(rows))
    files.write_json(
        record,
        {
            "spec": spec,
            "data_sha256": dataset.sha256,
            "initial_sha256": weight_digests(initial.weights)[0],
            "status": "diverged" if _has_diverged(rows[-1]) else "completed",
            "epochs": len(rows),
            "resumed_after": progress.resumed,
            "emulated_noise": emulated_noise(spec),
            "moved_bit": bitflip.recorded(move, spec, len(rows)),
            "trainable": [parameter.path for parameter in parameters if parameter.trainable],
            "observed": observed,
            "seconds": dict(timings),
        },
    )
    return observed


def start_engine(spec: dict[str, Any]) -> tuple[Engine, dict[str, Any]]:
    """Start the engine of a spec's tooling, deterministic unless the implementation may vary."""
    engine = engines.load(spec["hardware"]["engine"])
    return engine, engine.start(spec["hardware"], deterministic="impl" not in spec["variant"]["varying"])


def build_model(engine: Engine, spec: dict[str, Any], dataset: prepared.Data) -> tuple[Parameter, ...]:
    """Build the spec's network for a data set."""
    model, shape, classes = spec["model"], dataset.train.shape, len(dataset.classes)
    builder = _builder(model)
    try:
        inspect.signature(builder).bind(shape, classes, **model["options"])
    except TypeError as error:
        found = f"{model['builder']}: {error}"
        raise BadInput(f"model {model['name']}", "options", found, "allowed: the builder's own") from None
    try:
        return engine.build(builder, model["options"], shape, classes)
    except ValueError as error:
        # Images that pooling has used up, a size that a network does not come in, ...
        found = f"{model['builder']} gives no network for images of {' x '.join(map(str, shape))} ({_reason(error)})"
        raise BadInput(f"model {model['name']}", "builder", found, "larger images, or another network") from None


def _reason(error: ValueError) -> str:
    """The line of Keras's complaint that says what is wrong, without its colours."""
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line).strip() for line in str(error).splitlines()]
    told = [line for line in lines if line and not line.startswith("Exception encountered")]
    return told[0] if told else type(error).__name__


def emulated_noise(spec: dict[str, Any]) -> str | None:
    """The kind of implementation noise that a run emulates, if any."""
    noise = spec["hardware"]["impl_noise"]
    return noise if "impl" in spec["variant"]["varying"] and noise != "native" else None


def initial_state(parameters: Sequence[Parameter], spec: dict[str, Any]) -> State:
    """Where the run that `spec` describes starts from."""
    drawn_for = replicate("init", spec["variant"]["varying"], spec["seed"])
    return State(initial_weights(parameters, spec["study_seed"], drawn_for, spec["model"]["name"]), {}, 0)


def _identity(spec: dict[str, Any], dataset: prepared.Data, code: str, observed: dict[str, Any]) -> dict[str, Any]:
    """All that an epoch's bits follow from, but for its plan: what a checkpoint must share with the run it is for."""
    return {
        "engine": spec["hardware"]["engine"],
        "spec": files.canonical_sha256(spec),
        "data": dataset.sha256,
        "code": code,
        "device": observed["device"],
        "driver": observed.get("driver", ""),
        "versions": observed["versions"],
    }


def _epoch(
    engine: Engine, spec: dict[str, Any], dataset: prepared.Data, timings: Timings, epoch: int
) -> dict[str, Any]:
    plan = plan_epoch(spec, len(dataset.train.labels), epoch, dataset.train.margin)
    before = timings.get("training", 0.0)
    with timings.measure("training"):
        result = engine.epoch(plan)
    with timings.measure("evaluation"):
        loss, accuracy = _evaluate(engine.logits(dataset.test), dataset.test.labels)
    with timings.measure("digests"):
        whole, tensors = weight_digests(engine.weights())
    return {
        "epoch": epoch + 1,
        "train_loss": result.loss,
        "train_accuracy": result.accuracy,
        "test_loss": loss,
        "test_accuracy": accuracy,
        "learning_rate": float(plan.rates[-1]),
        "seconds": round(timings["training"] - before, 6),
        "weights_sha256": whole,
        "tensors_sha256": " ".join(digest[:TENSOR_DIGITS] for digest in tensors),
        "draws_sha256": plan.digest(),
    }


def _has_ended(rows: list[dict[str, Any]], epochs: int) -> bool:
    return len(rows) == epochs or bool(rows and _has_diverged(rows[-1]))


def _has_diverged(row: dict[str, Any]) -> bool:
    return not np.isfinite([row["train_loss"], row["test_loss"]]).all()


def _told(row: dict[str, Any], epochs: int) -> str:
    return (
        f"epoch {row['epoch']} of {epochs}: train loss {row['train_loss']:.4g}, "
        f"test accuracy {row['test_accuracy']:.4f}, {row['seconds']:.1f} s"
    )


def weight_digests(weights: dict[str, np.ndarray]) -> tuple[str, list[str]]:
    """Digest of each tensor's bytes, in order, and of all of them."""
    tensors = [hashlib.sha256(np.ascontiguousarray(tensor).data).hexdigest() for tensor in weights.values()]
    return hashlib.sha256("".join(tensors).encode()).hexdigest(), tensors


def _evaluate(logits: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    logits = logits.astype(np.float64)
    top = logits.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        losses = np.log(np.exp(logits - top).sum(axis=1)) + top[:, 0] - logits[np.arange(len(labels)), labels]
    return float(losses.mean()), float((logits.argmax(axis=1) == labels).mean())


def _builder(model: dict[str, Any]) -> Callable[..., Any]:
    module, _, function = model["builder"].partition(":")
    # A study may name modules that lie in the folder it runs in, whatever program was started.
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)
    try:
        return getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise BadInput(f"model {model['name']}", "builder", f"{model['builder']}: {error}") from None


def _as_csv(rows: list[dict[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, HISTORY, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
