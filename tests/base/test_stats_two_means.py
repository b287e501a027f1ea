"""Comparisons of means (Welch's test, Hedges' g, probability of improvement), and how many runs a claim needs."""

import json
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_equal
from scipy import stats

from toolnoise.base import metric_files
from toolnoise.comparison import decisions
from toolnoise.comparison.two_arms import (
    hedges_g,
    paired_difference,
    partly_paired_difference,
    probability_of_improvement,
)
from toolnoise.formulas.stability import STABILITY
from toolnoise.stats.estimates import UNDEFINED
from toolnoise.stats.significance import UNDECIDED, mean_difference, runs_needed

DRAWS = np.random.Generator(np.random.Philox(2))
BASE, BETTER = DRAWS.normal(0.90, 0.002, 10), DRAWS.normal(0.903, 0.005, 7)


def welch(a, b):
    return stats.ttest_ind(b, a, equal_var=False)


def student(a, b):
    return stats.ttest_rel(b, a)


@pytest.mark.parametrize(
    ("test", "scipys", "a", "b"),
    [
        (mean_difference, welch, BASE, BETTER),
        (mean_difference, welch, BASE[:3], BETTER[:3]),  # small, but equally so
        (paired_difference, student, BASE[:7], BETTER),
        (partial(partly_paired_difference, pairs=5), student, BASE[5:], BETTER[:5]),
        (partial(partly_paired_difference, pairs=0), welch, BASE[:3], BETTER[:3]),
        (partial(partly_paired_difference, pairs=0), welch, BASE[5:], BETTER),
    ],
)
def test_a_difference_has_the_test_and_the_interval_of_scipy(test, scipys, a, b):
    found, wanted = test(a, b), scipys(a, b)
    assert found[:2] == pytest.approx((wanted.statistic, wanted.pvalue))
    assert found.effect == pytest.approx((b.mean() - a.mean(), *wanted.confidence_interval()))


@pytest.mark.parametrize(("runs", "ratio"), [((2, 10), 0.5), ((5, 20), 0.5)])
def test_a_small_arm_and_a_larger_one_name_few_false_winners(runs, ratio):
    """The small arm has the larger SD, or an equal one; by Welch's degrees of freedom 2 runs against 10 have 10 %."""
    a, b = (DRAWS.normal(0, sd, (2_000, count)) for count, sd in zip(runs, (1, ratio), strict=True))
    assert np.mean([mean_difference(*both).pvalue < 0.05 for both in zip(a, b, strict=True)]) <= 0.06
    by_welch = np.mean(stats.ttest_ind(a, b, axis=1, equal_var=False).pvalue < 0.05)
    assert (by_welch > 0.06) == (runs[0] < 5)


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
    assert runs_needed(lambda runs: decisions.difference_power(runs, 1, 1)) == 17


@pytest.mark.parametrize(("runs", "difference"), [(3, 3), (10, 1), (10, 0)])
def test_the_power_for_a_difference_is_how_often_the_comparisons_test_finds_it(runs, difference):
    rng = np.random.Generator(np.random.Philox(8))
    one, other = rng.normal(0, 1, (4_000, runs)), rng.normal(difference, 1, (4_000, runs))
    share = np.mean([mean_difference(*both).pvalue <= 0.05 for both in zip(one, other, strict=True)])
    assert decisions.difference_power(runs, difference, 1) == pytest.approx(share, abs=0.025)


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
    metric_files.write(path, STABILITY, rows)
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
    assert needed["runs_per_arm"] == runs_needed(lambda runs: decisions.difference_power(runs, 0.3, 0.25))
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
