"""Max-pooling of windows side by side, in JAX on a CPU, with the bits of XLA's own.

XLA's operation visits windows one by one there, which takes half of a step of smallcnn. Here all windows are compared at
once, place by place. Of equal numbers the first is the maximum, as in XLA; but NaN stays NaN, as in other frameworks.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np


def install(jax: Any, backend: Any) -> None:
    """Let Keras's backend pool like this wherever windows lie side by side in pictures with their channels last."""
    theirs = backend.nn.max_pool
    if isinstance(theirs, partial):
        return
    backend.nn.max_pool = partial(_max_pool, _side_by_side(jax), theirs)


def _max_pool(  # noqa: PLR0913 (the arguments are Keras's)
    ours: Callable[..., Any],
    theirs: Callable[..., Any],
    inputs: Any,
    pool_size: int | Sequence[int],
    strides: int | Sequence[int] | None = None,
    padding: str = "valid",
    data_format: str | None = None,
) -> Any:
    size = (pool_size, pool_size) if isinstance(pool_size, int) else tuple(pool_size)
    steps = size if strides is None else (strides, strides) if isinstance(strides, int) else tuple(strides)
    if inputs.ndim == 4 and size == steps and padding == "valid" and data_format in (None, "channels_last"):
        return ours(inputs, size)
    return theirs(inputs, pool_size, strides, padding, data_format)


def _side_by_side(jax: Any) -> Callable[..., Any]:
    """The function of images and the size of a window, with its gradient."""
    jnp = jax.numpy

    def places(images: Any, size: tuple[int, int]) -> list[Any]:
        """The first pixel of every window, the second, and so on; pixels beyond the last window are left out."""
        (batch, height, width, channels), (down, across) = images.shape, size
        lines, columns = height // down, width // across
        whole = images[:, : lines * down, : columns * across]
        cut = whole.reshape(batch, lines, down, columns, across, channels)
        return [cut[:, :, line, :, column] for line, column in np.ndindex(size)]

    @partial(jax.custom_vjp, nondiff_argnums=(1,))
    def pool(images: Any, size: tuple[int, int]) -> Any:
        most, *others = places(images, size)
        for other in others:
            most = jnp.where((other > most) | (other != other), other, most)
        return most

    def backward(size: tuple[int, int], images: Any, gradient: Any) -> tuple[Any]:
        """Give each window's gradient to the first of its largest pixels."""
        most, *others = places(images, size)
        chosen = jnp.zeros(most.shape, jnp.int32)
        for place, other in enumerate(others, 1):
            stays = most >= other
            chosen, most = jnp.where(stays, chosen, place), jnp.where(stays, most, other)
        # XLA adds to zeros, so that none of its zeros is negative.
        parts = [jnp.where((chosen == place) & (gradient != 0), gradient, 0) for place in range(len(others) + 1)]
        batch, lines, columns, channels = gradient.shape
        whole = jnp.stack(parts, 3).reshape(batch, lines, columns, *size, channels).transpose(0, 1, 3, 2, 4, 5)
        whole = whole.reshape(batch, lines * size[0], columns * size[1], channels)
        spare = [(0, there - taken) for there, taken in zip(images.shape, whole.shape, strict=True)]
        return (jnp.pad(whole, spare),)

    pool.defvjp(lambda images, size: (pool(images, size), images), backward)
    return pool
