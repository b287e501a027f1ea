"""Max-pooling in JAX on a CPU: the numbers of XLA's window operation and, bit for bit, its gradients, but for NaN."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")

from toolnoise.engines import jax_pooling  # noqa: E402

SHAPES = [((4, 8, 8, 3), (2, 2)), ((2, 7, 9, 5), (2, 2)), ((3, 9, 7, 1), (3, 2)), ((1, 4, 6, 2), (1, 3))]


def both(shape, size, dtype):
    """What a pooling gives, with its gradient: ours and XLA's; many numbers are equal, and zeros have both signs."""
    draw = np.random.default_rng(7)
    images = draw.integers(-2, 3, shape).astype(np.float32) * draw.choice([1, -1, 0.5, 0, -0.0], shape)
    window = (1, *size, 1)

    def theirs(images):
        return jax.lax.reduce_window(images, -np.inf, jax.lax.max, window, window, "VALID")

    def ours(images):
        return jax_pooling.side_by_side(jax, size)(images)

    images = jax.numpy.asarray(images, dtype)
    gradient = draw.normal(size=theirs(images).shape) * draw.choice([1, -1, 0, -0.0], theirs(images).shape)
    gradient = jax.numpy.asarray(gradient, dtype)
    given = []
    for pool in (ours, theirs):
        made, back = jax.jit(lambda images, pool=pool: jax.vjp(pool, images))(images)
        given.append((made, back(gradient)[0]))
    return given


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(("shape", "size"), SHAPES)
def test_numbers_and_gradients_are_those_of_xla(shape, size, dtype):
    (mine, my_gradient), (wanted, its_gradient) = both(shape, size, dtype)
    # Equal zeros may have two signs: XLA's choice depends on the program around.
    assert np.array_equal(np.asarray(mine), np.asarray(wanted))
    assert np.asarray(my_gradient).tobytes() == np.asarray(its_gradient).tobytes()


def test_what_is_no_number_stays():
    images = np.zeros((1, 2, 4, 1), np.float32)
    images[0, 0, 0], images[0, 1, 3] = np.nan, np.nan
    assert np.isnan(jax_pooling.side_by_side(jax, (2, 2))(images)).all()


def test_keras_pools_with_it_and_other_windows_as_before():
    class Backend:
        class nn:  # noqa: N801
            @staticmethod
            def max_pool(*arguments):
                return arguments

    jax_pooling.install(jax, Backend)
    installed = Backend.nn.max_pool
    jax_pooling.install(jax, Backend)
    assert Backend.nn.max_pool is installed
    images = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)
    assert installed(images, 2, padding="valid").tolist() == [[[[5], [7]], [[13], [15]]]]
    for given in (((2, 2), (1, 1), "valid", None), ((2, 2), None, "same", None), (2, 2, "valid", "channels_first")):
        assert installed(images, *given) == (images, *given)
