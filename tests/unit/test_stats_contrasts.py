"""Ratios and trends of arms, on the logarithm."""

import numpy as np
import pytest
from scipy import stats

from toolnoise.stats.contrasts import contrast, ratio
from toolnoise.stats.estimates import UNDEFINED, mean_t, standard_deviation
from toolnoise.stats.paired_sds import paired_sd_ratio
from toolnoise.stats.quantities import MEAN, PAIRS, SD, Arm, jackknifed, normal_sd, of_runs, together


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


def test_one_arm_of_a_mean_has_students_interval_of_its_logarithm():
    values = [100.0, 101.0, 99.5, 100.2]
    low, high = np.exp(contrast([(1, of_means(values))]).estimate[1:])
    assert (low, high) == pytest.approx(mean_t(np.array(values))[1:], rel=1e-4)


def test_arms_add_up_and_sds_add_as_variances():
    assert together([normal_sd(3.0, 10), normal_sd(4.0, 10)], 2).value == pytest.approx(5)
    both = together([of_means([1.0, 2.0, 3.0]), of_means([2.0, 2.0, 2.0])], 1)
    assert both.value == pytest.approx(4)
    # A change of the first arm by a small share moves the sum by half that share, since both arms are 2.
    first, second = of_means([1.0, 2.0, 3.0]), of_means([2.0, 2.0, 2.0])
    assert both.moves[0] == pytest.approx(first.moves[0] / 2 + second.moves[0] / 2)


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


def test_two_sds_of_the_same_units_are_paired_and_those_of_others_are_not():
    rng = np.random.default_rng(3)
    one = rng.normal(size=6)
    other = 2 * one + 0.1 * rng.normal(size=6)
    paired, apart = contrast([(1, sds(other)), (-1, sds(one))]), contrast([(1, sds(other)), (-1, sds(one, 6))])
    assert paired.estimate == pytest.approx(paired_sd_ratio(one, other).estimate)
    assert paired.above(0) < 0.001 < 0.05 < apart.above(0)
    assert (paired.value, paired.units) == (apart.value, (6,))


def test_sds_of_equal_values_have_no_interval():
    values = [0.3, 0.1, 0.5, 0.7]
    value, low, high = contrast([(1, sds(values)), (-1, sds(values))]).estimate
    assert value == 0
    assert np.isnan([low, high]).all()


def test_an_arm_of_few_units_limits_the_degrees_of_freedom_of_a_sum():
    """Units of the larger arm do not add to those of the smaller, whether their units are the same or not."""
    few, many, whole = of_means([1.0, 1.2, 0.9]), of_means(np.linspace(1, 2, 9), 3), of_means(np.linspace(2, 3, 12))
    found = contrast([(1, whole), (-1, together([few, many], 1))])
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
    without = [np.delete(np.delete(distances, run, 0), run, 1)[np.triu_indices(3, 1)].mean() for run in range(4)]
    expected = jackknifed(arm.value, dict(enumerate(without)))
    assert arm.moves == pytest.approx(expected.moves)


def test_paired_ratios_are_students_interval_of_logarithms_where_spreads_are_small():
    generator = np.random.default_rng(5)
    one, other = 3 + 1e-4 * generator.standard_normal(5), 2 + 1e-4 * generator.standard_normal(5)
    paired = ratio(of_means(one), of_means(other))
    np.testing.assert_allclose(np.log(paired), mean_t(np.log(one) - np.log(other)), rtol=1e-3, atol=1e-9)


def test_there_is_no_ratio_to_nothing_and_no_interval_without_three_units():
    full, few, zero = of_means([0.1, 0.2, 0.3]), of_means([0.1, 0.3]), Arm(0.0, 3)
    assert str(ratio(full, zero)) == str(ratio(Arm(np.nan, 0), full)) == str(UNDEFINED)
    assert ratio(zero, full).value == 0
    for two in ((few, full), (full, few), (full.alone, full), (full, jackknifed(0.2, {1: 0.0, 2: 0.2, 3: 0.3}))):
        found = ratio(*two)
        assert found.value == pytest.approx(1)
        assert np.isnan([found.low, found.high]).all()
