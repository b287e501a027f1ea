"""One quantity over another, with its interval."""

import numpy as np
import pytest

from toolnoise.analyses.overhead.metric import ratio_of_means
from toolnoise.stats.estimates import UNDEFINED


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
