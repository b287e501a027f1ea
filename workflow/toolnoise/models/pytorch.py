"""Layers with PyTorch's defaults, for networks whose authors trained them in PyTorch.

Weights and biases are uniform within 1 / sqrt(fan-in) unless a network sets another initialiser. Batch normalisation
averages with momentum 0.9 (PyTorch's 0.1) and epsilon 1e-5. A convolution with a stride pads both sides equally, as in
PyTorch. Keras's "same" pads an even image at its far end only, which shifts the windows by one pixel.
"""

import math

from keras import KerasTensor, initializers, layers


def convolved(
    values: KerasTensor,
    filters: int,
    kernel: int,
    name: str,
    strides: int = 1,
    bias: bool = False,
    padded: bool = True,
    initializer: initializers.Initializer | None = None,
) -> KerasTensor:
    """A convolution with an odd kernel; if `padded`, every side is padded by half of the kernel."""
    uniform = _uniform(kernel**2 * values.shape[-1])
    values, padding = _padded(values, kernel, strides, name) if padded else (values, "valid")
    return layers.Conv2D(
        filters,
        kernel,
        strides,
        padding=padding,
        use_bias=bias,
        kernel_initializer=initializer or uniform,
        bias_initializer=uniform,
        name=name,
    )(values)


def depthwise(values: KerasTensor, kernel: int, name: str, strides: int = 1) -> KerasTensor:
    """A convolution of each channel by itself, without bias."""
    uniform = _uniform(kernel**2)
    values, padding = _padded(values, kernel, strides, name)
    return layers.DepthwiseConv2D(
        kernel, strides, padding=padding, use_bias=False, depthwise_initializer=uniform, name=name
    )(values)


def normalised(values: KerasTensor, name: str, scale: str = "ones") -> KerasTensor:
    """Batch normalisation."""
    return layers.BatchNormalization(momentum=0.9, epsilon=1e-5, gamma_initializer=scale, name=name)(values)


def dense(values: KerasTensor, units: int, name: str) -> KerasTensor:
    """A dense layer."""
    uniform = _uniform(values.shape[-1])
    return layers.Dense(units, kernel_initializer=uniform, bias_initializer=uniform, name=name)(values)


def _uniform(fan_in: int) -> initializers.Initializer:
    return initializers.RandomUniform(-1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in))


def _padded(values: KerasTensor, kernel: int, strides: int, name: str) -> tuple[KerasTensor, str]:
    if strides == 1:
        return values, "same"
    return layers.ZeroPadding2D(kernel // 2, name=f"{name}_pad")(values), "valid"
