import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_equal
from scipy import stats

from toolnoise import streams
from toolnoise.stats.estimates import LEVEL, UNDEFINED, Estimate
from toolnoise.stats.spread import (
    RESAMPLES,
    largest_sd_ratio_by_size,
    range_in_sds,
    sd_bootstrap,
    sd_chi2,
    sd_ratio,
    sd_ratio_by_size,
    sd_ratio_by_size_test,
    sd_robust,
    sd_without_each,
)

NAN = np.nan
STREAM = streams.key(0, "init", 1)
FRACTIONS = st.lists(st.integers(0, 20).map(lambda count: count / 20), max_size=8).map(np.array)


def normal(count, replicate=1):
    return np.random.Generator(np.random.Philox(replicate)).normal(0.9, 0.01, count)


@pytest.mark.parametrize(
    ("count", "low", "high"),
    [
        (5, 0.60, 2.87),
        (10, 0.69, 1.83),
        (16, 0.74, 1.55),
        (25, 0.78, 1.39),
        (50, 0.84, 1.25),
        (100, 0.88, 1.16),
    ],
)
def test_chi_square_interval_has_the_published_factors(count, low, high):
    found = sd_chi2(normal(count))
    assert round(found.low / found.value, 2) == low
    assert round(found.high / found.value, 2) == high


def test_intervals_are_at_95_percent():
    assert LEVEL == 0.95


def test_sd_has_ddof_one():
    assert sd_chi2(np.array([2.0, 4.0, 4.0, 6.0])).value == pytest.approx(np.sqrt(8 / 3), rel=1e-15)


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_runs_have_no_sd(count):
    assert_equal(sd_chi2(np.ones(count)), UNDEFINED)
    assert_equal(sd_bootstrap(np.ones(count), STREAM), UNDEFINED)


@pytest.mark.parametrize("count", [2, 3, 10])
def test_equal_runs_have_an_sd_of_exactly_zero_with_a_zero_interval(count):
    values = np.full(count, 0.1)
    assert sd_chi2(values) == (0, 0, 0)
    assert sd_bootstrap(values, STREAM) == (0, 0, 0)


def test_undefined_values_have_an_undefined_sd():
    values = np.full(4, NAN)
    assert_equal(sd_chi2(values), UNDEFINED)
    assert_equal(sd_bootstrap(values, STREAM), UNDEFINED)


def test_two_runs_have_an_sd_but_no_bootstrap_interval():
    assert_equal(sd_bootstrap(np.array([0.0, 1.0]), STREAM), Estimate(np.sqrt(0.5), NAN, NAN))


@given(FRACTIONS)
@settings(max_examples=30, deadline=None)
def test_both_intervals_belong_to_the_same_sd_and_are_never_negative(values):
    normal_theory, bootstrap = sd_chi2(values), sd_bootstrap(values, STREAM)
    assert_equal(bootstrap.value, normal_theory.value)
    assert not bootstrap.low < 0
    assert not normal_theory.low < 0
    assert not bootstrap.low > bootstrap.high
    assert all(type(part) is float for part in (*normal_theory, *bootstrap))


def test_bootstrap_repeats_exactly_and_only_with_its_stream():
    values = normal(10)
    assert sd_bootstrap(values, STREAM) == sd_bootstrap(values, STREAM)
    assert sd_bootstrap(values, STREAM) != sd_bootstrap(values, streams.key(0, "init", 2))


def exact_bca(counts, scale):
    """BCa by its textbook formulas for values counts / scale, with ties and SDs from exact integers."""

    def spread(sample):
        return len(sample) * sum(x * x for x in sample) - sum(sample) ** 2  # n (n - 1) times the variance

    def sd(sample):
        return np.sqrt(spread(sample) / (len(sample) * (len(sample) - 1))) / scale

    runs = len(counts)
    drawn = streams.integers(STREAM, (RESAMPLES, runs), runs).tolist()
    samples = [[counts[run] for run in row] for row in drawn]
    lower = np.mean([spread(sample) < spread(counts) for sample in samples])
    tied = np.mean([spread(sample) == spread(counts) for sample in samples])
    bias = stats.norm.ppf(lower + tied / 2)
    without = [[*counts[:run], *counts[run + 1 :]] for run in range(runs)]
    distances = np.mean([sd(sample) for sample in without]) - np.array([sd(sample) for sample in without])
    if len({spread(sample) for sample in without}) == 1:
        acceleration = 0
    else:
        acceleration = (distances**3).sum() / (6 * (distances**2).sum() ** 1.5)
    z = bias + stats.norm.ppf([0.025, 0.975])
    levels = stats.norm.cdf(bias + z / (1 - acceleration * z))
    return sd(counts), *np.quantile([sd(sample) for sample in samples], levels)


