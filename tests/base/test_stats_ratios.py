"""Ratios and trends of arms, and the SD of a part over the SD of the whole."""

import numpy as np
import pytest
from numpy.testing import assert_equal
from scipy import stats

from toolnoise.formulas.groups import by_difficulty, by_size, freedom, independent_errors_sd, largest_by_size
from toolnoise.formulas.groups import sd_ratio as over_draws
from toolnoise.stats.contrasts import contrast, ratio
from toolnoise.stats.estimates import UNDEFINED, Estimate, standard_deviation
from toolnoise.stats.quantities import MEAN, PAIRS, SD, Arm, normal_sd, of_runs


def of_means(values, start=0):
    """An arm of a mean of runs, whose units are numbered from `start`."""
    return of_runs(np.array(values), range(start, start + len(values)), MEAN)


def test_a_ratio_of_two_sds_is_the_f_test():
    found = contrast([(1, normal_sd(0.3, 10)), (-1, normal_sd(0.9, 12))])
    ratio, null = 0.3 / 0.9, stats.f(9, 11)
    assert 2 * found.below(0) == pytest.approx(2 * null.cdf(ratio**2))
    assert np.exp(found.estimate) == pytest.approx((ratio, *(ratio / np.sqrt(null.ppf([0.975, 0.025])))))


def test_the_p_value_is_2_5_percent_at_the_bounds_of_the_interval():
    for found in (
        contrast([(1, normal_sd(0.3, 10)), (-1, normal_sd(0.9, 12))]),
        contrast([(1, of_means([1.0, 1.2, 0.9, 1.1])), (-1, of_means([2.0, 2.3, 1.8, 2.4], 4))]),
    ):
        assert found.above(found.estimate.low) == pytest.approx(0.025)
        assert found.below(found.estimate.high) == pytest.approx(0.025)


def test_units_that_arms_share_are_paired():
    one, other = np.array([1.0, 1.2, 0.9, 1.1]), np.array([2.0, 2.41, 1.8, 2.2])
    paired = contrast([(1, of_means(one)), (-1, of_means(other))])
    apart = contrast([(1, of_means(one)), (-1, of_means(other, 4))])
    assert paired.value == apart.value
    assert paired.error < apart.error / 10
    assert paired.freedom == 3


def test_equal_arms_decide_nothing():
    """Equal accuracies of runs that differ are luck; of bit-equal runs, the ratio says so by its design."""
    arm = of_means([1.0, 1.2, 0.9, 1.1])
    found = contrast([(1, arm), (-1, arm)])
    assert found.value == 0
    assert np.isnan([found.error, found.above(0.1), found.below(0.1)]).all()


def test_a_zero_has_no_logarithm_and_a_number_without_error_no_p_value():
    assert np.isnan(contrast([(1, normal_sd(0.0, 10)), (-1, normal_sd(0.9, 12))]).value)
    found = contrast([(1, Arm(0.1468, 5)), (-1, Arm(0.1489, 5))])
    assert np.exp(found.value) == pytest.approx(0.986, abs=1e-3)
    assert np.isnan([found.error, found.above(0)]).all()


def sds(values, start=0):
    return of_runs(np.array(values), range(start, start + len(values)), SD)


def test_sds_pooled_over_tasks_keep_their_level():
    """Of a mean log ratio of paired SDs of five runs on four tasks, 95 % intervals cover 1 in 90 to 99 %."""
    rng, hits, studies = np.random.default_rng(5), 0, 200
    for _ in range(studies):
        terms = [(weight, sds(rng.normal(size=5))) for _ in range(4) for weight in (0.25, -0.25)]
        low, high = contrast(terms).estimate[1:]
        hits += low < 0 < high
    assert 0.9 < hits / studies < 0.99


def test_an_sd_that_is_zero_without_one_run_has_the_error_of_normal_runs():
    flat, rough = sds([1.0, 0.0, 0.0, 0.0]), sds([0.3, 0.1, 0.5, 0.7], 4)
    assert not flat.moves
    found = contrast([(0.5, flat), (-0.5, rough)])
    moved = np.sum(np.square(list(rough.moves.values())))
    assert found.error == pytest.approx(np.sqrt(normal_sd(0.5, 4).error ** 2 + moved) / 2)


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


