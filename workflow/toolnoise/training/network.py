"""From a spec to a ready network: engine started, network built and checked, initial weights drawn.

A builder must return a built Keras model that gives one logit per class; for text and masks one per position and class,
for many labels one per label. The loss would take the output of a softmax for logits, and training would still seem to
work.
"""

import importlib
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from toolnoise import engines
from toolnoise.base import arrays
from toolnoise.base.errors import BadInput
from toolnoise.base.noise_sources import replicate_of
from toolnoise.base.spec import Spec
from toolnoise.datasets import prepared
from toolnoise.engines import State
from toolnoise.engines.keras_engine import KerasEngine
from toolnoise.models.initial import Parameter, initial_weights

# Functions at the end of a network whose results are no logits.
NO_LOGITS = ("softmax", "sigmoid")
EXPECTED = "expected a function of (input_shape, classes) that returns a keras.Model"


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
        return engine.build(checked_builder(builder, model, dataset.output_shape), model["options"], shape, classes)
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


def initial_state(parameters: Sequence[Parameter], spec: Spec, base: Sequence[str] = ()) -> State:
    """The initial state of the run that `spec` describes: drawn, except for tensors in the weights of a base."""
    drawn_for = replicate_of("init", spec)
    weights = initial_weights(parameters, spec.study_seed, drawn_for, spec.model.name)
    for path in base:
        weights |= _of_base(path, parameters)
    return State(weights, {}, 0)


def _of_base(path: str, parameters: Sequence[Parameter]) -> dict[str, np.ndarray]:
    """The tensors of a network that are in the weights of a base; all untrained tensors must be among them."""
    trained = arrays.read_npz(path)
    for parameter in parameters:
        tensor = trained.get(parameter.path)
        if tensor is None and parameter.trainable:
            continue
        if tensor is None or tensor.shape != parameter.shape:
            problem = "no such tensor" if tensor is None else f"found shape {tensor.shape}"
            allowed = f"shape {parameter.shape}, as the network that starts from it"
            raise BadInput(path, parameter.path, problem, allowed)
    return {parameter.path: trained[parameter.path] for parameter in parameters if parameter.path in trained}


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
        raise _refusal(model, error) from None


def checked_builder(builder: Callable[..., Any], model: dict[str, Any], scores: tuple[int, ...]) -> Callable[..., Any]:
    """A builder that requires outputs of shape `scores`; any fault of the model's builder or network is one line."""

    def build(shape: tuple[int, ...], classes: int, **options: Any) -> Any:
        try:
            network = builder(shape, classes, **options)
        except (BadInput, ValueError):
            # Keras's own error for images of another size is a ValueError.
            raise
        except (Exception, SystemExit) as error:
            raise _refusal(model, error) from None
        fault, allowed = _fault(network, scores)
        if fault:
            raise BadInput(f"model {model['name']}", "builder", f"{model['builder']} {fault}", allowed)
        return network

    return build


def _refusal(model: dict[str, Any], error: BaseException) -> BadInput:
    """The one-line error for a builder or module that raises an error, with the last place in the user's code."""
    module = sys.modules.get(model["builder"].partition(":")[0])
    # A module whose import fails is not in `sys.modules`; a study's own modules are in its folder.
    folder = Path(module.__file__).parent if module and module.__file__ else Path.cwd()
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if Path(frame.filename).is_relative_to(folder)]
    of_user = [frame for frame in inside if "site-packages" not in frame.filename]
    place = f" ({Path(of_user[-1].filename).name}, line {of_user[-1].lineno})" if of_user else ""
    problem = f"{model['builder']} raises {type(error).__name__}: {error}{place}"
    return BadInput(f"model {model['name']}", "builder", problem, EXPECTED)


def _fault(network: Any, scores: tuple[int, ...]) -> tuple[str, str]:
    """The fault of a network, and what is allowed; empty texts if it has none."""
    import keras

    if not isinstance(network, keras.Model):
        return f"returns a {type(network).__qualname__}", EXPECTED
    if not network.built:
        return "returns a model without weights", "expected a model that begins with keras.Input(input_shape)"
    # A subclass of keras.Model has no outputs until it is called.
    if not (outputs := getattr(network, "outputs", None)):
        return "", ""
    shapes = [tuple(output.shape[1:]) for output in outputs]
    if shapes != [scores]:
        sizes = " and ".join(" x ".join(map(str, shape)) for shape in shapes)
        wanted, unit = " x ".join(map(str, scores)), "position and class" if scores[1:] else "class"
        return f"gives outputs of shape {sizes}", f"expected one output of {wanted} logits, one for each {unit}"
    last = _last(outputs[0])
    if last in NO_LOGITS:
        return f"ends in a {last}", "expected logits: a last layer without an activation"
    return "", ""


def _last(output: Any) -> str:
    """The name of the function that gives an output: a layer's activation, or an operation's own name."""
    operation = output._keras_history.operation
    while getattr(operation, "outputs", None) and hasattr(operation, "layers"):
        operation = operation.outputs[0]._keras_history.operation
    activation = getattr(operation, "activation", None)
    return getattr(activation, "__name__", type(operation).__name__).lower()
