"""Comparisons of means: Welch's test, Hedges' g, probability of improvement, and arms partly of paired runs."""

import json

import numpy as np
import pytest
from numpy.testing import assert_equal
from scipy import stats

from toolnoise import cli
from toolnoise.base import metric_files
from toolnoise.comparison import sample_size
from toolnoise.comparison.two_arms import (
    hedges_g,
    paired_difference,
    partly_paired_difference,
    probability_of_improvement,
)
from toolnoise.formulas.stability import STABILITY
from toolnoise.stats.estimates import UNDEFINED
from toolnoise.stats.power import runs_needed
from toolnoise.stats.two_means import UNDECIDED, mean_difference

# Comparisons of means: Welch's test, Hedges' g and the probability of improvement


DRAWS = np.random.Generator(np.random.Philox(2))
BASE, BETTER = DRAWS.normal(0.90, 0.002, 10), DRAWS.normal(0.903, 0.005, 7)


def test_the_difference_has_welchs_test_and_interval():
    found, scipys = mean_difference(BASE, BETTER), stats.ttest_ind(BETTER, BASE, equal_var=False)
    assert found[:2] == pytest.approx((scipys.statistic, scipys.pvalue))
    assert found.effect[1:] == pytest.approx(tuple(scipys.confidence_interval()))
    assert found.effect.value == pytest.approx(BETTER.mean() - BASE.mean())


@pytest.mark.parametrize(("runs", "ratio"), [((2, 10), 0.5), ((3, 10), 0.5), ((5, 20), 0.5)])
def test_a_small_arm_and_a_larger_one_name_few_false_winners(runs, ratio):
    """The small arm has the larger SD, or an equal one; by Welch's degrees of freedom 2 runs against 10 have 10 %."""
    a, b = (DRAWS.normal(0, sd, (2_000, count)) for count, sd in zip(runs, (1, ratio), strict=True))
    assert np.mean([mean_difference(*both).pvalue < 0.05 for both in zip(a, b, strict=True)]) <= 0.06
    by_welch = np.mean(stats.ttest_ind(a, b, axis=1, equal_var=False).pvalue < 0.05)
    assert (by_welch > 0.06) == (runs[0] < 5)


def test_equal_arms_have_welchs_test_even_if_they_are_small_and_others_no_more_than_their_degrees_of_freedom():
    for runs in (3, 4):
        a, b = BASE[:runs], BETTER[:runs]
        assert mean_difference(a, b).pvalue == pytest.approx(stats.ttest_ind(a, b, equal_var=False).pvalue)
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


def test_g_is_the_difference_in_sds_made_smaller_for_few_runs():
    pooled = np.sqrt((9 * BASE.var(ddof=1) + 6 * BETTER.var(ddof=1)) / 15)
    found = hedges_g(BASE, BETTER)
    assert found.value == pytest.approx((BETTER.mean() - BASE.mean()) / pooled * (1 - 3 / (4 * 15 - 1)), rel=1e-3)


def test_the_ends_of_gs_interval_are_where_the_t_found_is_at_the_edge():
    found = hedges_g(BASE, BETTER)
    t = stats.ttest_ind(BETTER, BASE).statistic
    shifts = t * np.array([found.low, found.high]) / found.value
    assert stats.nct.cdf(t, 15, shifts) == pytest.approx([0.975, 0.025], abs=2e-5)


def test_improvement_counts_pairs_and_half_the_ties():
    found = probability_of_improvement(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0]))
    assert found.value == (1 + 0.5 + 0 + 3) / 6


def test_the_interval_of_improvement_is_where_the_score_test_is_at_its_level():
    chance, low, high = probability_of_improvement(BASE, BETTER)
    for end in (low, high):
        hanley_mcneil = end * (1 - end) * (1 + 7.5 * ((1 - end) / (2 - end) + end / (1 + end))) / 70
        assert abs(chance - end) / np.sqrt(hanley_mcneil) == pytest.approx(1.959964, rel=1e-5)


def test_pairs_are_tested_by_their_differences_as_in_scipy():
    a, b = BASE[:4], BASE[:4] + np.array([0.1, 0.3, 0.2, 0.25])
    found, scipys = paired_difference(a, b), stats.ttest_rel(b, a)
    assert (found.statistic, found.pvalue) == pytest.approx((scipys.statistic, scipys.pvalue))
    assert found.effect[1:] == pytest.approx(scipys.confidence_interval())
    assert found.pvalue < mean_difference(a, b).pvalue
    assert_equal(paired_difference(a[:1], b[:1]), UNDECIDED)


