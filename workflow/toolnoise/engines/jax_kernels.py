"""Kernels in JAX where XLA's are slow on a CPU: convolutions as products and sums of whole arrays, and max-pooling.

XLA visits pixels one by one for a convolution of each channel by itself, and where a kernel is larger than the picture.
Here each place of the kernel gives an array, of the pixels under it at all positions. Sums in another order have other
last bits, so a tooling asks for this: `kernels: products`.

Max-pooling of windows side by side has the numbers and gradients of XLA's own, which visits windows one by one and so
takes half of a step of smallcnn. Here all windows are compared at once, place by place. As in XLA, the first of the
largest pixels gets a window's gradient. Unlike there, NaN stays NaN, and the sign of a zero does not depend on the
program around.
"""

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np


def install_convolutions(jax: Any, backend: Any) -> None:
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


def install_pooling(jax: Any, backend: Any) -> None:
    """Let Keras's backend pool like this wherever windows lie side by side in pictures with their channels last."""
    if not isinstance(backend.nn.max_pool, partial):
        backend.nn.max_pool = partial(_max_pool, jax, backend.nn.max_pool)


def _max_pool(jax, theirs, inputs, pool_size, strides=None, padding="valid", data_format=None):  # noqa: ANN001, ANN202
    size, steps = (2 * (n,) if isinstance(n, int) else n and tuple(n) for n in (pool_size, strides))
    if inputs.ndim == 4 and steps in (None, size) and padding == "valid" and data_format in (None, "channels_last"):
        return side_by_side(jax, size)(inputs)
    return theirs(inputs, pool_size, strides, padding, data_format)


def side_by_side(jax: Any, size: tuple[int, int]) -> Any:
    """The function of images that pools windows of a size, with its gradient."""
    jnp, (down, across) = jax.numpy, size

    def places(images: Any) -> list[Any]:
        """The first pixel of every window, the second, and so on; pixels beyond the last window are left out."""
        ends = [images.shape[1] // down * down, images.shape[2] // across * across]
        return [images[:, line : ends[0] : down, column : ends[1] : across] for line, column in np.ndindex(size)]

    @jax.custom_vjp
    def pool(images: Any) -> Any:
        return reduce(jnp.maximum, places(images))

    def backward(images: Any, gradient: Any) -> tuple[Any]:
        most, *others = places(images)
        chosen = jnp.zeros(most.shape, jnp.int32)
        for place, other in enumerate(others, 1):
            stays = most >= other
            chosen, most = jnp.where(stays, chosen, place), jnp.where(stays, most, other)
        # XLA adds to zeros, so that none of its zeros is negative.
        parts = [jnp.where((chosen == place) & (gradient != 0), gradient, 0) for place in range(down * across)]
        lines, columns = gradient.shape[1] * down, gradient.shape[2] * across
        whole = jnp.stack(parts, 3).reshape(*gradient.shape[:3], down, across, -1).transpose(0, 1, 3, 2, 4, 5)
        spare = ((0, 0), (0, images.shape[1] - lines), (0, images.shape[2] - columns), (0, 0))
        return (jnp.pad(whole.reshape(len(images), lines, columns, -1), spare),)

    pool.defvjp(lambda images: (pool(images), images), backward)
    return pool
