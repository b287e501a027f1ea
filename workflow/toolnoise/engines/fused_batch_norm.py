"""Batch normalisation of pictures by the framework's own kernels, one forward and one backward.

Keras composes it of a dozen operations, each of which goes over the whole batch. Sums in another order have other last
bits, so a tooling asks for this: `fused_batch_norm: true`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

# Of pictures, their scale and offset by channel, and an epsilon: the pictures normalised, their means and variances.
Fused = Callable[[Any, Any, Any, float], tuple[Any, Any, Any]]


def install(keras: Any, model: Any, fused: Fused) -> None:
    """Let a model's layers train with this function where they normalise pictures by channel."""
    for layer in model._flatten_layers():
        is_kerass = type(layer) is keras.layers.BatchNormalization and layer.dtype_policy.name == "float32"
        if is_kerass and not isinstance(layer.call, partial):
            layer.call = partial(_normalised, keras.ops, layer, layer.call, fused)


def _normalised(
    ops: Any, layer: Any, theirs: Callable, fused: Fused, inputs: Any, training: bool = False, mask: Any = None
) -> Any:
    is_by_channel = len(inputs.shape) == 4 and layer.axis in (-1, 3) and not layer.renorm
    if not (training and layer.trainable and is_by_channel and mask is None):
        return theirs(inputs, training=training, mask=mask)
    scale = layer.gamma.value if layer.scale else ops.ones_like(layer.moving_mean)
    offset = layer.beta.value if layer.center else ops.zeros_like(layer.moving_mean)
    outputs, *found = fused(inputs, scale, offset, layer.epsilon)
    for moving, of_batch in zip((layer.moving_mean, layer.moving_variance), found, strict=True):
        moving.assign(moving * layer.momentum + of_batch * (1.0 - layer.momentum))
    return outputs