def test_pairs_of_the_same_draw_do_not_count_for_paired_arms():
    a = np.array([1.0, 2.0, 3.0])
    found = probability_of_improvement(a, a + 0.5, 3)
    assert found.value == pytest.approx(0.5)  # without the three of the same draw, which are all better
    assert probability_of_improvement(a, a + 0.5).value == pytest.approx(2 / 3)
    assert probability_of_improvement(a, a[:2] + 0.5, 1).value == pytest.approx(2 / 5)
    assert_equal(probability_of_improvement(a[:1], a[:1], 1), UNDEFINED)


# Arms of which some runs are paired: the ends are Student's and Welch's tests, and between them no power is lost


STUDIES = 1_000


def arms(runs_a, runs_b, pairs, correlation, ratio=1.0, studies=STUDIES):
    """Normal runs of two methods in many studies; the first ones of both are correlated."""
    rng = np.random.Generator(np.random.Philox(11))
    a, own = rng.standard_normal((studies, runs_a)), rng.standard_normal((studies, runs_b))
    common = correlation * a[:, :pairs] + np.sqrt(1 - correlation**2) * own[:, :pairs]
    return a, ratio * np.concatenate([common, own[:, pairs:]], axis=1)


def named(a, b, pairs, gain=0.0):
    """The share of studies with a winner."""
    return np.mean([partly_paired_difference(*both, pairs).pvalue < 0.05 for both in zip(a, b + gain, strict=True)])


def test_if_all_runs_are_paired_it_is_students_test_of_the_differences():
    for a, b in zip(*arms(6, 6, 6, 0.7, 1.5, studies=5), strict=True):
        found, scipys = partly_paired_difference(a, b, 6), stats.ttest_rel(b, a)
        assert (found.statistic, found.pvalue) == pytest.approx((scipys.statistic, scipys.pvalue))
        assert found.effect[1:] == pytest.approx(tuple(scipys.confidence_interval()))


@pytest.mark.parametrize("runs", [(6, 6), (3, 3), (5, 9)])
def test_if_none_is_it_is_welchs(runs):
    for a, b in zip(*arms(*runs, 0, 0, 1.5, studies=5), strict=True):
        found, scipys = partly_paired_difference(a, b, 0), stats.ttest_ind(b, a, equal_var=False)
        assert (found.statistic, found.pvalue) == pytest.approx((scipys.statistic, scipys.pvalue))
        assert found.effect[1:] == pytest.approx(tuple(scipys.confidence_interval()))


def test_no_power_is_lost_where_some_runs_are_paired():
    """`bench/error_rates.py` has this at four correlations."""
    gain, correlation = 1.3, 0.8
    alone = named(*arms(10, 10, 0, correlation), 0, gain)
    for pairs in (1, 2, 5):
        a, b = arms(10, 10, pairs, correlation)
        assert named(a, b, pairs, gain) > alone - 0.05, pairs
        assert named(a, b, pairs) <= 0.06, pairs


@pytest.mark.parametrize(
    ("runs_a", "runs_b", "pairs", "correlation", "ratio"),
    [
        (3, 10, 1, 0.5, 0.5),
        (4, 10, 4, 0.7, 0.5),
        (5, 5, 4, 0.8, 2.0),
    ],
)
def test_unequal_arms_name_no_more_false_winners(runs_a, runs_b, pairs, correlation, ratio):
    # Of 1,000 studies at 6 %, 19 of 20 have no more than 7.3 %.
    assert named(*arms(runs_a, runs_b, pairs, correlation, ratio), pairs) <= 0.073


def test_the_interval_is_where_the_test_rejects():
    a, b = arms(8, 6, 5, 0.8, studies=40)
    for both in zip(a, b + 0.8, strict=True):
        found = partly_paired_difference(*both, 5)
        assert (found.pvalue < 0.05) == (found.effect.low > 0 or found.effect.high < 0)
        assert found.effect.value == pytest.approx(-partly_paired_difference(*both[::-1], 5).effect.value)


# How many runs a claim needs: known numbers, simulations, and what `toolnoise plan` says of it and refuses


MANY_STUDIES = 4_000  # a share of them is known to within 1.5 points
OF_STUDIES = np.random.Generator(np.random.Philox(8))


def test_a_difference_of_one_sd_takes_seventeen_runs():
    # The textbook's number, for two arms, 80 % and 5 %.
    assert runs_needed(lambda runs: sample_size.difference_power(runs, 1, 1)) == 17