@pytest.mark.parametrize("one", [[0.1, 0.4], [0.0, 0.0, 0.0, 1.0]])
def test_two_sds_that_the_jackknife_cannot_see_have_neither_interval_nor_test(one):
    found = contrast([(1, sds(one)), (-1, sds([0.3, 0.1, 0.5, 0.7], 4))])
    assert found.value == pytest.approx(np.log(np.std(one, ddof=1) / np.std([0.3, 0.1, 0.5, 0.7], ddof=1)))
    assert np.isnan([*found.estimate[1:], found.above(0), found.below(0)]).all()


def test_what_is_known_of_two_sds_alone_has_an_interval_unless_its_ends_are_a_factor_of_20_apart():
    for runs, shown in ((3, False), (4, True)):
        low, high = contrast([(1, normal_sd(0.3, runs)), (-1, normal_sd(0.9, runs))]).estimate[1:]
        factor = stats.f.ppf(0.975, runs - 1, runs - 1)  # of the ends, which are its root and 1 over it away
        assert shown == (factor < 20)
        assert (high - low == pytest.approx(np.log(factor))) if shown else np.isnan([low, high]).all()


def test_one_sd_has_its_interval_however_wide():
    known = Arm(1.0, 2, error=0.0, squares=10**9)
    low, high = np.exp(contrast([(1, sds([0.0, 1.0])), (-1, known)]).estimate[1:])
    assert (low, high) == pytest.approx(np.sqrt(0.5 / stats.chi2.ppf([0.975, 0.025], 1)), rel=1e-3)
    assert high > 20 * low


def test_heavy_tails_do_not_make_equal_sds_differ():
    """Of ten runs, F calls equal SDs different in a tenth of studies and more; the jackknife in 5 to 7 %."""
    draws, studies = np.random.default_rng(11).standard_t(5, (600, 2, 10)), []
    for one, other in draws:
        found = contrast([(1, sds(one)), (-1, sds(other, 10))])
        by_f = stats.f.cdf(np.var(one) / np.var(other), 9, 9)
        studies.append((min(found.above(0), found.below(0)) < 0.025, min(by_f, 1 - by_f) < 0.025))
    jackknife, f = np.mean(studies, axis=0)
    assert 0.03 < jackknife < 0.07 < 0.1 < f


def test_the_arm_of_fewest_units_has_the_degrees_of_freedom():
    """Units of the larger arm do not add to those of the smaller."""
    few, whole = of_means([1.0, 1.2, 0.9]), of_means(np.linspace(2, 3, 12), 3)
    found = contrast([(1, whole), (-1, few)])
    assert found.freedom == 2
    assert found.units == (12, 3)


def test_noise_over_draws_may_be_zero_in_one():
    churns = np.repeat([0.005, 0.0, 0.015, 0.006], 4)
    arm = of_runs(churns, np.repeat(range(4), 4).tolist(), PAIRS)
    _, low, high = np.exp(contrast([(1, arm)]).estimate)
    each = np.array([0.005, 0.0, 0.015, 0.006])
    half = 3.182446 * standard_deviation(each) / 2 / each.mean()
    assert (low, high) == pytest.approx((each.mean() * np.exp(-half), each.mean() * np.exp(half)), rel=1e-6)


def test_an_sd_over_draws_is_the_root_of_the_mean_variance():
    values = np.array([1.0, 2.0, 3.0, 5.0, 9.0, 4.0])
    arm = of_runs(values, [0, 0, 1, 1, 2, 2], SD)
    assert arm.value == pytest.approx(np.sqrt((0.5 + 2 + 12.5) / 3))
    assert (arm.units, arm.squares, len(arm.moves)) == (3, 2, 3)


def test_units_that_agree_by_chance_decide_nothing():
    arm = of_runs(np.full(6, 0.4), [0, 0, 1, 1, 2, 2], PAIRS)
    found = contrast([(1, arm), (-1, arm._replace(value=0.2))])
    assert np.isnan([found.error, found.above(0), found.below(0)]).all()


def test_a_churn_over_pairs_leaves_out_one_run_of_all_its_pairs():
    distances = np.array([[0, 1, 2, 3], [1, 0, 4, 5], [2, 4, 0, 6], [3, 5, 6, 0]], float)
    arm = of_runs(distances.sum(axis=1) / 3, range(4), PAIRS)
    without = np.log(
        [np.delete(np.delete(distances, run, 0), run, 1)[np.triu_indices(3, 1)].mean() for run in range(4)]
    )
    assert list(arm.moves.values()) == pytest.approx(np.sqrt(3 / 4) * (without.mean() - without))


