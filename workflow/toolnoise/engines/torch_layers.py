"""PyTorch without Keras's own work around the calls of layers and in scans, with the same bits.

Keras checks and casts a layer's inputs, carries masks, and passes on whether the network trains. It does so in Python
at every step, which takes longer than all arithmetic of a small network. If none of this is needed, a layer's own
function gives the same bits.

In a scan Keras indexes one position after another. The gradient of each is an array of the whole sequence, mostly
zeros, which takes half of a step of `lstm`. Here the sequence is split once, and its gradient is joined once.
"""

from collections.abc import Callable
from functools import partial
from typing import Any


def forward(keras: Any, model: Any) -> Callable[[Any, bool], Any]:
    """The function of inputs, and of whether the network trains; through Keras if any layer needs that."""
    is_graph = type(model) is keras.src.models.functional.Functional
    if not is_graph or not all(_is_plain(keras, operation) for operation in model.operations):
        return lambda inputs, training: model(inputs, training=training)

    def called(inputs: Any, training: bool) -> Any:
        def function_of(operation: Any) -> Callable[..., Any]:
            trains = isinstance(operation, keras.layers.Layer) and operation._call_has_training_arg
            options = {"training": training} if trains else {}
            # The options that the network keeps for a call may include the layer's default.
            return lambda *arguments, **named: operation.call(*arguments, **named | options)

        outputs = model._run_through_graph(model._standardize_inputs(inputs), operation_fn=function_of)
        return outputs[0] if isinstance(outputs, list | tuple) and len(outputs) == 1 else outputs

    return called


def _is_plain(keras: Any, operation: Any) -> bool:
    """Whether Keras has nothing to do around an operation: a plain layer, or no layer at all, such as an addition.

    A plain layer has no layers inside, makes no mask, keeps Keras's `__call__`, and computes in single precision.
    """
    base, kind = keras.layers.Layer, type(operation)
    if not isinstance(operation, base):
        return True
    is_kerass = kind.__module__.partition(".")[0] == "keras"
    makes_masks = isinstance(operation, keras.layers.Masking) or getattr(operation, "mask_zero", False)
    # Keras's own layers pass masks on; the layers of others may make masks.
    if makes_masks or not (is_kerass or kind.compute_mask is base.compute_mask):
        return False
    is_alone = not list(operation._flatten_layers(include_self=False))
    return is_alone and kind.__call__ is base.__call__ and operation.dtype_policy.name == "float32"


def install_scan(torch: Any, keras: Any) -> None:
    """Make Keras's backend use `_scan` for sequences that are read from start to end."""
    core = keras.src.backend.torch.core
    if not isinstance(core.scan, partial):
        core.scan = partial(_scan, torch, keras, core.scan)


def _scan(  # noqa: ANN202
    torch: Any,
    keras: Any,
    theirs: Callable,
    function: Callable,
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
):
    if xs is None or length is not None or reverse:
        return theirs(function, init, xs, length, reverse, unroll)
    tree, tensor, made = keras.tree, keras.ops.convert_to_tensor, []
    carried = tree.map_structure(tensor, init)
    nothing = [torch.zeros_like(start) for start in tree.flatten(carried)]
    for position in zip(*(tensor(values).unbind() for values in tree.flatten(xs)), strict=True):
        carried, result = function(carried, tree.pack_sequence_as(xs, position))
        made.append(nothing if result is None else result)
    return carried, tree.map_structure(lambda *results: torch.stack(results), *made)