def rejected(runs, spread, shift, decide):
    one, other = OF_STUDIES.normal(0, spread, (MANY_STUDIES, runs)), OF_STUDIES.normal(shift, 1, (MANY_STUDIES, runs))
    return np.mean(decide(one, other))


@pytest.mark.parametrize(("runs", "difference"), [(3, 3), (10, 1), (10, 0)])
def test_the_power_for_a_difference_is_how_often_the_comparisons_test_finds_it(runs, difference):
    share = rejected(
        runs, 1, difference, lambda *arms: [mean_difference(*both).pvalue <= 0.05 for both in zip(*arms, strict=True)]
    )
    assert sample_size.difference_power(runs, difference, 1) == pytest.approx(share, abs=0.025)


def test_no_plan_has_two_runs_an_arm_which_compare_does_not_test(plan):
    assert sample_size.difference_power(2, 100, 1) == 0
    assert sample_size.difference_power(np.array([2, 3]), 100, 1).tolist() == [0, pytest.approx(1)]
    assert plan("--sd", 0.01, "--gain", 50, "--json")["needed"][0]["runs_per_arm"] == 3


@pytest.mark.parametrize("pilot_runs", [None, 5])
def test_how_often_chance_alone_makes_a_difference(pilot_runs):
    arms = OF_STUDIES.normal(0, 1, (2, 20_000, 3)).mean(axis=2)
    sd = 1 if pilot_runs is None else OF_STUDIES.normal(0, 1, (20_000, pilot_runs)).std(axis=1, ddof=1)
    # Against a pilot of its own each, the share of studies whose difference is this many of its SDs.
    share = np.mean(np.abs(arms[1] - arms[0]) >= 1.2 * sd)
    assert sample_size.chance_difference(1.2, 1, 3, pilot_runs and pilot_runs - 1) == pytest.approx(share, abs=0.012)


CELL = ("smallcnn", "digits", "cpu")
PILOT = {"algo_impl": (0.0025, 0.00172, 0.00456, 10), "impl": (0.0012, 0.0008, 0.0022, 10), "control": (0, 0, 0, 2)}


@pytest.fixture
def plan(capsys):
    """What the verb prints; its JSON if that is asked for."""

    def ask(*options):
        cli.main(["plan", *map(str, options)])
        said = capsys.readouterr().out
        return json.loads(said) if "--json" in options else said

    return ask


@pytest.fixture
def pilot(tmp_path):
    """A metric file of three cells."""
    path = tmp_path / "stability.csv"
    rows = []
    for variant, (*estimate, runs) in PILOT.items():
        rows.append((*CELL, variant, "accuracy_mean", "all", 0.9, 0.8, 0.95, runs, 0))
        rows.append((*CELL, variant, "accuracy_sd", "all", *estimate, runs, 0))
        rows.append((*CELL, variant, "accuracy_sd", "3", 0.1, 0.05, 0.2, runs, 0))
    metric_files.write(path, STABILITY, rows)
    return path


def test_is_a_gain_of_a_third_of_a_point_real(plan):
    lines = plan("--sd", 0.25, "--sd-runs", 10, "--gain", 0.3).splitlines()
    assert lines[0] == "SD of accuracy, as given: 0.25 points (0.172 to 0.456, from 10 runs)"
    assert lines[5].split("  ") == ["a gain of 0.3 points", "13 (7 to 38)"]
    assert lines[-2:] == ["  in 42 % of cases with one run each", "  in 2.5 % of cases with 10 runs each"]


def test_a_pilots_sd_and_its_interval_are_in_points(plan, pilot):
    found = plan("--pilot", pilot, "--arm", "algo_impl", "--gain", 0.3, "--json")
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
        (["--sd", 0], "--sd: found 0; points from 0.000001 to 100"),
        (["--sd", "inf"], "--sd: found inf"),
        (["--sd-runs", 5], "--sd-runs: given without sd"),
        (["--arm", "algo"], "--arm: given without pilot"),
        (["--sd", 1, "--gain", -0.3], "--gain: found -0.3; points from 0.000001 to 100"),
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


@pytest.mark.parametrize(
    "sd", [(-0.1, 0, 1), (1e-318, 0, 1), (1.5, 1, 2), (np.nan,) * 3, (0.1, -1, 1), (0.1, 0, np.inf)]
)
def test_an_sd_that_no_cell_has_is_one_line(sd, refused_by_verb, tmp_path):
    path = tmp_path / "one.csv"
    metric_files.write(path, STABILITY, [(*CELL, "algo", "accuracy_sd", "all", *sd, 4, 0)])
    assert "/algo: found an SD of " in refused_by_verb("plan", "--pilot", path, "--gain", 1)
