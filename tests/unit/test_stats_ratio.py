"""One quantity over another, with its interval."""

import numpy as np
import pytest

from toolnoise.stats.estimates import UNDEFINED, mean_t
from toolnoise.stats.ratio import Jackknifed, ratio_of_jackknifed, ratio_of_means


def test_the_ratio_is_that_of_the_means_and_lies_within_its_interval():
    ratio = ratio_of_means(np.array([2.0, 2.2, 2.4]), np.array([1.0, 1.1, 1.2]))
    assert ratio.value == pytest.approx(2)
    assert 1 < ratio.low < 2 < ratio.high < 4


def test_equal_runs_have_an_interval_of_no_width():
    assert ratio_of_means(np.full(3, 0.3), np.full(4, 0.1)) == (pytest.approx(3),) * 3


def test_a_single_run_of_either_has_a_ratio_and_no_interval():
    for runs in ((np.array([3.0]), np.array([1.0, 2.0])), (np.array([3.0, 3.0]), np.array([1.5]))):
        ratio = ratio_of_means(*runs)
        assert ratio.value == 2
        assert np.isnan([ratio.low, ratio.high]).all()


def test_no_run_of_either_has_no_ratio():
    assert str(ratio_of_means(np.array([]), np.array([1.0]))) == str(UNDEFINED)


def test_the_other_way_round_is_the_reciprocal():
    one, other = np.array([1.0, 1.3, 1.1]), np.array([2.0, 2.9, 2.2, 2.4])
    ratio, inverse = ratio_of_means(one, other), ratio_of_means(other, one)
    np.testing.assert_allclose(ratio, np.reciprocal([inverse.value, inverse.high, inverse.low]), rtol=1e-12)


def test_it_is_welchs_interval_where_spreads_are_small():
    # Then the logarithm is a difference: SciPy's Welch interval of logarithms must agree to the first order.
    from scipy import stats

    generator = np.random.default_rng(5)
    one, other = 3 + 1e-4 * generator.standard_normal(4), 2 + 3e-4 * generator.standard_normal(6)
    welch = stats.ttest_ind(np.log(one), np.log(other), equal_var=False).confidence_interval(0.95)
    np.testing.assert_allclose(np.log(ratio_of_means(one, other)[1:]), welch, rtol=1e-3, atol=1e-9)


def test_its_interval_holds_the_truth_in_about_95_percent_of_studies():
    generator = np.random.default_rng(6)
    studies = 2000
    held = 0
    for _ in range(studies):
        ratio = ratio_of_means(1.5 * generator.normal(1, 0.05, 4), generator.normal(1, 0.02, 3))
        held += ratio.low < 1.5 < ratio.high
    assert 0.93 < held / studies < 0.975


def jackknifed(values, units):
    """A mean with its values without each unit."""
    return Jackknifed(values.mean(), {unit: np.delete(values, place).mean() for place, unit in enumerate(units)})


def test_jackknife_of_means_is_students_interval_of_logarithms_where_spreads_are_small():
    generator = np.random.default_rng(5)
    one, other = 3 + 1e-4 * generator.standard_normal(5), 2 + 1e-4 * generator.standard_normal(5)
    paired = ratio_of_jackknifed(jackknifed(one, range(5)), jackknifed(other, range(5)))
    np.testing.assert_allclose(np.log(paired), mean_t(np.log(one) - np.log(other)), rtol=1e-3, atol=1e-9)
    apart = ratio_of_jackknifed(jackknifed(one, range(5)), jackknifed(other, range(5, 10)))
    halves = [(estimate.high - estimate.value) for estimate in map(mean_t, (np.log(one), np.log(other)))]
    assert np.log(apart.high / apart.value) == pytest.approx(np.hypot(*halves), rel=1e-3)


def test_there_is_no_ratio_to_nothing_and_no_interval_without_three_units_or_with_a_zero():
    some, zero, bare = (Jackknifed(value, {}) for value in (0.2, 0.0, np.nan))
    full = Jackknifed(0.2, {1: 0.1, 2: 0.2, 3: 0.3})
    assert str(ratio_of_jackknifed(full, zero)) == str(ratio_of_jackknifed(bare, full)) == str(UNDEFINED)
    assert ratio_of_jackknifed(zero, full).value == 0
    spoilt = full._replace(without={1: 0.0, 2: 0.2, 3: 0.3})
    few = full._replace(without={1: 0.1, 2: 0.2})
    for two in ((some, full), (full, some), (few, full), (spoilt, full), (full, spoilt)):
        found = ratio_of_jackknifed(*two)
        assert found.value == 1
        assert np.isnan([found.low, found.high]).all()
