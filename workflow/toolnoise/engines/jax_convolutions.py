"""Convolutions for which XLA has no fast kernel on a CPU, in JAX, as products and sums of whole arrays.

XLA visits pixels one by one for a convolution of each channel by itself, and where a kernel is larger than the picture.
Here each place of the kernel gives an array, of the pixels under it at all positions. Sums in another order have other
last bits, so a tooling asks for this: `kernels: products`.
"""

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np


def install(jax: Any, backend: Any) -> None:
    """Let Keras's backend compute such convolutions like this, if pictures have their channels last."""
    for name, fits, ours in (("conv", _is_narrow, _product), ("depthwise_conv", _is_by_channel, _sum)):
        if not isinstance(theirs := getattr(backend.nn, name), partial):
            setattr(backend.nn, name, partial(_convolved, jax, backend, theirs, fits, ours))


def _convolved(  # noqa: ANN202
    jax: Any,
    backend: Any,
    theirs: Callable,
    fits: Callable,
    ours: Callable,
    inputs: Any,
    kernel: Any,
    strides: int | tuple[int, ...] = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: int | tuple[int, ...] = 1,
):
    images, weights = backend.convert_to_tensor(inputs), backend.convert_to_tensor(kernel)
    is_plain = images.ndim == 4 and data_format in (None, "channels_last") and np.all(np.equal(dilation_rate, 1))
    if not is_plain or not fits(images, weights, padding):
        return theirs(inputs, kernel, strides, padding, data_format, dilation_rate)
    steps = 2 * (strides,) if isinstance(strides, int) else tuple(strides)
    return ours(jax.numpy, _under(jax, images, weights.shape[:2], steps, padding.upper()), weights)


def _is_narrow(images: Any, weights: Any, padding: str) -> bool:
    """Whether a picture, padded, is smaller than the kernel, whose channels are all of the picture's."""
    is_smaller = images.shape[1] < weights.shape[0] or images.shape[2] < weights.shape[1]
    return is_smaller and padding == "same" and images.shape[3] == weights.shape[2]


def _is_by_channel(images: Any, weights: Any, padding: str) -> bool:
    """Whether each channel gives one, and the kernel has a position."""
    has_position = images.shape[1] >= weights.shape[0] and images.shape[2] >= weights.shape[1]
    return weights.shape[3] == 1 and (has_position or padding == "same")


def _product(jnp: Any, under: list[Any], weights: Any) -> Any:
    return jnp.concatenate(under, -1) @ weights.reshape(-1, weights.shape[3])


def _sum(jnp: Any, under: list[Any], weights: Any) -> Any:
    return reduce(jnp.add, map(jnp.multiply, under, weights.reshape(len(under), -1)))


def _under(jax: Any, images: Any, size: tuple[int, int], steps: tuple[int, int], padding: str) -> list[Any]:
    """The pixels under each place of a kernel of a size, at all its positions."""
    sides = jax.lax.padtype_to_pads(images.shape[1:3], size, steps, padding)
    padded = jax.numpy.pad(images, ((0, 0), *sides, (0, 0)))
    down, across = (padded.shape[1] - size[0] + 1, padded.shape[2] - size[1] + 1)
    return [
        padded[:, line : line + down : steps[0], column : column + across : steps[1]]
        for line, column in np.ndindex(size)
    ]
