"""Max-pooling in JAX, where XLA's is slow on a CPU.

For windows side by side, it gives the numbers and gradients of XLA's max-pooling, which visits windows one by one and
so takes half of a step of smallcnn. Here all windows are compared at once, place by place. As in XLA, the first of the
largest pixels gets a window's gradient. Unlike in XLA, NaN stays NaN, and the sign of a zero does not depend on the
surrounding program.
"""

from functools import partial, reduce
from typing import Any

import numpy as np


def install_pooling(jax: Any, backend: Any) -> None:
    """Make Keras's backend use `side_by_side` if windows lie side by side in images with their channels last."""
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
