"""Means over pairs of units, against their definition: leave a unit out and compute again."""

import numpy as np
import pytest
from numpy.testing import assert_equal

from toolnoise.comparison import pairs_of_units
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


def in_arm(matrix, first=0):
    """An arm whose units are counted from a first one."""
    return pairs_of_units.in_arm(matrix, np.arange(first, first + len(matrix)))


def left(found):
    return found.value + found.changes


def test_in_one_arm_it_is_the_jackknife_of_pairs():
    matrix = symmetric(6)
    assert pairs_of_units.estimate(in_arm(matrix)) == pytest.approx(pairwise_mean(Pairs.of(matrix)))


def test_units_that_split_two_and_two_have_an_interval():
    split = np.kron([[0.0, 1.0], [1.0, 0.0]], np.ones((2, 2)))
    alone, other = in_arm(split), in_arm(np.zeros((4, 4)))
    assert not alone.changes.any()
    expected = pairwise_mean(Pairs.of(split))
    assert expected.low < expected.value < expected.high
    assert pairs_of_units.estimate(alone) == pytest.approx(expected)
    assert pairs_of_units.difference(other, alone) == pytest.approx(expected)
    apart = pairs_of_units.between_arms(split, np.arange(4), np.arange(4, 8))
    assert pairs_of_units.estimate(apart).low < apart.value == 0.5


def test_the_floor_of_a_difference_is_that_of_the_pairs_differences():
    split = np.kron([[0.0, 1.0], [1.0, 0.0]], np.ones((2, 2)))
    for more in (0.0, 0.25, 0.1):
        found = pairs_of_units.difference(in_arm(split), in_arm(split + more))
        assert found.value == pytest.approx(more)
        assert np.isnan(found.low)
    for first in (4, 1):  # other units, and of which the last is new
        found = pairs_of_units.difference(in_arm(split), in_arm(split + 0.25, first))
        assert found.low < 0.25 < found.high


def test_what_a_unit_has_with_itself_does_not_count():
    matrix, units = RNG.random((5, 5)), np.arange(5)
    other = matrix + np.diag(RNG.random(5))
    for paired in (pairs_of_units.between_arms(each, units, units) for each in (matrix, other)):
        assert paired.value == pytest.approx(off_diagonal(matrix))
        np.testing.assert_allclose(left(paired), [off_diagonal(without(matrix, unit)) for unit in units])


def test_between_independent_arms_each_unit_is_left_out_of_its_own():
    matrix = RNG.random((4, 6))
    found = pairs_of_units.between_arms(matrix, np.arange(4), np.arange(4, 10))
    of_a, of_b = left(found)[:4], left(found)[4:]
    np.testing.assert_allclose(of_a, [np.delete(matrix, unit, axis=0).mean() for unit in range(4)])
    np.testing.assert_allclose(of_b, [np.delete(matrix, unit, axis=1).mean() for unit in range(6)])
    error = np.hypot(standard_error(of_a), standard_error(of_b))
    freedom = error**4 / (standard_error(of_a) ** 4 / 3 + standard_error(of_b) ** 4 / 5)
    assert pairs_of_units.estimate(found) == pytest.approx(t_interval(matrix.mean(), error, freedom))


def test_between_partly_paired_arms_a_unit_is_left_out_of_both_where_it_is_in_both():
    matrix, a, b = RNG.random((4, 5)), np.array([7, 1, 2, 3]), np.array([7, 3, 4, 5, 6])
    found = pairs_of_units.between_arms(matrix, a, b)
    other = a[:, np.newaxis] != b
    assert found.value == pytest.approx(matrix[other].mean())
    assert found.units.tolist() == [1, 2, 3, 4, 5, 6, 7]
    expected = [matrix[other & (a != unit)[:, np.newaxis] & (b != unit)].mean() for unit in found.units]
    np.testing.assert_allclose(left(found), expected)
    low, high = pairs_of_units.estimate(found)[1:]
    assert low < found.value < high