def test_there_is_no_ratio_to_nothing_and_no_interval_without_three_units():
    full, few, zero = of_means([0.1, 0.2, 0.3]), of_means([0.1, 0.3]), Arm(0.0, 3)
    assert str(ratio(full, zero)) == str(ratio(Arm(np.nan, 0), full)) == str(UNDEFINED)
    assert ratio(zero, full).value == 0
    for two in ((few, full), (full, few), (full.alone, full), (full, Arm(0.2, 3))):
        found = ratio(*two)
        assert found.value == pytest.approx(1)
        assert np.isnan([found.low, found.high]).all()


NAN = np.nan


def sd_ratio(part, whole):
    """The ratio of runs of one draw."""
    return over_draws([part], [whole])


def pvalue_of(null, part, whole):
    return null.pvalue(sd_ratio(part, whole).value, len(part) - 1)


def normal(count, replicate=1):
    return np.random.Generator(np.random.Philox(replicate)).normal(0.9, 0.01, count)


def test_ratio_has_the_jackknife_interval_of_its_logarithm():
    part, whole = normal(7, 1), normal(7, 2)
    logs = [np.log(np.std(np.delete(part, run), ddof=1) / np.std(np.delete(whole, run), ddof=1)) for run in range(7)]
    error = np.sqrt(6 / 7 * sum((log - np.mean(logs)) ** 2 for log in logs))
    ratio = np.std(part, ddof=1) / np.std(whole, ddof=1)
    factor = np.exp(2.446911851 * error)  # t at .975 with 6 degrees of freedom, from a printed table
    assert factor**2 < 20
    assert sd_ratio(part, whole) == pytest.approx((ratio, ratio / factor, ratio * factor), rel=1e-8)
    # The same ratio of three of these runs: the ends would be more than a factor of 20 apart.
    few = sd_ratio(part[:3], whole[:3])
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
        # Too uncertain for a float.
        ([0.0, 1e-150, 1.0], [1.0, 0.0, 1e-150], Estimate(1.0)),
        ([], [], UNDEFINED),
        ([0.0], [0.0], UNDEFINED),
        ([0.0, 2.0], [0.0, 1.0], Estimate(2.0)),
    ],
)
def test_a_ratio_of_few_runs_or_of_an_sd_of_zero_has_no_interval(part, whole, wanted):
    found = sd_ratio(np.array(part), np.array(whole))
    assert found.value == pytest.approx(wanted.value, nan_ok=True)
    assert np.isnan(found[1:]).all()


@pytest.mark.parametrize(("part", "whole", "runs"), [(10, 1000, 10), (90, 100, 3)])
def test_ratio_by_size_alone_holds_95_percent_of_studies_without_any_other_difference(part, whole, runs):
    draws = np.random.Generator(np.random.Philox(part))
    one, rest = (draws.normal(size=(20_000, runs)) / np.sqrt(size) for size in (part, whole - part))
    both = (part * one + (whole - part) * rest) / whole
    ratios = one.std(axis=1) / both.std(axis=1)
    expected, low, high = by_size(part, whole).range(runs - 1)
    assert expected == pytest.approx(np.sqrt(whole / part))
    # Of 20,000 binomial draws, 0.4 points are more than two standard errors on each side.
    assert np.mean(ratios < low) == pytest.approx(0.025, abs=0.004)
    assert np.mean(ratios > high) == pytest.approx(0.025, abs=0.004)


def test_ratio_by_size_alone_has_the_limit_of_the_f_test_and_needs_an_example_and_two_runs():
    # A part so small that it says nothing about the whole: two independent SDs of 10 runs, a factor of 2.01.
    expected, low, high = by_size(1, 10**9).range(9)
    assert round(high / expected, 2) == round(expected / low, 2) == 2.01
    assert_equal(by_size(0, 9).range(9), UNDEFINED)
    assert by_size(7, 7).range(9) == (1, 1, 1), "the whole is always as noisy as itself"
    assert_equal(by_size(1, 9).range(0), Estimate(3.0, NAN, NAN))


@pytest.mark.parametrize(("classes", "published"), [(10, (4.4, 2.9, 7.8)), (100, (16.8, 10.8, 29))])
def test_the_largest_ratio_of_equal_classes_is_the_one_derived_for_the_paper(classes, published):
    assert largest_by_size(np.full(classes, 100), 10) == pytest.approx(published, rel=0.05)


