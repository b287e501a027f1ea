"""Means over pairs of units, against their definition: leave a unit out and compute again."""

import numpy as np
import pytest
from numpy.testing import assert_equal

from toolnoise.stats import pairs_of_units
from toolnoise.stats.estimates import t_interval
from toolnoise.stats.jackknife import Pairs, pairwise_mean, standard_error

RNG = np.random.Generator(np.random.Philox(3))


def symmetric(count):
    upper = np.triu(RNG.random((count, count)), 1)
    return upper + upper.T


def off_diagonal(matrix):
    return matrix[~np.eye(len(matrix), dtype=bool)].mean()


def without(matrix, unit):
    return np.delete(np.delete(matrix, unit, axis=0), unit, axis=1)


def test_in_one_arm_it_is_the_jackknife_of_pairs():
    matrix = symmetric(6)
    assert pairs_of_units.estimate(pairs_of_units.in_arm(matrix)) == pytest.approx(pairwise_mean(Pairs.of(matrix)))


def test_units_that_split_two_and_two_have_an_interval():
    split = np.kron([[0.0, 1.0], [1.0, 0.0]], np.ones((2, 2)))
    alone, other = pairs_of_units.in_arm(split), pairs_of_units.in_arm(np.zeros((4, 4)))
    assert np.ptp(alone.without[0]) == 0
    expected = pairwise_mean(Pairs.of(split))
    assert expected.low < expected.value < expected.high
    assert pairs_of_units.estimate(alone) == expected
    assert pairs_of_units.difference(other, alone, paired=True) == expected
    apart = pairs_of_units.between_arms(split, paired=False)
    assert pairs_of_units.estimate(apart).low < apart.value == 0.5


def test_the_floor_of_a_difference_is_that_of_the_pairs_differences():
    split = np.kron([[0.0, 1.0], [1.0, 0.0]], np.ones((2, 2)))
    for more in (0.0, 0.25):
        found = pairs_of_units.difference(*map(pairs_of_units.in_arm, (split, split + more)), paired=True)
        assert found.value == pytest.approx(more)
        assert np.isnan(found.low)
    found = pairs_of_units.difference(*map(pairs_of_units.in_arm, (split, split + 0.25)), paired=False)
    assert found.low < 0.25 < found.high


def test_what_a_unit_has_with_itself_does_not_count():
    matrix = RNG.random((5, 5))
    other = matrix + np.diag(RNG.random(5))
    for paired in (pairs_of_units.between_arms(each, paired=True) for each in (matrix, other)):
        assert paired.value == pytest.approx(off_diagonal(matrix))
        (left,) = paired.without
        np.testing.assert_allclose(left, [off_diagonal(without(matrix, unit)) for unit in range(5)])


def test_between_independent_arms_each_unit_is_left_out_of_its_own():
    matrix = RNG.random((4, 6))
    found = pairs_of_units.between_arms(matrix, paired=False)
    of_a, of_b = found.without
    np.testing.assert_allclose(of_a, [np.delete(matrix, unit, axis=0).mean() for unit in range(4)])
    np.testing.assert_allclose(of_b, [np.delete(matrix, unit, axis=1).mean() for unit in range(6)])
    # As wide as with the fewer arm's degrees of freedom, or narrower.
    widest = t_interval(matrix.mean(), np.hypot(standard_error(of_a), standard_error(of_b)), 3)
    estimate = pairs_of_units.estimate(found)
    assert widest.low <= estimate.low <= estimate.value <= estimate.high <= widest.high


def test_a_difference_of_paired_arms_leaves_a_unit_out_of_both():
    a, b = symmetric(5), symmetric(5)
    found = pairs_of_units.difference(pairs_of_units.in_arm(a), pairs_of_units.in_arm(b), paired=True)
    left = np.array([off_diagonal(without(b, unit)) - off_diagonal(without(a, unit)) for unit in range(5)])
    assert found == pytest.approx(t_interval(off_diagonal(b) - off_diagonal(a), standard_error(left), 4))


def test_pairing_narrows_what_moves_both_arms_alike():
    a = symmetric(8)
    b = 1.3 * a + 0.01 * symmetric(8)
    arms = pairs_of_units.in_arm(a), pairs_of_units.in_arm(b)
    for of in (pairs_of_units.difference, pairs_of_units.ratio):
        paired, apart = of(*arms, paired=True), of(*arms, paired=False)
        assert paired.value == apart.value
        assert paired.high - paired.low < 0.5 * (apart.high - apart.low)


def test_a_ratio_of_sds_is_the_root_of_that_of_variances():
    arms = [pairs_of_units.in_arm(symmetric(6)) for _ in range(2)]
    variances, sds = (pairs_of_units.ratio(*arms, True, power) for power in (1.0, 0.5))
    np.testing.assert_allclose(np.square(sds), variances)
    assert pairs_of_units.root(arms[0]).value == pytest.approx(np.sqrt(arms[0].value))


@pytest.mark.parametrize("paired", [True, False])
def test_too_few_units_have_a_value_but_no_interval(paired):
    two = pairs_of_units.in_arm(np.array([[0, 0.3], [0.3, 0]]))
    assert_equal(pairs_of_units.estimate(two), (0.3, np.nan, np.nan))
    assert_equal(pairs_of_units.difference(two, two, paired), (0, np.nan, np.nan))
    one = pairs_of_units.in_arm(np.zeros((1, 1)))
    assert np.isnan(pairs_of_units.difference(two, one, paired)).all()
    assert np.isnan(pairs_of_units.estimate(pairs_of_units.between_arms(np.zeros((0, 3)), False))).all()


@pytest.mark.parametrize("paired", [True, False])
def test_arms_without_noise_have_no_ratio_and_no_warning(paired):
    none, some = pairs_of_units.in_arm(np.zeros((4, 4))), pairs_of_units.in_arm(symmetric(4))
    for arms in ((none, some), (some, none), (none, none)):
        assert np.isnan(pairs_of_units.ratio(*arms, paired)).all()
    assert_equal(pairs_of_units.difference(none, none, paired), (0, np.nan, np.nan))
    assert_equal(pairs_of_units.root(none), (0, np.nan, np.nan))
