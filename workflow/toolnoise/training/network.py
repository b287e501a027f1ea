"""From a spec to a ready network: engine started, network built, initial weights drawn."""

import importlib
import inspect
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from toolnoise import engines
from toolnoise.base.errors import BadInput
from toolnoise.base.noise_sources import replicate
from toolnoise.base.spec import Spec
from toolnoise.datasets import prepared
from toolnoise.engines import State
from toolnoise.engines.keras_engine import KerasEngine
from toolnoise.models.checked import checked, refusal
from toolnoise.models.initial import Parameter, initial_weights


def start_engine(spec: Spec) -> tuple[KerasEngine, dict[str, Any]]:
    """Start the engine of a spec's tooling, deterministic unless the implementation may vary."""
    engine = engines.load(spec.hardware.engine)
    return engine, engine.start(spec.hardware.json, deterministic=not spec.varies("impl"))


def build_model(engine: KerasEngine, spec: Spec, dataset: prepared.Data) -> tuple[Parameter, ...]:
    """Build the spec's network for a data set."""
    model, shape, classes = spec.model.json, dataset.train.shape, dataset.outputs
    builder = _builder(model)
    try:
        inspect.signature(builder).bind(shape, classes, **model["options"])
    except TypeError as error:
        problem = f"{model['builder']}: {error}"
        raise BadInput(f"model {model['name']}", "options", problem, "allowed: the builder's own") from None
    try:
        return engine.build(checked(builder, model, dataset.output_shape), model["options"], shape, classes)
    except ValueError as error:
        # For example, the images are too small for its pooling, or the network does not come in this size.
        size = " x ".join(map(str, shape))
        inputs, other = f"images of {size}", "larger images"
        if len(shape) == 1:
            inputs, other = f"{size} tokens", "another length"
        problem = f"{model['builder']} cannot build a network for {inputs} ({_reason(error)})"
        raise BadInput(f"model {model['name']}", "builder", problem, f"{other}, or another network") from None


def _reason(error: ValueError) -> str:
    """The line of Keras's error that gives the reason, without colour codes."""
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line).strip() for line in str(error).splitlines()]
    reasons = [line for line in lines if line and not line.startswith("Exception encountered")]
    return reasons[0] if reasons else type(error).__name__


def emulated_noise(spec: Spec) -> str | None:
    """The kind of implementation noise that a run emulates, if any."""
    noise = spec.hardware.impl_noise
    return noise if spec.varies("impl") and noise != "native" else None


def initial_state(parameters: Sequence[Parameter], spec: Spec) -> State:
    """The initial state of the run that `spec` describes."""
    drawn_for = replicate("init", spec)
    return State(initial_weights(parameters, spec.study_seed, drawn_for, spec.model.name), {}, 0)


def _builder(model: dict[str, Any]) -> Callable[..., Any]:
    module, _, function = model["builder"].partition(":")
    # A study may name modules in its working folder, whichever program was started.
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)
    try:
        return getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise BadInput(f"model {model['name']}", "builder", f"{model['builder']}: {error}") from None
    except (Exception, SystemExit) as error:
        raise refusal(model, error) from None