@pytest.mark.parametrize(
    "counts",
    [
        [9012, 9034, 9007, 9055, 9021, 9068, 9002, 9040],
        [900, 901, 900, 900, 900, 903, 900, 900, 901, 900],
        [17, 17, 17, 18, 18, 18],  # the same SD without any run
        [3, 1, 1],
        [99, 99, 99, 99, 99, 99, 99, 99, 99, 98],
    ],
)
@pytest.mark.parametrize("scale", [1, 10_000, 997])
def test_bootstrap_equals_bca_in_exact_arithmetic_whatever_the_ties(counts, scale):
    found = sd_bootstrap(np.array(counts) / scale, STREAM)
    assert found == pytest.approx(exact_bca(counts, scale), rel=1e-9)


@pytest.mark.parametrize("values", [normal(10), normal(30, 2) ** 3, np.array([3, 3, 4, 7, 7, 7, 9, 9]) / 10])
def test_bootstrap_agrees_with_scipys(values):
    def sd(sample, axis):
        return np.std(sample, ddof=1, axis=axis)

    rng = np.random.Generator(np.random.Philox(1))
    scipys = stats.bootstrap((values,), sd, n_resamples=9_999, method="BCa", rng=rng).confidence_interval
    assert sd_bootstrap(values, STREAM)[1:] == pytest.approx((scipys.low, scipys.high), rel=0.03)


def test_bootstrap_interval_holds_the_true_sd_nearly_as_often_as_it_says():
    # Of 200 samples of 25 normal runs, a little under 95 % have the true SD in their interval.
    held = [low <= 0.01 <= high for _, low, high in (sd_bootstrap(normal(25, n), STREAM) for n in range(200))]
    assert 0.85 < np.mean(held) < 0.99


def test_ratio_is_the_sd_of_the_part_over_the_sd_of_the_whole():
    whole = normal(10)
    found = sd_ratio(3 * whole, whole)
    # The parts are proportional, so the ratio is the same without any run and the interval closes on it.
    assert found == pytest.approx((3, 3, 3), rel=1e-9)


def test_ratio_has_the_jackknife_interval_of_its_logarithm():
    part, whole = normal(7, 1), normal(7, 2)
    logs = [np.log(np.std(np.delete(part, run), ddof=1) / np.std(np.delete(whole, run), ddof=1)) for run in range(7)]
    error = np.sqrt(6 / 7 * sum((log - np.mean(logs)) ** 2 for log in logs))
    ratio = np.std(part, ddof=1) / np.std(whole, ddof=1)
    factor = np.exp(2.446911851 * error)  # t at .975 with 6 degrees of freedom, from a printed table
    assert sd_ratio(part, whole) == pytest.approx((ratio, ratio / factor, ratio * factor), rel=1e-8)


def test_ratio_to_an_sd_of_zero_is_undefined():
    assert_equal(sd_ratio(np.array([0.1, 0.2, 0.3]), np.full(3, 0.1)), UNDEFINED)


def test_ratio_of_an_sd_of_zero_is_zero_without_interval():
    assert_equal(sd_ratio(np.full(3, 0.1), np.array([0.1, 0.2, 0.3])), Estimate(0.0, NAN, NAN))


def test_ratio_without_a_logarithm_for_some_left_out_run_has_no_interval():
    assert_equal(sd_ratio(np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 2.0])), Estimate(1 / np.sqrt(3), NAN, NAN))


@pytest.mark.parametrize(("count", "wanted"), [(0, UNDEFINED), (1, UNDEFINED), (2, Estimate(2.0, NAN, NAN))])
def test_ratio_of_few_runs_has_no_interval(count, wanted):
    assert_equal(sd_ratio(np.array([0.0, 2.0])[:count], np.array([0.0, 1.0])[:count]), wanted)


def test_ratio_of_a_class_without_examples_is_undefined():
    assert_equal(sd_ratio(np.full(5, NAN), normal(5)), UNDEFINED)


def test_ratio_too_uncertain_for_a_float_ends_at_zero_and_infinity():
    found = sd_ratio(np.array([0.0, 1e-150, 1.0]), np.array([1.0, 0.0, 1e-150]))
    assert (found.low, found.high) == (0, np.inf)


@given(FRACTIONS, st.integers(1, 4))
def test_ratio_interval_holds_the_ratio(part, step):
    whole = np.roll(part, step)
    found = sd_ratio(part, whole)
    assert np.isnan(found.low) or found.low <= found.value * (1 + 1e-9)
    assert np.isnan(found.high) or found.value <= found.high * (1 + 1e-9)


def test_each_run_is_left_out_once():
    found = sd_without_each(np.array([0.0, 1.0, 3.0]))
    np.testing.assert_allclose(found, np.sqrt([2, 4.5, 0.5]), rtol=1e-15)


