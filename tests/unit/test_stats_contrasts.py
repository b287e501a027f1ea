"""Ratios and trends of arms, on the logarithm."""

import numpy as np
import pytest

from toolnoise.stats.contrasts import Arm, contrast, normal_sd, together
from toolnoise.stats.estimates import mean_t
from toolnoise.stats.two_spreads import f_test_from_sds


def of_means(values, start=0):
    """An arm of a mean of runs, whose units are numbered from `start`."""
    values = np.array(values)
    without = {start + place: float(np.delete(values, place).mean()) for place in range(len(values))}
    return Arm(float(values.mean()), len(values), without)


def test_a_ratio_of_two_sds_is_the_f_test():
    found = contrast([(1, normal_sd(0.3, 10)), (-1, normal_sd(0.9, 12))])
    expected = f_test_from_sds(0.3, 10, 0.9, 12)
    assert 2 * found.below(0) == pytest.approx(expected.pvalue)
    assert np.exp(found.estimate) == pytest.approx(expected.effect)


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


def test_a_pair_of_equal_arms_is_certain():
    arm = of_means([1.0, 1.2, 0.9, 1.1])
    found = contrast([(1, arm), (-1, arm)])
    assert (found.value, found.error) == (0, 0)
    assert found.above(0.1) == 1
    assert found.above(-0.1) == 0


def test_one_arm_of_a_mean_has_students_interval_of_its_logarithm():
    values = [100.0, 101.0, 99.5, 100.2]
    low, high = np.exp(contrast([(1, of_means(values))]).estimate[1:])
    assert (low, high) == pytest.approx(mean_t(np.array(values))[1:], rel=1e-4)


def test_arms_add_up_and_sds_add_as_variances():
    assert together([normal_sd(3.0, 10), normal_sd(4.0, 10)], 2).value == pytest.approx(5)
    both = together([of_means([1.0, 2.0, 3.0]), of_means([2.0, 2.0, 2.0])], 1)
    assert both.value == pytest.approx(4)
    assert both.without[0] == pytest.approx(4.5)


def test_a_zero_has_no_logarithm_and_a_number_without_error_no_p_value():
    assert np.isnan(contrast([(1, normal_sd(0.0, 10)), (-1, normal_sd(0.9, 12))]).value)
    found = contrast([(1, Arm(0.1468, 5)), (-1, Arm(0.1489, 5))])
    assert np.exp(found.value) == pytest.approx(0.986, abs=1e-3)
    assert np.isnan([found.error, found.above(0)]).all()


def test_sds_pooled_over_tasks_keep_their_level():
    """Of a mean log ratio of paired SDs of five runs on four tasks, 95 % intervals cover 1 in 90 to 99 %."""
    rng, hits, studies = np.random.default_rng(5), 0, 200
    for _ in range(studies):
        terms = []
        for _ in range(4):
            for weight in (0.25, -0.25):
                runs = rng.normal(size=5)
                without = {place: float(np.delete(runs, place).std(ddof=1)) for place in range(5)}
                terms.append((weight, normal_sd(float(runs.std(ddof=1)), 5)._replace(without=without)))
        low, high = contrast(terms).estimate[1:]
        hits += low < 0 < high
    assert 0.9 < hits / studies < 0.99


def test_an_sd_that_is_zero_without_one_run_has_the_error_of_normal_runs():
    flat = normal_sd(0.5, 4)._replace(without={0: 0.0, 1: 0.6, 2: 0.6, 3: 0.6})
    rough = normal_sd(0.5, 4)._replace(without=dict.fromkeys(range(4), 0.5))
    found = contrast([(0.5, flat), (-0.5, rough)])
    assert found.error == pytest.approx(normal_sd(0.5, 4).error / np.sqrt(2))
    assert found.freedom == 3
