"""Convolutions and pools in JAX, by this program and by XLA, and prints how far apart they are.

Convolutions are Keras's, before and after `jax_kernels.install_convolutions`.
"""

import json

import jax
import keras
import numpy as np

from toolnoise.engines import jax_kernels

assert keras.config.backend() == "jax"
backend = keras.src.backend
# What they are called with, pictures and kernels; whether they are products and sums then.
CASES = [
    ("conv", (2, 2, 2, 3), (3, 3, 3, 5), {"padding": "same"}, True),
    ("conv", (2, 5, 1, 3), (3, 4, 3, 5), {"padding": "same", "strides": (2, 1)}, True),
    ("conv", (2, 1, 7, 2), (5, 3, 2, 4), {"padding": "same", "strides": 2}, True),
    ("conv", (2, 3, 3, 3), (3, 3, 3, 5), {"padding": "same"}, False),
    ("conv", (2, 2, 2, 4), (3, 3, 2, 6), {"padding": "same"}, False),
    ("conv", (2, 2, 2, 3), (3, 3, 3, 5), {"padding": "same", "dilation_rate": 2}, False),
    ("conv", (2, 4, 3), (5, 3, 5), {"padding": "same"}, False),
    ("depthwise_conv", (2, 6, 7, 3), (3, 3, 3, 1), {"padding": "same"}, True),
    ("depthwise_conv", (2, 6, 7, 3), (3, 2, 3, 1), {"strides": 2}, True),
    ("depthwise_conv", (2, 7, 8, 3), (3, 3, 3, 1), {"padding": "same", "strides": (2, 2)}, True),
    ("depthwise_conv", (2, 2, 9, 3), (3, 3, 3, 1), {"padding": "same", "strides": (2, 3)}, True),
    ("depthwise_conv", (2, 6, 7, 3), (3, 3, 3, 2), {"padding": "same"}, False),
    ("depthwise_conv", (2, 3, 6, 7), (3, 3, 3, 1), {"data_format": "channels_first"}, False),
]


def results(name, images, kernel, given):
    """The convolution and its two gradients, and whether XLA sees one."""
    draw = np.random.default_rng(7)
    arrays = [draw.normal(size=shape).astype(np.float32) for shape in (images, kernel)]

    def convolved(images, kernel):
        made = getattr(backend.nn, name)(images, kernel, **given)
        return jax.numpy.sum(made * jax.numpy.cos(jax.numpy.arange(made.size).reshape(made.shape))), made

    (_, made), gradients = jax.value_and_grad(convolved, (0, 1), has_aux=True)(*arrays)
    return [made, *gradients], "conv_general_dilated" in str(jax.make_jaxpr(convolved)(*arrays))


def both():
    """All cases as they are computed now."""
    return [results(*case[:4]) for case in CASES]


before = both()
jax_kernels.install_convolutions(jax, backend)
installed = backend.nn.conv, backend.nn.depthwise_conv
jax_kernels.install_convolutions(jax, backend)
after = both()
convolved = {
    "installed once": installed == (backend.nn.conv, backend.nn.depthwise_conv),
    "is XLA's": [[seen for _, seen in each] for each in (before, after)],
    "wanted": [not ours for *_, ours in CASES],
    "shapes": [[array.shape for of_case, _ in each for array in of_case] for each in (before, after)],
    "apart": [
        max(float(abs(a - b).max() / abs(a).max()) for a, b in zip(x, y, strict=True))
        for (x, _), (y, _) in zip(before, after, strict=True)
    ],
}

# Max-pooling


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
print(json.dumps({"convolved": convolved, "pooled": pooled}))
