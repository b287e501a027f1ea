"""How many runs a claim needs: known numbers, simulations, and what `toolnoise plan` says of it and refuses."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolnoise import cli
from toolnoise.base import metric_files
from toolnoise.comparison import sample_size
from toolnoise.formulas.stability import STABILITY
from toolnoise.stats.power import runs_needed
from toolnoise.stats.two_means import mean_difference

STUDIES = 4_000  # a share of them is known to within 1.5 points
DRAWS = np.random.Generator(np.random.Philox(8))


def test_a_difference_of_one_sd_takes_seventeen_runs():
    # The textbook's number, for two arms, 80 % and 5 %.
    assert runs_needed(lambda runs: sample_size.difference_power(runs, 1, 1)) == 17


def rejected(runs, spread, shift, decide):
    one, other = DRAWS.normal(0, spread, (STUDIES, runs)), DRAWS.normal(shift, 1, (STUDIES, runs))
    return np.mean(decide(one, other))


@pytest.mark.parametrize(("runs", "difference"), [(3, 3), (10, 1), (10, 0)])
def test_the_power_for_a_difference_is_how_often_the_comparisons_test_finds_it(runs, difference):
    share = rejected(
        runs, 1, difference, lambda *arms: [mean_difference(*both).pvalue <= 0.05 for both in zip(*arms, strict=True)]
    )
    assert sample_size.difference_power(runs, difference, 1) == pytest.approx(share, abs=0.025)


@pytest.mark.parametrize("others", [2, 10])
def test_welchs_test_of_two_runs_finds_a_difference_of_one_and_a_half_sds_in_hardly_any_study(others):
    arms = zip(DRAWS.normal(0, 1, (1500, 2)), DRAWS.normal(1.5, 1, (1500, others)), strict=True)
    assert np.mean([mean_difference(*both).pvalue <= 0.05 for both in arms]) < 0.05


def test_no_plan_has_two_runs_an_arm_which_compare_does_not_test(plan):
    assert sample_size.difference_power(2, 100, 1) == 0
    assert sample_size.difference_power(np.array([2, 3]), 100, 1).tolist() == [0, pytest.approx(1)]
    assert plan("--sd", 0.01, "--gain", 50, "--json")["needed"][0]["runs_per_arm"] == 3
    two, three = plan("--sd", 0.25, "--sd-runs", 10, "--runs", 2, 3, "--json")["shown"]
    assert (two["gain"], two["gain_low"], two["gain_high"]) == (None, None, None)
    assert three["gain"] > 0
    assert "none" in plan("--sd", 0.25, "--runs", 2).splitlines()[-1]


@settings(max_examples=15)
@given(st.integers(3, 500), st.sampled_from([0.01, 0.05]), st.sampled_from([0.8, 0.9]))
def test_what_some_runs_can_show_needs_just_so_many(runs, level, wanted):
    difference = sample_size.detectable_difference(runs, level, wanted)
    assert sample_size.difference_power(runs, 0.25 * difference, 0.25, level) == pytest.approx(wanted)


@given(st.floats(0.05, 200))
def test_no_fewer_runs_have_the_power(difference):
    needed = runs_needed(lambda runs: sample_size.difference_power(runs, difference, 1))
    assert sample_size.difference_power(needed, difference, 1) >= 0.8
    assert needed == 3 or sample_size.difference_power(needed - 1, difference, 1) < 0.8


def test_what_a_million_runs_cannot_show_is_said():
    assert runs_needed(lambda runs: sample_size.difference_power(runs, 1e-6, 1)) is None


@pytest.mark.parametrize("pilot_runs", [None, 5])
def test_how_often_chance_alone_makes_a_difference(pilot_runs):
    arms = DRAWS.normal(0, 1, (2, 20_000, 3)).mean(axis=2)
    sd = 1 if pilot_runs is None else DRAWS.normal(0, 1, (20_000, pilot_runs)).std(axis=1, ddof=1)
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
    found = plan("--pilot", pilot, "--variant", "algo_impl", "--gain", 0.3, "--json")
    wanted = {"value": 0.25, "low": 0.172, "high": 0.456, "runs": 10, "source": "smallcnn/digits/cpu/algo_impl"}
    assert found["sd"] == {key: pytest.approx(value) for key, value in wanted.items()}
    (needed,) = found["needed"]
    assert needed["runs_per_arm"] == runs_needed(lambda runs: sample_size.difference_power(runs, 0.3, 0.25))
    assert (needed["runs_per_arm_low"], needed["runs_per_arm_high"]) == (7, 38)
    assert [chance["runs_per_arm"] for chance in needed["by_chance"]] == [1, 10]


def test_a_plan_goes_back_and_forth(plan):
    (shown,) = plan("--sd", 0.25, "--runs", 14, "--json")["shown"]
    (needed,) = plan("--sd", 0.25, "--gain", shown["gain"] * 1.000001, "--json")["needed"]
    assert needed["runs_per_arm"] == 14


def test_asked_for_nothing_it_says_what_the_usual_numbers_of_runs_can_show(plan):
    lines = plan("--sd", 0.25).splitlines()
    heading, _, *rows = lines[3:]
    assert heading.split("  ") == ["runs per arm", "a gain, points"]
    assert [row.split()[0] for row in rows] == ["3", "5", "10", "20", "50", "100"]
    assert rows[2].split() == ["10", "0.333"]


def test_more_than_a_million_runs_are_not_counted(plan):
    assert "over 1,000,000" in plan("--sd", 0.25, "--gain", 1e-6)
    assert plan("--sd", 0.25, "--gain", 1e-6, "--json")["needed"][0]["runs_per_arm"] is None


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--gain", 0.3], "--sd: missing: how many runs depends on the SD; pilot or sd"),
        (["--sd", 0], "--sd: found 0; points from 0.000001 to 100"),
        (["--sd", "nan"], "--sd: found nan"),
        (["--sd", "inf"], "--sd: found inf"),
        (["--sd", "0.2", "--sd-runs", 1], "--sd-runs: found 1; 2 to 1000000 runs"),
        (["--sd-runs", 5], "--sd-runs: given without sd"),
        (["--variant", "algo"], "--variant: given without pilot"),
        (["--sd", 1, "--gain", -0.3], "--gain: found -0.3; points from 0.000001 to 100"),
        (["--sd", 1, "--runs", 1], "--runs: found 1; 2 to 1000000 runs per arm"),
        (["--sd", 1, "--level", 0], "--level: found 0; a share between 0 and 1"),
        (["--sd", 1, "--power", 1], "--power: found 1; a share between 0 and 1"),
        (["--sd", 1, "--power", 0.04], "--power: found 0.04; more than the level, 0.05"),
        (["--gain", "two"], "invalid float value: 'two'"),
        (["--pilot", "nowhere.csv"], "nowhere.csv: no such file; expected a metric file"),
        (["--sd", "0.3", "--sd-runs", "9" * 21], f"--sd-runs: found {'9' * 21}; 2 to 1000000 runs"),
        (["--sd", "1e-300", "--gain", "1"], "--sd: found 1e-300; points from 0.000001 to 100, such as 0.25"),
        (["--sd", "1", "--gain", "1e300"], "--gain: found 1e+300; points from 0.000001 to 100, such as 0.3"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(options, says, refused_by_verb):
    assert says in refused_by_verb("plan", *options)


def test_a_pilot_of_several_cells_must_be_told_which(refused_by_verb, pilot):
    assert "cells: 3 with no choice given; choose by model, dataset, hardware and variant one of " in refused_by_verb(
        "plan", "--pilot", pilot, "--gain", 1
    )
    assert "cells: none with variant algo; " in refused_by_verb("plan", "--pilot", pilot, "--variant", "algo")
    assert "--sd: given with pilot" in refused_by_verb("plan", "--pilot", pilot, "--sd", 0.3)


def test_a_cell_without_noise_plans_nothing(refused_by_verb, pilot):
    assert "its runs are equal: their SD is 0" in refused_by_verb("plan", "--pilot", pilot, "--variant", "control")


@pytest.mark.parametrize(
    "sd", [(-0.1, 0, 1), (1e-318, 0, 1), (1.5, 1, 2), (np.nan,) * 3, (0.1, -1, 1), (0.1, 0, np.inf)]
)
def test_an_sd_that_no_cell_has_is_one_line(sd, refused_by_verb, tmp_path):
    path = tmp_path / "one.csv"
    metric_files.write(path, STABILITY, [(*CELL, "algo", "accuracy_sd", "all", *sd, 4, 0)])
    assert "/algo: found an SD of " in refused_by_verb("plan", "--pilot", path, "--gain", 1)


@pytest.mark.parametrize("low", [np.nan, 0])
def test_an_interval_may_be_undefined_or_begin_at_zero(low, plan, tmp_path):
    path = tmp_path / "one.csv"
    metric_files.write(path, STABILITY, [(*CELL, "algo", "accuracy_sd", "all", 0.01, low, 0.02, 4, 0)])
    gain = next(line for line in plan("--pilot", path).splitlines() if line.startswith("5 "))
    assert ("(0 to " in gain) == (low == 0)
    needed = plan("--pilot", path, "--gain", 1, "--json")["needed"][0]
    assert needed["runs_per_arm"] > 2
    assert low != 0 or needed["runs_per_arm_low"] == 3


def test_a_pilot_of_one_run_has_no_sd(refused_by_verb, tmp_path):
    path = tmp_path / "one.csv"
    metric_files.write(path, STABILITY, [(*CELL, "algo", "accuracy_sd", "all", np.nan, np.nan, np.nan, 1, 0)])
    assert "1 runs; an SD needs 2 or more" in refused_by_verb("plan", "--pilot", path)
