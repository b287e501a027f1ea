"""Jackknife means over pairs of runs, and over pairs of other units."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_equal
from scipy import stats

from toolnoise.comparison import pairs_of_units
from toolnoise.stats.estimates import UNDEFINED, Estimate, t_interval
from toolnoise.stats.jackknife import (
    FEW,
    MANY,
    Pairs,
    pairs_standard_error,
    pairwise_jackknife,
    pairwise_mean,
    some_pairs,
    standard_error,
    within_blocks,
)

NAN = np.nan


def symmetric(values):
    upper = np.triu(values, 1)
    return upper + upper.T


DISTANCES = (
    st.integers(3, 9)
    .flatmap(
        lambda count: arrays(np.float64, (count, count), elements=st.integers(0, 100).map(lambda part: part / 100))
    )
    .map(symmetric)
)


def definition(matrix):
    def mean(runs):
        return np.mean([matrix[i, j] for i, j in combinations(runs, 2)])

    count = len(matrix)
    without = [mean([run for run in range(count) if run != left]) for left in range(count)]
    error = np.sqrt((count - 1) / count * sum((value - np.mean(without)) ** 2 for value in without))
    pairs = [matrix[i, j] for i, j in combinations(range(count), 2)]
    error = max(error, np.sqrt(2 * np.var(pairs, ddof=1) / (count * (count - 1))))
    value = mean(range(count))
    if np.ptp(pairs) == 0:
        return value, NAN, NAN
    factor = np.exp(stats.t.ppf(0.975, count - 1) * error / value)
    return value, value / factor, value * factor


@given(DISTANCES)
def test_jackknife_equals_its_definition(matrix):
    found = pairwise_jackknife(Pairs.of(matrix))
    assert found == pytest.approx(definition(matrix), rel=1e-9, abs=1e-12, nan_ok=True)
    assert not found.low < 0


def test_mean_over_pairs_which_may_be_negative_and_its_interval_by_hand():
    matrix = symmetric(np.array([[0, 1, 2], [0, 0, 6], [0, 0, 0]], float))
    # Without each run: 6, 2, 1, with mean 3 and variance 2/3 * (9 + 1 + 4); t with 2 degrees of freedom.
    half = 4.3026527 * np.sqrt(28 / 3)
    assert pairwise_mean(Pairs.of(matrix)) == pytest.approx((3, 3 - half, 3 + half), rel=1e-7)
    assert pairwise_mean(Pairs.of(-matrix)) == pytest.approx((-3, -3 - half, -3 + half), rel=1e-7)


def test_distances_are_covered_where_runs_differ_in_noise():
    drawn = np.random.Generator(np.random.Philox(2))

    def distances(runs):
        places = np.exp(0.7 * drawn.normal(size=(runs, 1))) * drawn.normal(size=(runs, 60))
        return Pairs.of(np.sqrt(np.mean((places[:, np.newaxis] - places) ** 2, axis=-1)))

    truth = np.mean([pairwise_mean(distances(60)).value for _ in range(300)])
    studies = [distances(5) for _ in range(1500)]
    held = [[low < truth < high for _, low, high in (pairwise_jackknife(one), pairwise_mean(one))] for one in studies]
    logarithmic, linear = np.mean(held, axis=0)
    assert logarithmic > linear + 0.02
    assert logarithmic > 0.88


def test_runs_that_split_into_equal_halves_have_an_interval():
    kind = np.array([0, 0, 1, 1])
    found = pairwise_jackknife(Pairs.of(0.002 * (kind != kind[:, np.newaxis])))
    # Each run is as far from the others as any: the means without each run are equal. Of the six pairs, four differ.
    half = 3.1824463 * np.sqrt(2 * 0.002**2 * (6 * 2 / 3 * 1 / 3 / 5) / (4 * 3))
    factor = np.exp(half / (0.004 / 3))
    assert found == pytest.approx((0.004 / 3, 0.004 / 3 / factor, 0.004 / 3 * factor), rel=1e-6)
    assert found.high > 0.002


def test_the_floor_does_nothing_if_runs_differ_as_wholes():
    values = np.random.Generator(np.random.Philox(3)).random(8)
    pairs = Pairs.of(symmetric(np.add.outer(values, values)))
    assert pairs_standard_error(pairs) == pytest.approx(2 * values.std(ddof=1) / np.sqrt(8))


def test_some_pairs_are_all_of_a_few_runs_and_those_of_neighbours_of_more():
    assert [len(some_pairs(runs)[0]) for runs in (0, 1, 2, FEW)] == [0, 0, 1, FEW * (FEW - 1) // 2]
    for runs in (FEW + 1, 1_000):
        assert np.transpose(some_pairs(runs)).tolist() == [[run, run + 1] for run in range(FEW)]


@pytest.mark.parametrize("runs", [2, 3, 5])
def test_bit_equal_runs_are_exactly_zero_apart_without_an_interval(runs):
    assert_equal(pairwise_jackknife(Pairs.of(np.zeros((runs, runs)))), Estimate(0.0))


def test_few_runs_have_no_interval():
    assert_equal(pairwise_jackknife(Pairs.of(np.zeros((0, 0)))), UNDEFINED)
    assert_equal(pairwise_jackknife(Pairs.of(np.zeros((1, 1)))), UNDEFINED)
    assert_equal(pairwise_jackknife(Pairs.of(np.array([[0, 0.3], [0.3, 0]]))), Estimate(0.3, NAN, NAN))


def test_jackknife_of_a_mean_is_its_textbook_standard_error():
    values = np.array([0.1, 0.4, 0.5, 0.9])
    without = np.array([np.delete(values, run).mean() for run in range(4)])
    assert standard_error(without) == pytest.approx(np.std(values, ddof=1) / 2, rel=1e-12)


def distances(places):
    return Pairs.of(np.abs(places[:, np.newaxis] - places))


def test_all_pairs_of_a_few_runs_are_computed():
    places = np.random.Generator(np.random.Philox(1)).normal(size=MANY)
    (found,) = within_blocks(MANY, lambda runs: [distances(places[runs])])
    assert_equal(found, distances(places))


def test_many_runs_are_compared_within_blocks_that_each_have_enough():
    runs, asked = 5 * MANY + 1, []
    (found,) = within_blocks(runs, lambda some: asked.append(some) or [distances(np.arange(runs)[some] * 1.0)])
    sizes = [some.stop - some.start for some in asked]
    assert (sum(sizes), max(sizes) <= MANY, min(sizes) >= MANY / 2) == (runs, True, True)
    # A sum over the block stands for one over all others.
    assert found.sums[0] == pytest.approx(np.arange(sizes[0]).mean() * sizes[0] / (sizes[0] - 1) * (runs - 1))


def test_the_interval_within_blocks_is_that_of_all_pairs_or_a_little_wider():
    places = np.random.Generator(np.random.Philox(2)).normal(size=4 * MANY)
    every, (blocks,) = distances(places), within_blocks(len(places), lambda runs: [distances(places[runs])])
    assert pairwise_mean(blocks).value == pytest.approx(2 / np.sqrt(np.pi), rel=0.05)
    assert 1 <= pairs_standard_error(blocks) / pairs_standard_error(every) < 1.05


# Means over pairs of units, against their definition: leave a unit out and compute again


RNG = np.random.Generator(np.random.Philox(3))


def drawn_symmetric(count):
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
    matrix = drawn_symmetric(6)
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
    a, b = drawn_symmetric(5), drawn_symmetric(5)
    found = pairs_of_units.difference(in_arm(a), in_arm(b))
    leave = np.array([off_diagonal(without(b, unit)) - off_diagonal(without(a, unit)) for unit in range(5)])
    assert found == pytest.approx(t_interval(off_diagonal(b) - off_diagonal(a), standard_error(leave), 4))


def test_a_difference_of_independent_arms_adds_their_variances():
    a, b = drawn_symmetric(5), drawn_symmetric(7)
    found = pairs_of_units.difference(in_arm(a), in_arm(b, 5))
    errors = [standard_error(left(in_arm(each))) for each in (a, b)]
    freedom = np.hypot(*errors) ** 4 / (errors[0] ** 4 / 4 + errors[1] ** 4 / 6)
    assert found == pytest.approx(t_interval(off_diagonal(b) - off_diagonal(a), np.hypot(*errors), freedom))


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
    arms = [in_arm(drawn_symmetric(6)) for _ in range(2)]
    variances, sds = (pairs_of_units.ratio(*arms, power) for power in (1.0, 0.5))
    np.testing.assert_allclose(np.square(sds), variances)
    assert pairs_of_units.root(arms[0]).value == pytest.approx(np.sqrt(arms[0].value))


@pytest.mark.parametrize("first", [0, 1])
def test_too_few_units_have_a_value_but_no_interval(first):
    pair = np.array([[0, 0.3], [0.3, 0]])
    two, other = in_arm(pair), in_arm(pair, first)
    assert_equal(pairs_of_units.estimate(two), (0.3, np.nan, np.nan))
    assert_equal(pairs_of_units.difference(two, other), (0, np.nan, np.nan))
    one = in_arm(np.zeros((1, 1)), first)
    assert np.isnan(pairs_of_units.difference(two, one)).all()
    none = pairs_of_units.between_arms(np.zeros((0, 3)), np.arange(0), np.arange(3))
    assert np.isnan(pairs_of_units.estimate(none)).all()


@pytest.mark.parametrize("first", [0, 2])
def test_arms_without_noise_have_no_ratio_and_no_warning(first):
    none, some, other = in_arm(np.zeros((4, 4))), in_arm(drawn_symmetric(4)), in_arm(np.zeros((4, 4)), first)
    for arms in ((some, other), (other, some), (none, other)):
        assert np.isnan(pairs_of_units.ratio(*arms)).all()
    assert_equal(pairs_of_units.difference(none, other), (0, np.nan, np.nan))
    assert_equal(pairs_of_units.root(none), (0, np.nan, np.nan))