@pytest.mark.parametrize(("part", "whole", "runs"), [(10, 1000, 10), (50, 100, 5), (90, 100, 3), (30, 100, 2)])
def test_ratio_by_size_alone_holds_95_percent_of_studies_without_any_other_difference(part, whole, runs):
    draws = np.random.Generator(np.random.Philox(part))
    one, rest = (draws.normal(size=(20_000, runs)) / np.sqrt(size) for size in (part, whole - part))
    both = (part * one + (whole - part) * rest) / whole
    ratios = one.std(axis=1) / both.std(axis=1)
    expected, low, high = sd_ratio_by_size(part, whole, runs)
    assert expected == pytest.approx(np.sqrt(whole / part))
    # Of 20,000 binomial draws, 0.4 points are more than two standard errors on each side.
    assert np.mean(ratios < low) == pytest.approx(0.025, abs=0.004)
    assert np.mean(ratios > high) == pytest.approx(0.025, abs=0.004)


def test_ratio_by_size_alone_has_the_limit_of_the_f_test():
    # A part so small that it says nothing about the whole: two independent SDs of 10 runs, a factor of 2.01.
    expected, low, high = sd_ratio_by_size(1, 10**9, 10)
    assert round(high / expected, 2) == round(expected / low, 2) == 2.01


def test_the_whole_is_always_as_noisy_as_itself():
    assert sd_ratio_by_size(7, 7, 10) == (1, 1, 1)


def test_ratio_by_size_alone_needs_an_example_for_its_value_and_two_runs_for_its_range():
    assert_equal(sd_ratio_by_size(0, 9, 10), UNDEFINED)
    assert_equal(sd_ratio_by_size(1, 9, 1), Estimate(3.0, NAN, NAN))


@pytest.mark.parametrize(("classes", "published"), [(10, (4.4, 2.9, 7.8)), (100, (16.8, 10.8, 29))])
def test_the_largest_ratio_of_equal_classes_is_the_one_derived_for_the_paper(classes, published):
    assert largest_sd_ratio_by_size(np.full(classes, 100), 10, STREAM) == pytest.approx(published, rel=0.05)


def test_the_largest_ratio_follows_the_smallest_class_and_empty_ones_do_not_count():
    sizes = np.array([100, 100, 4])
    assert largest_sd_ratio_by_size(sizes, 10, STREAM).value > largest_sd_ratio_by_size(sizes[:2], 10, STREAM).value
    assert largest_sd_ratio_by_size(np.array([100, 0, 100]), 10, STREAM) == largest_sd_ratio_by_size(
        sizes[:2], 10, STREAM
    )


def test_the_largest_ratio_is_undefined_without_runs_or_examples():
    assert_equal(largest_sd_ratio_by_size(np.array([5, 5]), 1, STREAM), UNDEFINED)
    assert_equal(largest_sd_ratio_by_size(np.zeros(2, int), 10, STREAM), UNDEFINED)


@pytest.mark.parametrize(("part", "whole"), [(1, 10), (3, 10), (1, 2)])
def test_a_parts_sd_is_significant_exactly_if_its_ratio_lies_outside_what_size_makes_it(part, whole):
    _, low, high = sd_ratio_by_size(part, whole, 10)
    for replicate in range(200):
        runs = np.random.Generator(np.random.Philox(replicate)).normal(0, 1, (whole, 10))
        one, all_of_them = runs[:part].mean(axis=0), runs.mean(axis=0)
        pvalue = sd_ratio_by_size_test(one, all_of_them, part / whole)
        ratio = one.std(ddof=1) / all_of_them.std(ddof=1)
        assert (pvalue < 0.05) == (not low < ratio < high)


def test_a_part_without_noise_or_that_is_the_whole_is_not_tested():
    assert np.isnan(sd_ratio_by_size_test(np.full(5, 0.9), normal(5), 0.1))
    assert np.isnan(sd_ratio_by_size_test(normal(5), normal(5), 1))
    assert np.isnan(sd_ratio_by_size_test(normal(1), normal(1), 0.5))


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


def test_the_robust_interval_is_wider_the_heavier_the_tails():
    tame, wild = np.array([-1.0, 1] * 10), np.array([-3.0, 3] + [-0.3, 0.3] * 9)
    widths = [np.log(found.high / found.low) for found in map(sd_robust, (tame, wild))]
    assert widths[0] < widths[1]


def test_the_robust_interval_needs_five_runs():
    found = sd_robust(np.array([0.0, 0.0, 0.0, 2.0]))
    assert_equal(found, Estimate(1.0, NAN, NAN))
    assert sd_robust(np.full(4, 0.1)) == (0, 0, 0)
    assert_equal(sd_robust(np.array([])), UNDEFINED)


def test_the_range_of_normal_runs_in_sds_grows_with_their_number_as_tables_of_quality_control_have_it():
    # d2, to three digits.
    wanted = {2: 1.128, 3: 1.693, 5: 2.326, 10: 3.078, 16: 3.532, 25: 3.931}
    assert {runs: round(range_in_sds(runs), 3) for runs in wanted} == wanted
    assert range_in_sds(1) == pytest.approx(0, abs=1e-12)
