"""A builder, called and checked: what it returns must be a built Keras model that gives one score per class, a logit.

For text and masks it gives one per position and class, for many labels one per label.
A softmax at the end would be taken for logits by the loss, and training would still seem to work.
"""

import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from toolnoise.base.errors import BadInput

# Functions at the end of a network whose results are no logits.
NO_LOGITS = ("softmax", "sigmoid")
EXPECTED = "expected a function of (input_shape, classes) that returns a keras.Model"


def checked(builder: Callable[..., Any], model: dict[str, Any], scores: tuple[int, ...]) -> Callable[..., Any]:
    """The builder of a model that gives `scores`; what is wrong with it, or with its network, is one line."""

    def build(shape: tuple[int, ...], classes: int, **options: Any) -> Any:
        try:
            network = builder(shape, classes, **options)
        except (BadInput, ValueError):
            # Keras's own error for images of another size is a ValueError.
            raise
        except (Exception, SystemExit) as error:
            raise refusal(model, error) from None
        fault, allowed = _fault(network, scores)
        if fault:
            raise BadInput(f"model {model['name']}", "builder", f"{model['builder']} {fault}", allowed)
        return network

    return build


def refusal(model: dict[str, Any], error: BaseException) -> BadInput:
    """The line for a builder, or its module, that raises an error; with the last place in its folder."""
    module = sys.modules.get(model["builder"].partition(":")[0])
    # A module that cannot be imported is in no list of modules; a study's own are in its folder.
    folder = Path(module.__file__).parent if module and module.__file__ else Path.cwd()
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if Path(frame.filename).is_relative_to(folder)]
    of_user = [frame for frame in inside if "site-packages" not in frame.filename]
    place = f" ({Path(of_user[-1].filename).name}, line {of_user[-1].lineno})" if of_user else ""
    problem = f"{model['builder']} raises {type(error).__name__}: {error}{place}"
    return BadInput(f"model {model['name']}", "builder", problem, EXPECTED)


def _fault(network: Any, scores: tuple[int, ...]) -> tuple[str, str]:
    """What is wrong with a network, and what is allowed; nothing if it is in order."""
    import keras

    if not isinstance(network, keras.Model):
        return f"returns a {type(network).__qualname__}", EXPECTED
    if not network.built:
        return "returns a model without weights", "expected a model that begins with keras.Input(input_shape)"
    # A subclass of keras.Model has none: its outputs show when it is called.
    if not (outputs := getattr(network, "outputs", None)):
        return "", ""
    shapes = [tuple(output.shape[1:]) for output in outputs]
    if shapes != [scores]:
        sizes = " and ".join(" x ".join(map(str, shape)) for shape in shapes)
        wanted, each = " x ".join(map(str, scores)), "position and class" if scores[1:] else "class"
        return f"gives outputs of shape {sizes}", f"expected one output of {wanted} logits, one for each {each}"
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
