"""What is promised of the range of another study's number: it holds 95 % of them."""

import numpy as np
import pytest
from numpy.testing import assert_equal

from toolnoise.analyses.published.agreement import mean_range, sd_range, sd_ratio_range
from toolnoise.stats.estimates import Estimate

NAN = np.nan
PAIRS = 4_000  # of studies; the share that lies outside is then known to within 0.7 points


def two_studies(ours, others):
    draws = np.random.Generator(np.random.Philox(ours * others))
    return draws.normal(0.9, 0.01, (PAIRS, ours)), draws.normal(0.9, 0.01, (PAIRS, others))


def share_within(ranges, values):
    return np.mean([found.low <= value <= found.high for found, value in zip(ranges, values, strict=True)])


@pytest.mark.parametrize(("ours", "others"), [(10, 10), (5, 10), (20, 5)])
def test_another_mean_of_the_same_lies_in_its_range_in_95_percent(ours, others):
    mine, theirs = two_studies(ours, others)
    ranges = [
        mean_range(a.mean(), a.std(ddof=1), ours, b.std(ddof=1), others) for a, b in zip(mine, theirs, strict=True)
    ]
    assert share_within(ranges, theirs.mean(axis=1)) == pytest.approx(0.95, abs=0.012)


@pytest.mark.parametrize(("ours", "others"), [(10, 10), (5, 10), (20, 5)])
def test_another_sd_of_the_same_lies_in_its_range_in_95_percent(ours, others):
    mine, theirs = two_studies(ours, others)
    ranges = [sd_range(sd, ours, others) for sd in mine.std(axis=1, ddof=1)]
    assert share_within(ranges, theirs.std(axis=1, ddof=1)) == pytest.approx(0.95, abs=0.012)


def test_another_ratio_of_the_same_lies_in_its_range_in_at_least_95_percent():
    def ratios(values):
        part, rest = values[:, :10], values[:, 10:]
        return part.std(axis=1, ddof=1) / (part + rest).std(axis=1, ddof=1)

    mine, theirs = (ratios(two_studies(20, others)[0]) for others in (21, 23))
    ranges = [sd_ratio_range(ratio, 10, 10) for ratio in mine]
    assert share_within(ranges, theirs) > 0.94


def test_ten_runs_against_ten_tell_sds_apart_from_a_ratio_of_two_on():
    value, low, high = sd_range(1.0, 10, 10)
    assert (value, round(low, 2), round(high, 2)) == (1.0, 0.50, 2.01)


def test_one_run_has_no_range():
    assert_equal(mean_range(0.9, NAN, 1, 0.01, 10), Estimate(0.9, NAN, NAN))
    assert_equal(sd_range(NAN, 1, 10), Estimate(NAN, NAN, NAN))
    assert_equal(sd_ratio_range(NAN, 1, 10), Estimate(NAN, NAN, NAN))


def test_without_any_noise_only_the_same_number_agrees():
    assert mean_range(0.9, 0.0, 5, 0.0, 5) == (0.9, 0.9, 0.9)
    assert sd_range(0.0, 5, 10) == (0, 0, 0)
