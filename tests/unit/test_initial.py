import numpy as np
import pytest

from toolnoise.models.initial import Parameter, initial_weights


def draw(initializer, shape=(3, 3, 16, 32), **options):
    parameter = Parameter("layer/kernel", shape, True, initializer, options)
    (tensor,) = initial_weights([parameter], 0, 1, "mine").values()
    assert tensor.dtype == np.float32
    assert tensor.shape == shape
    return tensor


@pytest.mark.parametrize(
    ("initializer", "options", "value"),
    [("Zeros", {}, 0.0), ("Ones", {}, 1.0), ("Constant", {"value": 0.1}, np.float32(0.1))],
)
def test_constants_are_exact(initializer, options, value):
    assert (draw(initializer, **options) == value).all()


@pytest.mark.parametrize(
    ("initializer", "options", "low", "high"),
    [
        # Nine places of the kernel: 144 inputs and 288 outputs, 216 in the mean.
        ("GlorotUniform", {}, -np.sqrt(3 / 216), np.sqrt(3 / 216)),
        ("HeUniform", {}, -np.sqrt(6 / 144), np.sqrt(6 / 144)),
        ("LecunUniform", {}, -np.sqrt(3 / 144), np.sqrt(3 / 144)),
        (
            "VarianceScaling",
            {"scale": 0.5, "mode": "fan_out", "distribution": "uniform"},
            -np.sqrt(1.5 / 288),
            np.sqrt(1.5 / 288),
        ),
        ("RandomUniform", {"minval": -0.25, "maxval": 0.75}, -0.25, 0.75),
    ],
)
def test_uniforms_fill_their_limits_and_stay_within(initializer, options, low, high):
    tensor = draw(initializer, **options)
    rounding = (high - low) * 1e-6
    assert low - rounding <= tensor.min() < low + 0.01 * (high - low)
    assert high - 0.01 * (high - low) < tensor.max() <= high + rounding
    assert tensor.mean() == pytest.approx((low + high) / 2, abs=(high - low) / 100)


@pytest.mark.parametrize(("shape", "mean_fan"), [((20, 30), 25), ((50,), 50), ((), 1)])
def test_fans_of_dense_kernels_vectors_and_numbers(shape, mean_fan):
    limit = np.sqrt(3 / mean_fan)
    tensor = draw("GlorotUniform", shape)
    assert (np.abs(tensor) <= limit * (1 + 1e-6)).all()
    assert tensor.size < 50 or np.abs(tensor).max() > 0.9 * limit


@pytest.mark.parametrize(
    ("initializer", "options"),
    [
        ("GlorotNormal", {}),
        ("Orthogonal", {}),
        ("VarianceScaling", {"scale": 1.0, "mode": "fan_in", "distribution": "truncated_normal"}),
    ],
)
def test_an_initialiser_that_needs_a_maths_library_is_refused_in_one_line(initializer, options, refused):
    line = refused(lambda: draw(initializer, **options))
    assert line.startswith("model mine: layer/kernel: ")
    assert initializer in line
    assert "allowed: Constant, GlorotUniform, " in line
