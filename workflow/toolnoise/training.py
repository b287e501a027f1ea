"""The loop over epochs: engine-neutral, one run a process.

The history says after every epoch how training stands and what the weights are, tensor by tensor, as digests: two
runs can be compared epoch by epoch without keeping their weights. A run whose loss or weights stop being numbers ends
there and is recorded as diverged; that is a result, not an error.
"""

import csv
import hashlib
import importlib
import inspect
import io
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from toolnoise import arrays, engines, files
from toolnoise.datasets import prepared
from toolnoise.engines import Engine, State
from toolnoise.errors import BadInput
from toolnoise.models.initial import Parameter, initial_weights
from toolnoise.plans import plan_epoch, steps_per_epoch
from toolnoise.variants import replicate

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
            self[what] = self.get(what, 0.0) + time.perf_counter() - started


def train(spec: dict[str, Any], data: str | Path, weights: str | Path, history: str | Path, record: str | Path) -> None:
    """Train the run that `spec` describes and write its weights, history and record."""
    timings = Timings()
    with timings.measure("start_up"):
        dataset = prepared.load(data, spec["recipe"]["normalise"])
        steps_per_epoch(spec["recipe"], len(dataset.train.labels))
        engine, observed = start_engine(spec)
    with timings.measure("compile"):
        parameters = build_model(engine, spec, dataset)
        engine.compile(spec["recipe"], dataset.train)
    initial = replicate("init", spec["variant"]["varying"], spec["seed"])
    engine.restore(State(initial_weights(parameters, spec["study_seed"], initial, spec["model"]["name"]), {}, 0))
    rows = list(_epochs(engine, spec, dataset, timings))
    diverged = not np.isfinite([rows[-1]["train_loss"], rows[-1]["test_loss"]]).all()
    arrays.write_npz(weights, engine.weights())
    files.write_text(history, _as_csv(rows))
    files.write_json(
        record,
        {
            "spec": spec,
            "data_sha256": dataset.sha256,
            "status": "diverged" if diverged else "completed",
            "epochs": len(rows),
            "emulated_noise": emulated_noise(spec),
            "trainable": [parameter.path for parameter in parameters if parameter.trainable],
            "observed": observed,
            "seconds": dict(timings),
        },
    )


def start_engine(spec: dict[str, Any]) -> tuple[Engine, dict[str, Any]]:
    """Start the engine of a spec's tooling, deterministic unless the implementation may vary."""
    engine = engines.load(spec["hardware"]["engine"])
    return engine, engine.start(spec["hardware"], deterministic="impl" not in spec["variant"]["varying"])


def build_model(engine: Engine, spec: dict[str, Any], dataset: prepared.Data) -> tuple[Parameter, ...]:
    """Build the spec's network for a data set."""
    model, shape, classes = spec["model"], dataset.train.images.shape[1:], len(dataset.classes)
    builder = _builder(model)
    try:
        inspect.signature(builder).bind(shape, classes, **model["options"])
    except TypeError as error:
        found = f"{model['builder']}: {error}"
        raise BadInput(f"model {model['name']}", "options", found, "allowed: the builder's own") from None
    try:
        return engine.build(builder, model["options"], shape, classes)
    except ValueError as error:
        # Keras's own complaint: images that pooling has used up, a size that a network does not come in, ...
        reason = str(error).strip().partition("\n")[0]
        found = f"{model['builder']} gives no network for images of {' x '.join(map(str, shape))} ({reason})"
        raise BadInput(f"model {model['name']}", "builder", found, "larger images, or another network") from None


def emulated_noise(spec: dict[str, Any]) -> str | None:
    """The kind of implementation noise that a run emulates, if any."""
    noise = spec["hardware"]["impl_noise"]
    return noise if "impl" in spec["variant"]["varying"] and noise != "native" else None


def _epochs(engine: Engine, spec: dict[str, Any], dataset: prepared.Data, timings: Timings) -> Iterator[dict[str, Any]]:
    for epoch in range(spec["recipe"]["epochs"]):
        plan = plan_epoch(spec, len(dataset.train.labels), epoch)
        before = timings.get("training", 0.0)
        with timings.measure("training"):
            result = engine.epoch(plan)
        with timings.measure("evaluation"):
            loss, accuracy = _evaluate(engine.logits(dataset.test.images), dataset.test.labels)
        with timings.measure("digests"):
            whole, tensors = weight_digests(engine.weights())
        yield {
            "epoch": epoch + 1,
            "train_loss": result.loss,
            "train_accuracy": result.accuracy,
            "test_loss": loss,
            "test_accuracy": accuracy,
            "learning_rate": float(plan.rates[-1]),
            "seconds": round(timings["training"] - before, 6),
            "weights_sha256": whole,
            "tensors_sha256": " ".join(digest[:TENSOR_DIGITS] for digest in tensors),
        }
        if not np.isfinite([result.loss, loss]).all():
            return


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
