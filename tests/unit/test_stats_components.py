"""Components of variance, against their definition and by simulation."""

import numpy as np
import pytest

from toolnoise.stats.components import NONE, components, of_own_row

TRUE = {"row": 1.0, "within": 0.7, "column": 0.2, "interaction": 0.5}


def table(draws, rows, columns):
    scales = np.sqrt([TRUE["row"], TRUE["column"], TRUE["interaction"]])
    shapes = (rows, 1), (1, columns), (rows, columns)
    return sum(scale * draws.normal(size=shape) for scale, shape in zip(scales, shapes, strict=True))


def test_estimates_are_unbiased_and_intervals_cover():
    draws = np.random.Generator(np.random.Philox(7))
    found = [components(table(draws, 4, 5), crossed=True) for _ in range(4000)]
    for name, wanted in TRUE.items():
        values, lows, highs = np.array([getattr(one, name) for one in found]).T
        assert abs(values.mean() - wanted) < 4 * values.std() / np.sqrt(len(values)), name
        assert 0.935 < np.mean((lows <= wanted) & (wanted <= highs)) < 0.985, name


def test_rows_alone_are_told_apart_where_columns_mean_nothing():
    found = components(np.array([[1.0, 2.0], [5.0, 6.0], [9.0, 10.0]]), crossed=False)
    assert found.within.value == pytest.approx(0.5)
    assert found.row.value == pytest.approx((2 * 16 - 0.5) / 2)
    assert np.isnan(found.column.value)


def test_equal_runs_have_no_variance_and_a_single_draw_has_no_components():
    zero = components(np.full((3, 4), 0.1), crossed=True)
    assert all(part.value == 0 for part in zero)
    np.testing.assert_array_equal(components(np.ones((1, 5)), crossed=True), NONE)


def test_the_variance_within_rows_is_covered_where_all_rows_have_the_same_columns():
    draws, held = np.random.Generator(np.random.Philox(8)), []
    for _ in range(1500):
        column, rest = np.sqrt(0.6) * draws.normal(size=(1, 8)), np.sqrt(0.4) * draws.normal(size=(8, 8))
        _, low, high = components(column + rest, crossed=True).within
        held.append(low < 1 < high)
    assert np.mean(held) > 0.93


@pytest.mark.parametrize("rows", [3, 4, 5, 10])
@pytest.mark.parametrize(("sigma", "least"), [(0, 0.95), (0.7, 0.92), (1.3, 0.9)])
def test_the_interaction_is_covered_where_rows_differ_in_noise(rows, sigma, least):
    draws, held = np.random.Generator(np.random.Philox(9)), []
    for _ in range(1500):
        sds = np.exp(sigma / 2 * draws.normal(size=(rows, 1)))
        _, low, high = components(sds * draws.normal(size=(rows, 16)), crossed=True).interaction
        held.append(low <= np.exp(sigma**2 / 2) <= high)
    assert np.mean(held) >= least


def test_the_interaction_of_a_row_is_its_own():
    sds, draws = np.array([[0.0], [1.0], [2.0], [4.0]]), np.random.Generator(np.random.Philox(10))
    rests = sds * draws.normal(size=(4, 100_000))
    rests -= rests.mean(axis=0)
    np.testing.assert_allclose(of_own_row(4 / 3 * rests.var(axis=1)), [0, 1, 4, 16], atol=0.15)
    # Of two rows, each has half of the rest: nothing says which is noisier.
    np.testing.assert_array_equal(of_own_row(np.array([2.0, 2.0])), [2, 2])