def test_the_largest_ratio_follows_the_smallest_class_and_empty_ones_do_not_count():
    sizes = np.array([100, 100, 4])
    assert largest_by_size(sizes, 10).value > largest_by_size(sizes[:2], 10).value
    assert largest_by_size(np.array([100, 0, 100]), 10) == largest_by_size(sizes[:2], 10)
    assert_equal(largest_by_size(sizes, 1), UNDEFINED)
    assert_equal(largest_by_size(np.zeros(2, int), 10), UNDEFINED)


def test_a_parts_sd_is_significant_exactly_if_its_ratio_lies_outside_what_size_makes_it():
    part, whole = 3, 10
    _, low, high = by_size(part, whole).range(9)
    for replicate in range(200):
        runs = np.random.Generator(np.random.Philox(replicate)).normal(0, 1, (whole, 10))
        one, all_of_them = runs[:part].mean(axis=0), runs.mean(axis=0)
        pvalue = pvalue_of(by_size(part, whole), one, all_of_them)
        ratio = one.std(ddof=1) / all_of_them.std(ddof=1)
        assert (pvalue < 0.05) == (not low < ratio < high)


def test_a_part_without_noise_or_that_is_the_whole_or_an_unknown_one_is_not_tested():
    assert np.isnan(pvalue_of(by_size(1, 10), np.full(5, 0.9), normal(5)))
    assert np.isnan(pvalue_of(by_size(9, 9), normal(5), normal(5)))
    assert np.isnan(pvalue_of(by_size(1, 2), normal(1), normal(1)))
    for one, other in ((0.0, 0.1), (0.1, 0.0), (NAN, 0.1)):
        assert_equal(by_difficulty(one, 5, other, 10).range(9), UNDEFINED)
        assert np.isnan(pvalue_of(by_difficulty(one, 5, other, 10), normal(10), normal(10, 2)))
    # Where all examples err equally often, difficulty is size.
    sds = [np.sqrt(0.1 * 0.9 / examples) for examples in (30, 100)]
    assert by_difficulty(sds[0], 30, sds[1], 100) == pytest.approx(by_size(30, 100))


def test_independent_errors_of_a_hard_part_are_unlike_its_size_and_like_its_difficulty():
    # The first 100 of 500 examples err in a third of runs, the others in one of a hundred.
    errors = np.where(np.arange(500) < 100, 1 / 3, 0.01)
    draws = np.random.Generator(np.random.Philox(4))
    size, difficulty, within = [], [], []
    for _ in range(300):
        right = draws.random((20, 500)) >= errors
        hard = right[:, :100]
        part, whole = hard.mean(axis=1), right.mean(axis=1)
        null = by_difficulty(independent_errors_sd(hard), 100, independent_errors_sd(right), 500)
        _, low, high = null.range(19)
        size.append(pvalue_of(by_size(100, 500), part, whole) < 0.05)
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
    found, ratio = over_draws(part, whole), np.sqrt(variances[0].mean() / variances[1].mean())
    without = [np.log([np.delete(one, draw).mean() for draw in range(4)]) / 2 for one in variances]
    # The jackknife's error has the factor sqrt(3 / 4); few draws are allowed for by its inverse.
    reach = stats.t.ppf(0.975, 3) * np.sqrt(4 * np.var(without[0] - without[1]))
    assert found == pytest.approx((ratio, ratio * np.exp(-reach), ratio * np.exp(reach)))
    # One draw without noise in the part: the mean of the ratios' logarithms has no such value.
    assert over_draws([np.zeros(5), *part[1:]], whole).value > 0
    assert_equal(over_draws(part[:2], whole[:2])[1:], (NAN, NAN))


@pytest.mark.parametrize(("draws", "runs", "sigma"), [(2, 4, 0), (4, 4, 1.3)])
def test_the_null_holds_its_level_where_draws_differ(draws, runs, sigma):
    null, rejected = by_size(50, 400), []
    for study in range(600):
        part, whole = of_draws(draws, runs, sigma, study)
        ratio, known = over_draws(part, whole).value, freedom(whole)
        rejected.append(null.pvalue(ratio, known) < 0.05)
        _, low, high = null.range(known)
        assert rejected[-1] == (not low < ratio < high)
    assert np.mean(rejected) < 0.065


def test_the_freedom_of_draws_is_that_of_all_or_of_the_only_one_with_noise():
    runs = normal(5)
    assert freedom([runs]) == freedom([runs, np.zeros(5), np.zeros(1)]) == 4
    assert freedom([runs, runs + 1, 2 - runs]) == pytest.approx(12)
    assert np.isnan(freedom([np.zeros(5)] * 2))
