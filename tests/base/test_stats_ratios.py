"""Ratios and trends of arms, and the SD of a part over the SD of the whole."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_equal
from scipy import stats

from toolnoise.comparison import pairs_of_units
from toolnoise.formulas.groups import Rate, by_difficulty, by_size, independent_errors_sd, largest_by_size, sd_ratio
from toolnoise.stats.contrasts import MEAN, SD, contrast, normal_sd, of_runs
from toolnoise.stats.estimates import UNDEFINED, Estimate, t_interval
from toolnoise.stats.jackknife import (
    MANY,
    Pairs,
    pairwise_jackknife,
    pairwise_mean,
    standard_error,
    within_blocks,
)


def of_means(values, start=0):
    """An arm of a mean of runs, whose units are numbered from `start`."""
    return of_runs(np.array(values), range(start, start + len(values)), MEAN)


def test_a_ratio_of_two_sds_is_the_f_test():
    found = contrast([(1, normal_sd(0.3, 10)), (-1, normal_sd(0.9, 12))])
    ratio, null = 0.3 / 0.9, stats.f(9, 11)
    assert 2 * found.below(0) == pytest.approx(2 * null.cdf(ratio**2))
    assert np.exp(found.estimate) == pytest.approx((ratio, *(ratio / np.sqrt(null.ppf([0.975, 0.025])))))


def test_equal_arms_decide_nothing():
    """Equal accuracies of runs that differ are luck; of bit-equal runs, the ratio says so by its design."""
    arm = of_means([1.0, 1.2, 0.9, 1.1])
    found = contrast([(1, arm), (-1, arm)])
    assert found.value == 0
    assert np.isnan([found.error, found.above(0.1), found.below(0.1)]).all()


def sds(values, start=0):
    return of_runs(np.array(values), range(start, start + len(values)), SD)


def without_each(values):
    """The logarithm of the SD without each run, relative to their mean."""
    logs = np.log([np.std(np.delete(values, run), ddof=1) for run in range(len(values))])
    return logs - logs.mean()


def test_two_sds_of_the_same_units_are_paired_and_those_of_others_are_not():
    rng = np.random.default_rng(3)
    one = rng.normal(size=6)
    other = 2 * one + 0.1 * rng.normal(size=6)
    paired, apart = contrast([(1, sds(other)), (-1, sds(one))]), contrast([(1, sds(other)), (-1, sds(one, 6))])
    of_pairs = np.square(without_each(other) - without_each(one))
    of_others = np.square(without_each(other)) + np.square(without_each(one))
    for found, squares in ((paired, of_pairs), (apart, of_others)):
        error = np.sqrt(5 / 6 * squares.sum())
        assert (found.value, found.error, found.freedom) == pytest.approx(
            (np.log(np.std(other) / np.std(one)), error, 5)
        )
        assert found.above(0) == pytest.approx(stats.t.sf(found.value / error, 5))
    assert paired.above(0) < 0.001 < 0.05 < apart.above(0)
    assert paired.units == apart.units == (6,)


NAN = np.nan


def rates(draws, examples=1, independent_sd=NAN):
    """A rate in the runs of each draw."""
    return [Rate(np.array(runs), examples, independent_sd) for runs in draws]


def pvalue_of(null, part, whole):
    return null.pvalue(sd_ratio(rates([part]), rates([whole])).value, len(part) - 1)


def normal(count, replicate=1):
    return np.random.Generator(np.random.Philox(replicate)).normal(0.9, 0.01, count)


def test_ratio_has_the_jackknife_interval_of_its_logarithm():
    part, whole = normal(7, 1), normal(7, 2)
    logs = [np.log(np.std(np.delete(part, run), ddof=1) / np.std(np.delete(whole, run), ddof=1)) for run in range(7)]
    error = np.sqrt(6 / 7 * sum((log - np.mean(logs)) ** 2 for log in logs))
    ratio = np.std(part, ddof=1) / np.std(whole, ddof=1)
    factor = np.exp(2.446911851 * error)  # t at .975 with 6 degrees of freedom, from a printed table
    assert factor**2 < 20
    found = sd_ratio(rates([part]), rates([whole]))
    assert found == pytest.approx((ratio, ratio / factor, ratio * factor), rel=1e-8)
    # The same ratio of three of these runs: the ends would be more than a factor of 20 apart.
    few = sd_ratio(rates([part[:3]]), rates([whole[:3]]))
    assert np.isfinite(few.value)
    assert np.isnan(few[1:]).all()


THREE = [0.1, 0.2, 0.3]


@pytest.mark.parametrize(
    ("part", "whole", "wanted"),
    [
        (THREE, [0.1] * 3, UNDEFINED),
        ([NAN] * 5, [0.1, 0.2, 0.4, 0.3, 0.6], UNDEFINED),  # of a class without examples
        ([0.1] * 3, THREE, Estimate(0.0)),
        # No logarithm for some run that is left out.
        ([0.0, 0.0, 1.0], [0.0, 1.0, 2.0], Estimate(1 / np.sqrt(3))),
        ([0.0], [0.0], UNDEFINED),
        ([0.0, 2.0], [0.0, 1.0], Estimate(2.0)),
    ],
)
def test_a_ratio_of_few_runs_or_of_an_sd_of_zero_has_no_interval(part, whole, wanted):
    found = sd_ratio(rates([part]), rates([whole]))
    assert found.value == pytest.approx(wanted.value, nan_ok=True)
    assert np.isnan(found[1:]).all()


@pytest.mark.parametrize(("part", "whole", "runs"), [(90, 100, 3)])
def test_ratio_by_size_alone_holds_95_percent_of_studies_without_any_other_difference(part, whole, runs):
    draws = np.random.Generator(np.random.Philox(part))
    one, rest = (draws.normal(size=(20_000, runs)) / np.sqrt(size) for size in (part, whole - part))
    both = (part * one + (whole - part) * rest) / whole
    ratios = one.std(axis=1) / both.std(axis=1)
    expected, low, high = by_size(rates([[]], part), rates([[]], whole)).range(runs - 1)
    assert expected == pytest.approx(np.sqrt(whole / part))
    # Of 20,000 binomial draws, 0.4 points are more than two standard errors on each side.
    assert np.mean(ratios < low) == pytest.approx(0.025, abs=0.004)
    assert np.mean(ratios > high) == pytest.approx(0.025, abs=0.004)


@pytest.mark.parametrize(("classes", "published"), [(10, (4.4, 2.9, 7.8)), (100, (16.8, 10.8, 29))])
def test_the_largest_ratio_of_equal_classes_is_the_one_derived_for_the_paper(classes, published):
    assert largest_by_size(np.full(classes, 100), 10) == pytest.approx(published, rel=0.05)


def test_a_part_without_noise_or_that_is_the_whole_or_an_unknown_one_is_not_tested():
    of_one, of_nine, of_ten = (rates([normal(10)], examples) for examples in (1, 9, 10))
    assert np.isnan(pvalue_of(by_size(of_one, of_ten), np.full(5, 0.9), normal(5)))
    assert np.isnan(pvalue_of(by_size(of_nine, of_nine), normal(5), normal(5)))
    assert np.isnan(pvalue_of(by_size(of_one, of_nine), normal(1), normal(1)))
    for one, other in ((0.0, 0.1), (0.1, 0.0), (NAN, 0.1)):
        null = by_difficulty(rates([normal(10)], 5, one), rates([normal(10, 2)], 10, other))
        assert_equal(null.range(9), UNDEFINED)
        assert np.isnan(pvalue_of(null, normal(10), normal(10, 2)))
    # Where all examples err equally often, difficulty is size.
    part, whole = (rates([normal(10)], examples, np.sqrt(0.1 * 0.9 / examples)) for examples in (30, 100))
    assert by_difficulty(part, whole) == pytest.approx(by_size(part, whole))


def test_independent_errors_of_a_hard_part_are_unlike_its_size_and_like_its_difficulty():
    # The first 100 of 500 examples err in a third of runs, the others in one of a hundred.
    errors = np.where(np.arange(500) < 100, 1 / 3, 0.01)
    draws = np.random.Generator(np.random.Philox(4))
    size, difficulty, within = [], [], []
    for _ in range(300):
        right = draws.random((20, 500)) >= errors
        hard = right[:, :100]
        part, whole = hard.mean(axis=1), right.mean(axis=1)
        of_part = rates([part], 100, independent_errors_sd(hard))
        of_whole = rates([whole], 500, independent_errors_sd(right))
        null = by_difficulty(of_part, of_whole)
        _, low, high = null.range(19)
        size.append(pvalue_of(by_size(of_part, of_whole), part, whole) < 0.05)
        difficulty.append(pvalue_of(null, part, whole) < 0.05)
        within.append(low < part.std() / whole.std() < high)
    assert np.mean(size) > 0.9
    assert np.mean(difficulty) == pytest.approx(0.05, abs=0.038)  # three standard errors
    assert np.mean(within) == 1 - np.mean(difficulty)


def of_draws(draws, runs, sigma, replicate):
    """A part of 50 of 400 examples in each draw, where draws differ in noise by a log-normal factor."""
    drawn = np.random.Generator(np.random.Philox(replicate))
    scale = np.exp(sigma * drawn.normal(size=(draws, 1)))
    part, rest = (scale * drawn.normal(size=(draws, runs)) / np.sqrt(count) for count in (50, 350))
    return part, (50 * part + 350 * rest) / 400


def test_over_draws_the_ratio_is_that_of_the_root_mean_squares():
    part, whole = of_draws(4, 5, 1.0, 1)
    variances = [arm.var(axis=1, ddof=1) for arm in (part, whole)]
    found, ratio = sd_ratio(rates(part), rates(whole)), np.sqrt(variances[0].mean() / variances[1].mean())
    without = [np.log([np.delete(one, draw).mean() for draw in range(4)]) / 2 for one in variances]
    # The jackknife's error has the factor sqrt(3 / 4); few draws are allowed for by its inverse.
    reach = stats.t.ppf(0.975, 3) * np.sqrt(4 * np.var(without[0] - without[1]))
    assert found == pytest.approx((ratio, ratio * np.exp(-reach), ratio * np.exp(reach)))
    # One draw without noise in the part: the mean of the ratios' logarithms has no such value.
    assert sd_ratio(rates([np.zeros(5), *part[1:]]), rates(whole)).value > 0
    assert_equal(sd_ratio(rates(part[:2]), rates(whole[:2]))[1:], (NAN, NAN))


# Jackknife means over pairs of runs, and over pairs of other units


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


@pytest.mark.parametrize(
    ("matrix", "wanted"),
    [
        (np.zeros((0, 0)), UNDEFINED),
        (np.zeros((1, 1)), UNDEFINED),
        (np.array([[0, 0.3], [0.3, 0]]), Estimate(0.3)),
        (np.zeros((5, 5)), Estimate(0.0)),
    ],
)
def test_few_runs_and_bit_equal_ones_have_no_interval(matrix, wanted):
    assert_equal(pairwise_jackknife(Pairs.of(matrix)), wanted)


def distances(places):
    return Pairs.of(np.abs(places[:, np.newaxis] - places))


def test_many_runs_are_compared_within_blocks_that_each_have_enough():
    runs, asked = 5 * MANY + 1, []
    (found,) = within_blocks(runs, lambda some: asked.append(some) or [distances(np.arange(runs)[some] * 1.0)])
    sizes = [some.stop - some.start for some in asked]
    assert (sum(sizes), max(sizes) <= MANY, min(sizes) >= MANY / 2) == (runs, True, True)
    # A sum over the block stands for one over all others.
    assert found.sums[0] == pytest.approx(np.arange(sizes[0]).mean() * sizes[0] / (sizes[0] - 1) * (runs - 1))


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
    # Units differ, so that the jackknife's error is above that of independent pairs.
    a, noisy = drawn_symmetric(5), 3 * RNG.random(5)
    b = a + np.add.outer(noisy, noisy)
    found = pairs_of_units.difference(in_arm(a), in_arm(b))
    leave = np.array([off_diagonal(without(b, unit)) - off_diagonal(without(a, unit)) for unit in range(5)])
    assert found == pytest.approx(t_interval(off_diagonal(b) - off_diagonal(a), standard_error(leave), 4))
