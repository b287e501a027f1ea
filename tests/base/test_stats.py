"""Means, SDs, ratios and trends with their intervals; comparisons of two means, and how many runs a claim needs."""

import itertools
import json
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_equal
from scipy import stats

from toolnoise.base import metric_files
from toolnoise.comparison import designs, sample_size
from toolnoise.comparison.two_arms import (
    hedges_g,
    paired_difference,
    partly_paired_difference,
    probability_of_improvement,
)
from toolnoise.formulas.churn import ExampleChurn, two_way_bootstrap
from toolnoise.formulas.groups import (
    Rate,
    by_difficulty,
    by_size,
    distribution_wise_variance,
    independent_errors_sd,
    largest_by_size,
    sd_ratio,
)
from toolnoise.formulas.stability import STABILITY
from toolnoise.formulas.variance_components import components
from toolnoise.papers.identical.draw import range_in_sds
from toolnoise.stats.contrasts import MEAN, SD, contrast, normal_sd, of_runs
from toolnoise.stats.estimates import (
    UNDEFINED,
    Estimate,
    equal_runs_sd,
    mean_t,
    positive_mean_t,
    root_mean_square,
    sd_chi2,
    sd_robust,
    t_interval,
)
from toolnoise.stats.jackknife import (
    MANY,
    Pairs,
    pairwise_jackknife,
    pairwise_mean,
    standard_error,
    within_blocks,
)
from toolnoise.stats.significance import UNDECIDED, holm_pvalues, mean_difference, runs_needed

NAN = np.nan


def normal(count, replicate=1):
    return np.random.Generator(np.random.Philox(replicate)).normal(0.9, 0.01, count)


@pytest.mark.parametrize(
    ("count", "low", "high"),
    [
        (5, 0.60, 2.87),
        (10, 0.69, 1.83),
        (100, 0.88, 1.16),
    ],
)
def test_chi_square_interval_has_the_published_factors(count, low, high):
    found = sd_chi2(normal(count))
    assert round(found.low / found.value, 2) == low
    assert round(found.high / found.value, 2) == high


@pytest.mark.parametrize(("count", "steps"), [(2, 11.3), (5, 0.98), (10, 0.64), (100, 0.193)])
def test_equal_values_of_a_rate_leave_an_sd_possible_that_falls_with_the_runs(count, steps):
    values = np.full(count, 0.9)
    found = sd_chi2(values, 1 / 50)
    assert found == sd_robust(values, 1 / 50) == equal_runs_sd(count, 1 / 50)
    assert found == pytest.approx((0, 0, steps / 50), rel=5e-3)


def bonett(values):
    """The interval of a variance as Bonett (2006) writes it, and its root."""
    n, z = len(values), 1.959964
    trimmed = stats.trim_mean(values, 1 / (2 * np.sqrt(n - 4)))
    kurtosis = n * ((values - trimmed) ** 4).sum() / ((values - values.mean()) ** 2).sum() ** 2
    c = n / (n - z)
    error = c * np.sqrt((kurtosis - (n - 3) / n) / (n - 1))
    centre = np.log(c * values.var(ddof=1))
    return values.std(ddof=1), *np.exp(np.array([centre - z * error, centre + z * error]) / 2)


@pytest.mark.parametrize("values", [normal(10), normal(30, 2) ** 3, np.array([3, 3, 4, 7, 7, 7, 9, 9]) / 10])
def test_the_robust_interval_is_bonetts(values):
    assert sd_robust(values) == pytest.approx(bonett(values), rel=1e-5)


def test_the_range_of_normal_runs_in_sds_grows_with_their_number_as_tables_of_quality_control_have_it():
    # d2, to three digits.
    wanted = {2: 1.128, 3: 1.693, 5: 2.326, 10: 3.078, 16: 3.532, 25: 3.931}
    assert {runs: round(range_in_sds(runs), 3) for runs in wanted} == wanted
    assert range_in_sds(1) == pytest.approx(0, abs=1e-12)


def test_an_sd_over_draws_may_have_a_draw_without_noise_but_not_only_such():
    found = root_mean_square(np.array([0.0, 1.0, 1.0, 1.0]))
    assert found.value == pytest.approx(np.sqrt(3 / 4))
    assert 0 < found.low < found.value < found.high < 2
    assert_equal(root_mean_square(np.zeros(4)), Estimate(0.0, NAN, NAN))
    assert_equal(root_mean_square(np.array([0.0, 0.0, 0.0, 1.0])), Estimate(0.5, NAN, NAN))
    assert_equal(root_mean_square(np.array([1.0, 2.0])), Estimate(np.sqrt(2.5), NAN, NAN))
    # It would reach further than any SD of an accuracy does.
    found = root_mean_square(np.array([0.001, 0.001, 1.0]))
    assert found.value == pytest.approx(np.sqrt(1.000002 / 3))
    assert_equal(found[1:], (NAN, NAN))