def test_a_difference_of_paired_arms_leaves_a_unit_out_of_both():
    a, b = symmetric(5), symmetric(5)
    found = pairs_of_units.difference(in_arm(a), in_arm(b))
    leave = np.array([off_diagonal(without(b, unit)) - off_diagonal(without(a, unit)) for unit in range(5)])
    assert found == pytest.approx(t_interval(off_diagonal(b) - off_diagonal(a), standard_error(leave), 4))


def test_a_difference_of_independent_arms_adds_their_variances():
    a, b = symmetric(5), symmetric(7)
    found = pairs_of_units.difference(in_arm(a), in_arm(b, 5))
    errors = [standard_error(left(in_arm(each))) for each in (a, b)]
    freedom = np.hypot(*errors) ** 4 / (errors[0] ** 4 / 4 + errors[1] ** 4 / 6)
    assert found == pytest.approx(t_interval(off_diagonal(b) - off_diagonal(a), np.hypot(*errors), freedom))


def test_the_more_units_are_shared_the_narrower_is_what_moves_both_arms_alike():
    a = symmetric(8)
    b = 1.3 * a + 0.01 * symmetric(8)
    for of in (pairs_of_units.difference, pairs_of_units.ratio):
        # The last units of A are the first of B, with the same pairs where units are the same.
        rolled = [np.roll(b, (-first, -first), axis=(0, 1)) for first in (0, 2, 5, 8)]
        found = [of(in_arm(a), in_arm(each, first)) for each, first in zip(rolled, (0, 2, 5, 8), strict=True)]
        widths = [high - low for _, low, high in found]
        assert widths == sorted(widths)
        assert widths[0] < 0.5 * widths[-1]
        assert [value for value, *_ in found] == pytest.approx([found[0].value] * 4)


def test_the_interval_of_partly_paired_arms_holds_the_truth():
    """Runs err with a chance that depends on their draw and on the example, so both arms have the same churn."""
    rng, held = np.random.Generator(np.random.Philox(5)), []
    difficulty = rng.normal(0.3, 0.1, 60)
    for _ in range(600):
        draws = rng.normal(0, 0.08, (13, 1))
        wrong = [rng.random((8, 60)) < draws[first : first + 8] + difficulty for first in (0, 5)]
        churns = [np.mean(arm[:, np.newaxis] != arm, axis=2) for arm in wrong]
        found = pairs_of_units.difference(in_arm(churns[0]), in_arm(churns[1], 5))
        held.append(found.low <= 0 <= found.high)
    assert np.mean(held) >= 0.93


def test_a_ratio_of_sds_is_the_root_of_that_of_variances():
    arms = [in_arm(symmetric(6)) for _ in range(2)]
    variances, sds = (pairs_of_units.ratio(*arms, power) for power in (1.0, 0.5))
    np.testing.assert_allclose(np.square(sds), variances)
    assert pairs_of_units.root(arms[0]).value == pytest.approx(np.sqrt(arms[0].value))


@pytest.mark.parametrize("first", [0, 1, 9])
def test_too_few_units_have_a_value_but_no_interval(first):
    pair = np.array([[0, 0.3], [0.3, 0]])
    two, other = in_arm(pair), in_arm(pair, first)
    assert_equal(pairs_of_units.estimate(two), (0.3, np.nan, np.nan))
    assert_equal(pairs_of_units.difference(two, other), (0, np.nan, np.nan))
    one = in_arm(np.zeros((1, 1)), first)
    assert np.isnan(pairs_of_units.difference(two, one)).all()
    none = pairs_of_units.between_arms(np.zeros((0, 3)), np.arange(0), np.arange(3))
    assert np.isnan(pairs_of_units.estimate(none)).all()


@pytest.mark.parametrize("first", [0, 2, 9])
def test_arms_without_noise_have_no_ratio_and_no_warning(first):
    none, some, other = in_arm(np.zeros((4, 4))), in_arm(symmetric(4)), in_arm(np.zeros((4, 4)), first)
    for arms in ((some, other), (other, some), (none, other)):
        assert np.isnan(pairs_of_units.ratio(*arms)).all()
    assert_equal(pairs_of_units.difference(none, other), (0, np.nan, np.nan))
    assert_equal(pairs_of_units.root(none), (0, np.nan, np.nan))
