"""A network's layers in PyTorch, without what Keras does around each of their calls.

Keras checks and casts what a layer gets, carries masks, and tells the layers inside whether they train: in Python, at
every step, which takes longer than all arithmetic of a small network. Where there is nothing to cast, to carry or to
tell, a layer's own function gives the same bits.
"""

from collections.abc import Callable
from typing import Any


def forward(keras: Any, model: Any) -> Callable[[Any, bool], Any]:
    """The function of inputs, and of whether the network trains; through Keras if any layer needs that."""
    if type(model) is not keras.src.models.functional.Functional:
        return lambda inputs, training: model(inputs, training=training)
    if not all(_is_plain(keras, operation) for operation in model.operations):
        return lambda inputs, training: model(inputs, training=training)

    def called(inputs: Any, training: bool) -> Any:
        def function_of(operation: Any) -> Callable[..., Any]:
            trains = isinstance(operation, keras.layers.Layer) and operation._call_has_training_arg
            told = {"training": training} if trains else {}
            # A layer's default may be among what the network keeps for its call.
            return lambda *given, **named: operation.call(*given, **named | told)

        given = model._run_through_graph(model._standardize_inputs(inputs), operation_fn=function_of)
        return given[0] if isinstance(given, list | tuple) and len(given) == 1 else given

    return called


def _is_plain(keras: Any, operation: Any) -> bool:
    """Whether an operation is one layer in single precision, called as Keras calls it, without a mask; or no layer."""
    base = keras.layers.Layer
    if not isinstance(operation, base):
        return isinstance(operation, keras.Operation)
    kind = type(operation)
    masks = isinstance(operation, keras.layers.Masking) or getattr(operation, "mask_zero", False)
    if kind.__module__.partition(".")[0] != "keras":
        masks = masks or kind.compute_mask is not base.compute_mask
    is_alone = not list(operation._flatten_layers(include_self=False))
    is_usual = kind.__call__ is base.__call__ and operation.dtype_policy.name == "float32"
    return is_alone and is_usual and not masks