def test_mean_has_students_interval():
    found = mean_t(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    half = 2.7764451 * np.sqrt(2.5 / 5)  # t at .975 with 4 degrees of freedom, from a printed table
    assert found == pytest.approx((3, 3 - half, 3 + half), rel=1e-7)


T3 = 3.1824463  # t at .975 with 3 degrees of freedom, from a printed table


def test_a_mean_over_draws_has_the_interval_of_its_logarithm():
    values = np.array([0.5, 0.4, 1.5, 0.6])
    squared = np.var(np.sqrt(values), ddof=1) / np.mean(np.sqrt(values)) ** 2
    factor = np.exp(T3 * np.sqrt(((1 + squared) ** 4 - 1) / 3))
    assert positive_mean_t(values) == pytest.approx((0.75, 0.75 / factor, 0.75 * factor), rel=1e-7)
    wider = np.exp(T3 * np.sqrt(((1 + squared) ** 4 - 1) / 3 + 0.5))
    assert positive_mean_t(values, 0.5).high == pytest.approx(0.75 * wider, rel=1e-7)
    # Of a share of the draws, which have noise; of one there is no interval.
    some = np.array([0.0, 0.4, 1.5, 0.6])
    squared = np.var(np.sqrt(some[1:]), ddof=1) / np.mean(np.sqrt(some[1:])) ** 2
    factor = np.exp(T3 * np.sqrt(((1 + squared) ** 4 / 0.75 - 1) / 3))
    assert positive_mean_t(some) == pytest.approx((0.625, 0.625 / factor, 0.625 * factor), rel=1e-7)
    assert_equal(positive_mean_t(np.array([0.0, 0.0, 0.6]))[1:], (NAN, NAN))


PVALUES = st.lists(st.floats(0, 1), min_size=1, max_size=20).map(np.array)


@given(PVALUES)
def test_holm_rejects_what_his_steps_reject(pvalues):
    for level in (0.01, 0.05, 0.5):
        rejected, left = set(), len(pvalues)
        for place in np.argsort(pvalues, kind="stable"):
            if pvalues[place] * left > level:
                break
            rejected.add(int(place))
            left -= 1
        assert set(np.flatnonzero(holm_pvalues(pvalues) <= level)) == rejected


def test_holm_by_hand():
    assert_allclose(holm_pvalues(np.array([0.01, 0.04, 0.03])), [0.03, 0.06, 0.06])
    # An undefined p-value is no test.
    assert_equal(
        holm_pvalues(np.array([NAN, 0.01, NAN, 0.02])), np.insert(holm_pvalues(np.array([0.01, 0.02])), [0, 1], NAN)
    )
    assert_equal(holm_pvalues(np.array([NAN])), [NAN])
    assert holm_pvalues(np.array([])).shape == (0,)


TRUE = {"algo": 1.0, "impl": 0.7, "impl_alone": 0.2, "interaction": 0.5}


def effects(draws, rows, columns):
    scales = np.sqrt([TRUE["algo"], TRUE["impl_alone"], TRUE["interaction"]])
    shapes = (rows, 1), (1, columns), (rows, columns)
    return sum(scale * draws.normal(size=shape) for scale, shape in zip(scales, shapes, strict=True))


def test_estimates_are_unbiased_and_intervals_cover():
    draws = np.random.Generator(np.random.Philox(7))
    found = [components(effects(draws, 4, 5), crossed=True) for _ in range(1000)]
    for name, wanted in TRUE.items():
        values, lows, highs = np.array([getattr(one, name) for one in found]).T
        assert abs(values.mean() - wanted) < 4 * values.std() / np.sqrt(len(values)), name
        assert 0.93 < np.mean((lows <= wanted) & (wanted <= highs)) < 0.995, name


DRAWS = np.random.Generator(np.random.Philox(7))


def churn(predictions, stream=1, **options):
    return two_way_bootstrap(ExampleChurn(predictions), stream, **options)


def test_many_runs_leave_the_uncertainty_of_the_examples():
    # Every run errs as every other does, so that what varies is which examples are hard.
    hard = DRAWS.random(400) < 0.3
    predictions = np.where(hard, DRAWS.integers(0, 2, (60, 400)), 0)
    found = churn(predictions, resamples=300)
    counts = predictions.sum(axis=0)
    by_example = 2 * counts * (60 - counts) / (60 * 59)
    assert (found.high - found.low) / 2 == pytest.approx(1.96 * by_example.std() / 20, rel=0.15)


def variance_of_runs(right, step=0.0):
    """The variance of runs of one draw."""
    return distribution_wise_variance([right], sd_robust(right.mean(axis=1), step))


RIGHT = st.tuples(st.integers(2, 6), st.integers(2, 9)).flatmap(lambda shape: arrays(np.bool_, shape))


@given(RIGHT)
def test_the_distribution_wise_variance_is_the_mean_covariance_of_two_examples(right):
    covariances = np.cov(right.T.astype(float), ddof=1)
    pairs = [covariances[i, j] for i, j in itertools.permutations(range(right.shape[1]), 2)]
    assert variance_of_runs(right).value == pytest.approx(np.mean(pairs), abs=1e-12)


def test_its_interval_is_that_of_the_variance_less_what_independent_errors_make():
    right = np.random.Generator(np.random.Philox(4)).random((10, 50)) < 0.8
    bounds = np.array(sd_robust(right.mean(axis=1))[1:]) ** 2
    wanted = 50 / 49 * (bounds - independent_errors_sd(right) ** 2)
    assert variance_of_runs(right)[1:] == pytest.approx(tuple(wanted))


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


def rates(draws, examples=1, independent_sd=NAN):
    """A rate in the runs of each draw."""
    return [Rate(np.array(runs), examples, independent_sd) for runs in draws]


def pvalue_of(null, part, whole):
    return null.pvalue(sd_ratio(rates([part]), rates([whole])).value, len(part) - 1)


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


# tests/papers/test_published.py has the value of a hundred classes.
def test_the_largest_ratio_of_ten_equal_classes_is_the_one_derived_for_the_paper():
    assert largest_by_size(np.full(10, 100), 10) == pytest.approx((4.4, 2.9, 7.8), rel=0.05)


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
    return designs.in_arm(matrix, np.arange(first, first + len(matrix)))


def left(found):
    return found.value + found.changes


def test_between_partly_paired_arms_a_unit_is_left_out_of_both_where_it_is_in_both():
    matrix, a, b = RNG.random((4, 5)), np.array([7, 1, 2, 3]), np.array([7, 3, 4, 5, 6])
    found = designs.between_arms(matrix, a, b)
    other = a[:, np.newaxis] != b
    assert found.value == pytest.approx(matrix[other].mean())
    assert found.units.tolist() == [1, 2, 3, 4, 5, 6, 7]
    expected = [matrix[other & (a != unit)[:, np.newaxis] & (b != unit)].mean() for unit in found.units]
    np.testing.assert_allclose(left(found), expected)
    low, high = designs.estimate(found)[1:]
    assert low < found.value < high


def test_a_difference_of_paired_arms_leaves_a_unit_out_of_both():
    # Units differ, so that the jackknife's error is above that of independent pairs.
    a, noisy = drawn_symmetric(5), 3 * RNG.random(5)
    b = a + np.add.outer(noisy, noisy)
    found = designs.difference(in_arm(a), in_arm(b))
    leave = np.array([off_diagonal(without(b, unit)) - off_diagonal(without(a, unit)) for unit in range(5)])
    assert found == pytest.approx(t_interval(off_diagonal(b) - off_diagonal(a), standard_error(leave), 4))


# Comparisons of means: Welch's test, Hedges' g, probability of improvement


NORMALS = np.random.Generator(np.random.Philox(2))
BASE, BETTER = NORMALS.normal(0.90, 0.002, 10), NORMALS.normal(0.903, 0.005, 7)


def welch(a, b):
    return stats.ttest_ind(b, a, equal_var=False)


def student(a, b):
    return stats.ttest_rel(b, a)


@pytest.mark.parametrize(
    ("test", "scipys", "a", "b"),
    [
        (mean_difference, welch, BASE[:3], BETTER[:3]),  # small, but equally so
        (partial(partly_paired_difference, pairs=5), student, BASE[5:], BETTER[:5]),
        (partial(partly_paired_difference, pairs=0), welch, BASE[:3], BETTER[:3]),
        (partial(partly_paired_difference, pairs=0), welch, BASE[5:], BETTER),
    ],
)
def test_a_difference_has_the_test_and_the_interval_of_scipy(test, scipys, a, b):
    found, wanted = test(a, b), scipys(a, b)
    assert found[:2] == pytest.approx((wanted.statistic, wanted.pvalue))
    assert found.effect == pytest.approx((b.mean() - a.mean(), *wanted.confidence_interval()))


def test_a_small_arm_has_no_more_than_its_degrees_of_freedom():
    small = [(most, 0.9 + 1e-6 * np.arange(runs), BETTER) for runs, most in ((2, 1.2), (3, 2.5), (4, 4.5))]
    for most, *arms in (*small, (1.2, BASE[:2], 1 - BASE[:2])):
        found = mean_difference(*arms)
        assert found.pvalue == pytest.approx(2 * stats.t.sf(abs(found.statistic), most))


def test_bit_equal_arms_differ_or_they_do_not():
    same, other = np.full(3, 0.5), np.full(4, 0.75)
    assert mean_difference(same, same) == (0, 1, (0, 0, 0))
    assert mean_difference(same, other) == (np.inf, 0, (0.25, 0.25, 0.25))


@pytest.mark.parametrize("runs", [2, 5, 10])
def test_equal_accuracies_in_each_arm_are_no_proof(runs):
    one = np.full(runs, 0.90), np.full(runs, 0.91)  # apart by one example of 100
    found = mean_difference(*one, (0.01, 0.01))
    assert found.effect == pytest.approx((0.01, 0.01 - 0.03689 / runs, 0.01 + 0.03689 / runs), rel=1e-3)
    assert found.pvalue == pytest.approx(min(1, 2 * np.exp(-runs)))
    assert (found.pvalue <= 0.05) == (found.effect.low > 0) == (runs > 2)
    assert mean_difference(one[0], one[0], (0.01, 0.01)).pvalue == 1


def test_the_ends_of_gs_interval_are_where_the_t_found_is_at_the_edge():
    found = hedges_g(BASE, BETTER)
    t = stats.ttest_ind(BETTER, BASE).statistic
    shifts = t * np.array([found.low, found.high]) / found.value
    assert stats.nct.cdf(t, 15, shifts) == pytest.approx([0.975, 0.025], abs=2e-5)


def test_the_interval_of_improvement_is_where_the_score_test_is_at_its_level():
    chance, low, high = probability_of_improvement(BASE, BETTER)
    for end in (low, high):
        hanley_mcneil = end * (1 - end) * (1 + 7.5 * ((1 - end) / (2 - end) + end / (1 + end))) / 70
        assert abs(chance - end) / np.sqrt(hanley_mcneil) == pytest.approx(1.959964, rel=1e-5)


def test_improvement_counts_pairs_and_half_the_ties_and_none_of_the_same_draw():
    a = np.array([1.0, 2.0, 3.0])
    assert probability_of_improvement(a, np.array([2.0, 4.0])).value == (1 + 0.5 + 0 + 3) / 6
    assert probability_of_improvement(a, a + 0.5, 3).value == pytest.approx(0.5)  # three more are all better
    assert probability_of_improvement(a, a[:2] + 0.5, 1).value == pytest.approx(2 / 5)
    assert_equal(probability_of_improvement(a[:1], a[:1], 1), UNDEFINED)
    assert_equal(paired_difference(a[:1], a[1:2]), UNDECIDED)


def arms(runs_a, runs_b, pairs, correlation, ratio=1.0, studies=1_000):
    """Normal runs of two methods in many studies; the first ones of both are correlated."""
    rng = np.random.Generator(np.random.Philox(11))
    a, own = rng.standard_normal((studies, runs_a)), rng.standard_normal((studies, runs_b))
    common = correlation * a[:, :pairs] + np.sqrt(1 - correlation**2) * own[:, :pairs]
    return a, ratio * np.concatenate([common, own[:, pairs:]], axis=1)


@pytest.mark.parametrize(
    ("runs_a", "runs_b", "pairs", "correlation", "ratio"),
    [
        (3, 10, 1, 0.5, 0.5),
        (4, 10, 4, 0.7, 0.5),
        (5, 5, 4, 0.8, 2.0),
    ],
)
def test_unequal_arms_name_no_more_false_winners(runs_a, runs_b, pairs, correlation, ratio):
    studies = zip(*arms(runs_a, runs_b, pairs, correlation, ratio), strict=True)
    # Of 1,000 studies at 6 %, 19 of 20 have no more than 7.3 %.
    assert np.mean([partly_paired_difference(*both, pairs).pvalue < 0.05 for both in studies]) <= 0.073


def test_the_interval_is_where_the_test_rejects():
    a, b = arms(8, 6, 5, 0.8, studies=40)
    for both in zip(a, b + 0.8, strict=True):
        found = partly_paired_difference(*both, 5)
        assert (found.pvalue < 0.05) == (found.effect.low > 0 or found.effect.high < 0)
        assert found.effect.value == pytest.approx(-partly_paired_difference(*both[::-1], 5).effect.value)


# How many runs a claim needs: known numbers, simulations, and what `toolnoise plan` says of it and refuses


def test_a_difference_of_one_sd_takes_seventeen_runs():
    # The textbook's number, for two arms, 80 % and 5 %.
    assert runs_needed(lambda runs: sample_size.difference_power(runs, 1, 1)) == 17


@pytest.mark.parametrize(("runs", "difference"), [(3, 3), (10, 1), (10, 0)])
def test_the_power_for_a_difference_is_how_often_the_comparisons_test_finds_it(runs, difference):
    rng = np.random.Generator(np.random.Philox(8))
    one, other = rng.normal(0, 1, (4_000, runs)), rng.normal(difference, 1, (4_000, runs))
    share = np.mean([mean_difference(*both).pvalue <= 0.05 for both in zip(one, other, strict=True)])
    assert sample_size.difference_power(runs, difference, 1) == pytest.approx(share, abs=0.025)


CELL = ("smallcnn", "digits", "cpu")
PILOT = {"algo_impl": (0.0025, 0.00172, 0.00456, 10), "impl": (0.0012, 0.0008, 0.0022, 10), "control": (0, 0, 0, 2)}


@pytest.fixture
def pilot(tmp_path):
    """A metric file of three cells."""
    path = tmp_path / "stability.csv"
    rows = []
    for variant, (*estimate, runs) in PILOT.items():
        rows.append((*CELL, variant, "accuracy_mean", "all", 0.9, 0.8, 0.95, runs, 0))
        rows.append((*CELL, variant, "accuracy_sd", "all", *estimate, runs, 0))
        rows.append((*CELL, variant, "accuracy_sd", "3", 0.1, 0.05, 0.2, runs, 0))
    metric_files.write_metrics(path, STABILITY, rows)
    return path


def test_is_a_gain_of_a_third_of_a_point_real(printed_by_verb):
    lines = printed_by_verb("plan", "--sd", 0.25, "--sd-runs", 10, "--gain", 0.3).splitlines()
    assert lines[0] == "SD of accuracy, as given: 0.25 points (0.172 to 0.456, from 10 runs)"
    assert lines[5].split("  ") == ["a gain of 0.3 points", "13 (7 to 38)"]
    assert lines[-2:] == ["  in 42 % of cases with one run each", "  in 2.5 % of cases with 10 runs each"]


def test_a_pilots_sd_and_its_interval_are_in_points(printed_by_verb, pilot):
    options = "--pilot", pilot, "--arm", "algo_impl", "--gain", 0.3, "--json"
    found = json.loads(printed_by_verb("plan", *options))
    wanted = {"value": 0.25, "low": 0.172, "high": 0.456, "runs": 10, "source": "smallcnn/digits/cpu/algo_impl"}
    assert found["sd"] == {key: pytest.approx(value) for key, value in wanted.items()}
    (needed,) = found["needed"]
    assert needed["runs_per_arm"] == runs_needed(lambda runs: sample_size.difference_power(runs, 0.3, 0.25))
    assert (needed["runs_per_arm_low"], needed["runs_per_arm_high"]) == (7, 38)
    assert [chance["runs_per_arm"] for chance in needed["by_chance"]] == [1, 10]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--gain", 0.3], "--sd: missing: how many runs depends on the SD; pilot or sd"),
        (["--sd", "inf"], "--sd: found inf"),
        (["--sd-runs", 5], "--sd-runs: given without sd"),
        (["--arm", "algo"], "--arm: given without pilot"),
        (["--sd", 1, "--level", 0], "--level: found 0; a share between 0 and 1"),
        (["--sd", 1, "--power", 0.04], "--power: found 0.04; more than the level, 0.05"),
        (["--pilot", "nowhere.csv"], "nowhere.csv: no such file; expected a metric file"),
        (["--sd", "1e-300", "--gain", "1"], "--sd: found 1e-300; points from 0.000001 to 100, such as 0.25"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(options, says, refused_by_verb):
    assert says in refused_by_verb("plan", *options)


def test_a_pilot_of_several_cells_must_be_told_which(refused_by_verb, pilot):
    assert "cells: 3 with no choice given; choose by arm one of " in refused_by_verb(
        "plan", "--pilot", pilot, "--gain", 1
    )
    assert "cells: none with algo; " in refused_by_verb("plan", "--pilot", pilot, "--arm", "algo")
    assert "--sd: given with pilot" in refused_by_verb("plan", "--pilot", pilot, "--sd", 0.3)
