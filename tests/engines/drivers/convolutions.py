"""Convolutions of Keras on JAX before and after `jax_kernels.install_convolutions`; prints how far apart they are."""

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
said = {
    "installed once": installed == (backend.nn.conv, backend.nn.depthwise_conv),
    "is XLA's": [[seen for _, seen in each] for each in (before, after)],
    "wanted": [not ours for *_, ours in CASES],
    "shapes": [[array.shape for of_case, _ in each for array in of_case] for each in (before, after)],
    "apart": [
        max(float(abs(a - b).max() / abs(a).max()) for a, b in zip(x, y, strict=True))
        for (x, _), (y, _) in zip(before, after, strict=True)
    ],
}
print(json.dumps(said))
