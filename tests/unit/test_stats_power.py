"""How many runs a claim needs: the numbers that are known, both directions, and simulations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from toolnoise.comparison import power
from toolnoise.stats.power import runs_needed
from toolnoise.stats.spread import sd_interval
from toolnoise.stats.two_means import mean_difference

STUDIES = 4_000  # a share of them is known to within 1.5 points
DRAWS = np.random.Generator(np.random.Philox(8))


def smallest_significant_ratio(runs, level=0.05):
    """The smallest ratio of two sample SDs that the F test calls different."""
    return float(np.sqrt(stats.f.isf(level / 2, runs - 1, runs - 1)))


def approximate_equivalence_runs(margin, level=0.05, power=0.8):
    """Runs per arm to claim equal SDs, by the normal approximation of log SDs; slightly below the exact number."""
    return 1 + float((stats.norm.isf(level) + stats.norm.isf((1 - power) / 2)) / np.log(margin)) ** 2


@pytest.mark.parametrize(
    ("runs", "low", "high"),
    [(5, 0.60, 2.87), (10, 0.69, 1.83), (16, 0.74, 1.55), (25, 0.78, 1.39), (50, 0.84, 1.25), (100, 0.88, 1.16)],
)
def test_the_factors_of_the_interval_of_an_sd(runs, low, high):
    assert tuple(round(end, 2) for end in sd_interval(1.0, runs)) == (1, low, high)


@pytest.mark.parametrize(("runs", "ratio"), [(5, 3.10), (10, 2.01), (16, 1.69), (25, 1.51), (50, 1.33), (100, 1.22)])
def test_the_smallest_ratio_of_sample_sds_that_an_f_test_calls_significant(runs, ratio):
    assert round(smallest_significant_ratio(runs), 2) == ratio


@pytest.mark.parametrize(
    ("runs", "ratio", "wanted"),
    [(10, 1.5, 0.20), (10, 2, 0.50), (10, 3, 0.88), (25, 1.5, 0.49), (25, 2, 0.91), (50, 1.5, 0.80), (100, 1.5, 0.98)],
)
def test_the_power_of_the_f_test(runs, ratio, wanted):
    assert round(float(power.ratio_power(runs, ratio)), 2) == wanted
    assert power.ratio_power(runs, 1 / ratio) == pytest.approx(power.ratio_power(runs, ratio))


@pytest.mark.parametrize(("margin", "approximate"), [(1.1, 944), (1.25, 173), (1.5, 53), (2, 19)])
def test_the_runs_to_claim_equal_sds(margin, approximate):
    assert round(approximate_equivalence_runs(margin)) == approximate
    # Exactly, it takes a run more.
    exactly = runs_needed(lambda runs: power.equivalence_power(runs, margin))
    assert exactly - approximate == 1


def test_ninety_percent_power_takes_a_quarter_more_runs_than_eighty():
    ratio = approximate_equivalence_runs(1.1, power=0.9) / approximate_equivalence_runs(1.1)
    assert round(ratio, 2) == 1.26


def test_a_difference_of_one_sd_takes_seventeen_runs():
    # The textbook's number, for two arms, 80 % and 5 %.
    assert runs_needed(lambda runs: power.difference_power(runs, 1, 1)) == 17


def rejected(runs, spread, shift, decide):
    one, other = DRAWS.normal(0, spread, (STUDIES, runs)), DRAWS.normal(shift, 1, (STUDIES, runs))
    return np.mean(decide(one, other))


@pytest.mark.parametrize(("runs", "difference"), [(2, 8), (3, 3), (10, 1), (10, 0), (40, 0.5)])
def test_the_power_for_a_difference_is_how_often_the_comparisons_test_finds_it(runs, difference):
    share = rejected(
        runs, 1, difference, lambda *arms: [mean_difference(*both).pvalue <= 0.05 for both in zip(*arms, strict=True)]
    )
    assert power.difference_power(runs, difference, 1) == pytest.approx(share, abs=0.025)


@pytest.mark.parametrize(("runs", "ratio"), [(5, 3), (10, 2), (30, 1)])
def test_the_power_for_a_ratio_is_how_often_it_is_found(runs, ratio):
    def differ(one, other):
        logs = np.log(one.std(axis=1, ddof=1) / other.std(axis=1, ddof=1))
        return np.abs(logs) > np.log(smallest_significant_ratio(runs))

    assert power.ratio_power(runs, ratio) == pytest.approx(rejected(runs, ratio, 0, differ), abs=0.025)


@pytest.mark.parametrize(("runs", "margin", "ratio"), [(20, 2, 1), (54, 1.5, 1), (54, 1.5, 1.2), (60, 1.5, 1.5)])
def test_the_power_to_claim_equality_is_how_often_it_is_claimed(runs, margin, ratio):
    def equal(one, other):
        ratios = one.std(axis=1, ddof=1) / other.std(axis=1, ddof=1)
        low, high = (ratios / np.sqrt(stats.f.ppf(share, runs - 1, runs - 1)) for share in (0.95, 0.05))
        return (low > 1 / margin) & (high < margin)

    share = rejected(runs, ratio, 0, equal)
    assert power.equivalence_power(runs, margin, ratio) == pytest.approx(share, abs=0.025)


@settings(max_examples=30)
@given(st.integers(2, 500), st.sampled_from([0.01, 0.05]), st.sampled_from([0.8, 0.9]))
def test_what_some_runs_can_show_needs_just_so_many(runs, level, wanted):
    difference = power.detectable_difference(runs, 0.25, level, wanted)
    assert power.difference_power(runs, difference, 0.25, level) == pytest.approx(wanted)
    ratio = power.detectable_ratio(runs, level, wanted)
    assert power.ratio_power(runs, ratio, level) == pytest.approx(wanted)
    margin = power.claimable_margin(runs, level, wanted)
    assert power.equivalence_power(runs, margin, level=level) == pytest.approx(wanted)


@given(st.floats(0.05, 200))
def test_no_fewer_runs_have_the_power(difference):
    needed = runs_needed(lambda runs: power.difference_power(runs, difference, 1))
    assert power.difference_power(needed, difference, 1) >= 0.8
    assert needed == 2 or power.difference_power(needed - 1, difference, 1) < 0.8


def test_what_a_million_runs_cannot_show_is_said():
    assert runs_needed(lambda runs: power.difference_power(runs, 1e-6, 1)) is None


@pytest.mark.parametrize("pilot_runs", [None, 5])
def test_how_often_chance_alone_makes_a_difference(pilot_runs):
    arms = DRAWS.normal(0, 1, (2, 20_000, 3)).mean(axis=2)
    sd = 1 if pilot_runs is None else DRAWS.normal(0, 1, (20_000, pilot_runs)).std(axis=1, ddof=1)
    # Against a pilot of its own each, the share of studies whose difference is this many of its SDs.
    share = np.mean(np.abs(arms[1] - arms[0]) >= 1.2 * sd)
    assert power.chance_difference(1.2, 1, 3, pilot_runs) == pytest.approx(share, abs=0.012)
