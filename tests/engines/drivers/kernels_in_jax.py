"""Pools in JAX by this program and by XLA: prints where they agree."""

import json

import jax
import numpy as np

from toolnoise.engines import jax_kernels

SHAPES = [((4, 8, 8, 3), (2, 2)), ((2, 7, 9, 5), (2, 2)), ((3, 9, 7, 1), (3, 2)), ((1, 4, 6, 2), (1, 3))]


def agreement(shape, size, dtype):
    """Whether the numbers are equal, and the bits of the gradients; many numbers are equal, zeros have both signs."""
    draw = np.random.default_rng(7)
    images = draw.integers(-2, 3, shape).astype(np.float32) * draw.choice([1, -1, 0.5, 0, -0.0], shape)
    window = (1, *size, 1)

    def theirs(images):
        return jax.lax.reduce_window(images, -np.inf, jax.lax.max, window, window, "VALID")

    images = jax.numpy.asarray(images, dtype)
    gradient = draw.normal(size=theirs(images).shape) * draw.choice([1, -1, 0, -0.0], theirs(images).shape)
    gradient = jax.numpy.asarray(gradient, dtype)
    given = []
    for pool in (jax_kernels.side_by_side(jax, size), theirs):
        made, back = jax.jit(lambda images, pool=pool: jax.vjp(pool, images))(images)
        given.append((np.asarray(made), np.asarray(back(gradient)[0])))
    (mine, my_gradient), (wanted, its_gradient) = given
    # Equal zeros may have two signs: XLA's choice depends on the program around.
    return [np.array_equal(mine, wanted), my_gradient.tobytes() == its_gradient.tobytes()]


class Backend:
    """What stands for Keras's: it gives back what it was asked."""

    class nn:  # noqa: N801
        """Its operations."""

        @staticmethod
        def max_pool(images, *arguments):
            """Leave the images as they are."""
            return [images.shape, *arguments]


holes = np.zeros((1, 2, 4, 1), np.float32)
holes[0, 0, 0], holes[0, 1, 3] = np.nan, np.nan
jax_kernels.install_pooling(jax, Backend)
own_pool = Backend.nn.max_pool
jax_kernels.install_pooling(jax, Backend)
images = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)
others = [((2, 2), (1, 1), "valid", None), ((2, 2), None, "same", None), (2, 2, "valid", "channels_first")]
pooled = {
    "agreement": [agreement(shape, size, dtype) for shape, size in SHAPES for dtype in ("float32", "bfloat16")],
    "holes": np.isnan(jax_kernels.side_by_side(jax, (2, 2))(holes)).tolist(),
    "installed once": Backend.nn.max_pool is own_pool,
    "by it": own_pool(images, 2, padding="valid").tolist(),
    "others": [own_pool(images, *given) for given in others],
}
print(json.dumps(pooled))
