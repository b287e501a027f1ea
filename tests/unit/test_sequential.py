"""Looks at a comparison while runs come in: bounds against published ones, error and power, the plan and its looks."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize, special, stats

from toolnoise import cli
from toolnoise.base.errors import BadInput
from toolnoise.comparison import runs_of_metric
from toolnoise.comparison.sequential import bounds, looks, planning

# With so many runs at a look, Student's test is the normal one.
MANY = 20_000
FIFTHS = [0.2, 0.4, 0.6, 0.8, 1.0]
# Two-sided level 0.05, five equal looks. Constants of Pocock and of O'Brien and Fleming: Jennison and Turnbull (2000),
# tables 2.1 and 2.3. Lan and DeMets' bounds: gsDesign's sfLDOF and sfLDPocock, alpha .025 one-sided.
POCOCK_CONSTANT, OBRIEN_FLEMING_CONSTANT = 2.413, 2.040
LAN_DEMETS = {
    "obrien-fleming": [4.8769, 3.3569, 2.6803, 2.2898, 2.0310],
    "pocock": [2.4380, 2.4268, 2.4101, 2.3966, 2.3859],
}


POINTS, WEIGHTS = np.polynomial.legendre.leggauss(200)


def crossing(fractions, heights):
    """The chance of a Brownian motion to leave the bounds at each look: the density is carried on by quadrature."""
    places, masses, before, left = np.zeros(1), np.ones(1), 0.0, []
    for fraction, height in zip(fractions, heights, strict=True):
        sd, bound = np.sqrt(fraction - before), height * np.sqrt(fraction)
        left.append(float(masses @ (special.ndtr((places - bound) / sd) + special.ndtr((-places - bound) / sd))))
        edge = min(bound, 8.0)
        new = edge * POINTS
        masses = edge * WEIGHTS * (stats.norm.pdf(new[:, np.newaxis], places, sd) @ masses)
        places, before = new, fraction
    return np.array(left)


def spent_by(spending, fractions, level=0.05):
    return np.array([2 * bounds.SPENDING[spending](fraction, level / 2) for fraction in fractions])


def quadrature_bounds(spending, fractions):
    found, spent = [], spent_by(spending, fractions)
    for place in range(len(fractions)):

        def excess(height, place=place):
            return crossing(fractions[: place + 1], [*found, height]).sum() - spent[place]

        found.append(optimize.brentq(excess, 1, 8))
    return np.array(found)


@pytest.mark.parametrize(
    "heights", [[POCOCK_CONSTANT] * 5, [OBRIEN_FLEMING_CONSTANT * np.sqrt(5 / look) for look in range(1, 6)]]
)
def test_the_quadrature_gives_the_constants_of_the_textbook_the_level_of_five_per_cent(heights):
    assert crossing(FIFTHS, heights).sum() == pytest.approx(0.05, abs=5e-5)


@pytest.mark.parametrize("spending", LAN_DEMETS)
def test_the_quadrature_finds_the_bounds_of_gsdesign(spending):
    assert quadrature_bounds(spending, FIFTHS) == pytest.approx(LAN_DEMETS[spending], abs=2e-4)


@pytest.mark.parametrize("spending", LAN_DEMETS)
def test_with_many_runs_bounds_are_those_of_gsdesign(spending):
    runs = [int(MANY * fraction) for fraction in FIFTHS]
    found = stats.norm.isf(np.array(bounds.decisive(runs, MANY, 0.05, spending)) / 2)
    stopped = bounds.STUDIES * np.diff(spent_by(spending, FIFTHS), prepend=0)
    for mine, wanted, count in zip(found, LAN_DEMETS[spending], stopped, strict=True):
        # Three standard errors of the simulation; O'Brien and Fleming's first look may spend 1 in a million, and waits.
        assert mine == np.inf if count < 1 else mine == pytest.approx(wanted, abs=3 / np.sqrt(count) / wanted)


@pytest.mark.parametrize("spending", LAN_DEMETS)
@pytest.mark.parametrize("runs", [[4, 8, 12, 16, 20], [2, 3, 5, 6, 9, 10]])
def test_pairs_stop_falsely_as_often_as_may_be_spent(spending, runs):
    rng = np.random.Generator(np.random.Philox(99))
    values = rng.normal(3, 7, (40_000, runs[-1]))
    going, stopped = np.ones(len(values), bool), []
    for count, decides in zip(runs, bounds.decisive(runs, runs[-1], 0.05, spending), strict=True):
        going &= ~(stats.ttest_1samp(values[:, :count], 3, axis=1).pvalue <= decides)
        stopped.append(1 - going.mean())
    # Standard error 0.0011; the first looks of few studies may wait.
    wanted = spent_by(spending, np.array(runs) / runs[-1])
    assert np.abs(np.array(stopped) - wanted)[wanted > 3e-4].max() < 0.004


@pytest.mark.parametrize("ratio", [1, 4])
def test_arms_of_unequal_noise_stop_falsely_in_at_most_5_5_per_cent(ratio):
    rng = np.random.Generator(np.random.Philox(7))
    runs, going = [4, 8, 12, 16, 20], np.ones(40_000, bool)
    a, b = rng.normal(0, 1, (40_000, 20)), rng.normal(0, ratio, (40_000, 20))
    for count, decides in zip(runs, bounds.decisive(runs, 20, 0.05, planning.USUAL_SPENDING), strict=True):
        going &= ~(stats.ttest_ind(a[:, :count], b[:, :count], axis=1, equal_var=False).pvalue <= decides)
    assert 1 - going.mean() < 0.055


def test_a_further_look_leaves_the_bounds_before_it():
    few, more = (bounds.decisive(runs, 20, 0.05, "pocock") for runs in ([5, 10], [5, 10, 13, 20]))
    assert few == more[:2]
    # It is paid for: the last bound is stricter than without the look at 13.
    assert more[-1] < bounds.decisive([5, 10, 20], 20, 0.05, "pocock")[-1]


@pytest.mark.parametrize("paired", [True, False])
def test_power_with_one_look_is_that_of_the_fixed_design(paired):
    mine = bounds.power([12], 1.2, paired=paired, level=0.05, spending="pocock")
    assert mine == pytest.approx(planning.fixed_power(12, 1.2, paired, 0.05), abs=0.012)


def test_power_is_how_often_a_study_is_decided():
    rng = np.random.Generator(np.random.Philox(5))
    runs, gain = [4, 8, 12], 1.3
    values = rng.normal(gain, 1, (20_000, 12))
    finds = np.zeros(len(values), bool)
    for count, decides in zip(runs, bounds.decisive(runs, 12, 0.05, "pocock"), strict=True):
        test = stats.ttest_1samp(values[:, :count], 0, axis=1)
        finds |= (test.pvalue <= decides) & (test.statistic > 0)
    assert bounds.power(runs, gain, paired=True, level=0.05, spending="pocock") == pytest.approx(
        finds.mean(), abs=0.012
    )


def test_a_plan_takes_the_fewest_runs_with_its_power():
    plan = planning.make(1.0, [1.0], 4, None, None, paired=True)
    fewer = planning.make(1.0, [1.0], 4, None, plan.most - 1, paired=True)
    assert plan.power_for_gain >= 0.8 > fewer.power_for_gain


@pytest.mark.parametrize(
    ("most", "looks", "every", "runs"),
    [
        (20, 4, None, (5, 10, 15, 20)),
        (7, None, 2, (2, 4, 6, 7)),
        (6, None, 1, (2, 3, 4, 5, 6)),
        (3, None, None, (2, 3)),
    ],
)
def test_looks_are_equally_spaced_and_the_last_has_all_runs(most, looks, every, runs):
    assert planning.schedule(most, looks, every) == runs


def planned(*words):
    cli.main(["plan", "--sequential", "--sd", "1", "--gain", "1", "--metric", "loss", "--out", "plan.json", *words])


@pytest.mark.parametrize(("words", "lower"), [((), True), (("--lower",), True), (("--higher",), False)])
@pytest.mark.usefixtures("here")
def test_a_plan_says_which_way_its_metric_is_better_by_its_name_or_as_asked(words, lower, capsys):
    planned("--most", "4", *words)
    assert planning.read("plan.json").lower is lower
    assert f"loss: {'lower' if lower else 'higher'} is better (" in capsys.readouterr().out


def test_a_plan_for_a_metric_without_a_direction_needs_one(here, refused_by_verb):
    words = ("plan", "--sequential", "--sd", "1", "--gain", "1", "--metric", "cost", "--out", "plan.json")
    line = refused_by_verb(*words)
    assert "cost" in line and "--lower or --higher" in line and not (here / "plan.json").exists()
    cli.main([*words, "--lower"])
    assert planning.read("plan.json").lower is True


def test_a_plan_for_times_needs_runs_of_their_own_sessions(here, refused_by_verb):
    words = ("plan", "--sequential", "--sd", "1", "--gain", "1", "--metric", "step_time", "--out", "plan.json")
    assert "--session none" in refused_by_verb(*words)
    assert "--session: found host; none" in refused_by_verb(*words, "--session", "host")
    cli.main([*words, "--session", "none"])
    assert (here / "plan.json").exists()


def table(values, seeds=None, started=None):
    names = ["seed"] * (seeds is not None) + ["loss"] + ["started"] * (started is not None)
    rows = zip(*(column for column in (seeds, values, started) if column is not None), strict=True)
    return "\n".join(",".join(map(str, row)) for row in [names, *rows]) + "\n"


def runs_file(name, values, seeds=None):
    Path(name).write_text(table(values, seeds))


def peeked(capsys, *words):
    capsys.readouterr()
    cli.main(["compare", "a.csv", "b.csv", "--peek", "plan.json", "--json", *words])
    return json.loads(capsys.readouterr().out)


A = [10.0, 11.0, 10.5, 9.5, 10.2, 10.9, 9.9, 10.4, 10.1, 10.6]


@pytest.mark.usefixtures("here")
def test_a_study_goes_on_and_then_is_decided(capsys):
    planned("--most", "10", "--lower")
    runs_file("a.csv", A[:4])
    runs_file("b.csv", [value - 0.1 for value in A[:4]])
    first = peeked(capsys)
    assert (first["decision"], first["look"], first["next_look_at"]) == ("go on", 1, 6)
    runs_file("a.csv", A)
    runs_file("b.csv", [*(value - 0.1 for value in A[:4]), *(value - 3 for value in A[4:])])
    last = peeked(capsys)
    assert (last["decision"], last["look"], last["is_planned"]) == ("B is better", 2, True)
    # The interval is that of Welch's test at the p-value that decides.
    b = [value - 0.1 for value in A[:4]] + [value - 3 for value in A[4:]]
    wanted = stats.ttest_ind(b, A, equal_var=False).confidence_interval(1 - last["decides_at_p"])
    assert (last["difference_low"], last["difference_high"]) == pytest.approx(tuple(wanted))


TWICE = np.tile(A, 2)[:16]


@pytest.mark.parametrize(
    ("words", "a", "b", "says"),
    [
        (["--most", "10"], A, [value + 3 for value in A], {"decision": "B is worse"}),
        (["--most", "20", "--futility"], TWICE, TWICE[::-1], {"decision": "stop for futility", "next_look_at": 20}),
        # Equal runs have no noise to judge by.
        (["--most", "10"], [1.0] * 10, [2.0] * 10, {"decision": "not decided", "pvalue": None, "difference_low": None}),
    ],
)
@pytest.mark.usefixtures("here")
def test_what_a_look_decides(words, a, b, says, capsys):
    planned(*words)
    runs_file("a.csv", a)
    runs_file("b.csv", b)
    found = peeked(capsys)
    assert {name: found[name] for name in says} == says


@pytest.mark.usefixtures("here")
def test_looking_twice_at_the_same_runs_counts_once_and_is_kept_with_its_time_and_who_looked(capsys):
    planned("--most", "10")
    runs_file("a.csv", A[:5])
    runs_file("b.csv", A[5:])
    first = peeked(capsys)
    again = peeked(capsys)
    assert again == first | {"is_new": False}
    (look,) = looks.read("plan.json")
    assert (look.runs, look.a, bool(look.who), look.at[:2]) == (5, tuple(A[:5]), True, "20")


@pytest.mark.usefixtures("here")
def test_a_look_off_the_plan_is_paid_for(capsys):
    planned("--most", "10", "--looks", "2", "--spending", "pocock")
    runs_file("a.csv", A[:7])
    runs_file("b.csv", A[2:9])
    found = peeked(capsys)
    assert not found["is_planned"]
    runs_file("a.csv", A)
    runs_file("b.csv", [*A[2:9], *A[:3]])
    assert peeked(capsys)["decides_at_p"] == pytest.approx(bounds.decisive([7, 10], 10, 0.05, "pocock")[-1])


@pytest.mark.usefixtures("here")
def test_what_an_earlier_look_decided_stands(capsys):
    planned("--most", "10", "--looks", "2")
    runs_file("a.csv", A[:6])
    runs_file("b.csv", [value + 9 for value in A[:6]])
    assert peeked(capsys)["decided_before"] is None
    runs_file("a.csv", A)
    runs_file("b.csv", [*(value + 9 for value in A[:6]), -99, 99, -99, 99])
    found = peeked(capsys)
    assert (found["decision"], found["decided_before"]) == ("not decided", "B is worse")


@pytest.mark.usefixtures("here")
def test_pairs_are_runs_with_the_same_seed(capsys):
    planned("--most", "10", "--paired")
    seeds, b = [4, 1, 3, 2, 6], [value + shift for value, shift in zip(A, (1, 1.2, 0.9, 1.1, 1.3), strict=False)]
    runs_file("a.csv", A[:5], seeds)
    runs_file("b.csv", [*b[::-1], 77.0], [*seeds[::-1], 9])
    found = peeked(capsys)
    test = stats.ttest_rel(b, A[:5])
    assert (found["runs_per_arm"], found["pvalue"]) == (5, pytest.approx(test.pvalue))


@pytest.mark.usefixtures("here")
def test_accuracies_of_predictions_are_compared_in_points(capsys):
    cli.main(["plan", "--sequential", "--sd", "5", "--gain", "9", "--most", "6", "--out", "plan.json"])
    rng = np.random.Generator(np.random.Philox(3))
    labels = rng.integers(0, 3, 200)
    np.save("y.npy", labels)
    for name, share in (("a", 0.7), ("b", 0.9)):
        right = rng.random((6, 200)) < share
        np.save(f"{name}.npy", np.where(right, labels, (labels + 1) % 3))
    capsys.readouterr()
    cli.main(["compare", "a.npy", "b.npy", "--labels", "y.npy", "--peek", "plan.json", "--json"])
    found = json.loads(capsys.readouterr().out)
    accuracies = [100 * (np.load(f"{name}.npy") == labels).mean(axis=1) for name in "ab"]
    assert found["mean_b"] == pytest.approx(accuracies[1].mean())
    assert found["pvalue"] == pytest.approx(stats.ttest_ind(*accuracies, equal_var=False).pvalue)
    assert found["decision"] == "B is better"


def looked(capsys):
    planned("--most", "10")
    runs_file("a.csv", A[:4])
    runs_file("b.csv", A[4:8])
    peeked(capsys)
    runs_file("a.csv", A[:6])
    runs_file("b.csv", [*A[4:8], *A[:2]])
    peeked(capsys)


def replaced(old, new):
    return lambda text: text.replace(old, new)


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("plan.json", replaced('"level": 0.05', '"level": 0.2'), "line 1: does not follow from the plan"),
        ("plan.looks.jsonl", replaced('"runs": 4', '"runs": 3'), "line 2: does not follow from line 1"),
        ("plan.looks.jsonl", lambda text: text.split("\n", 1)[1], "line 1: does not follow from the plan"),
        ("a.csv", lambda _: table(A[1:7]), "runs that were there on"),
        ("a.csv", lambda _: table(A[:3]), "runs that were there on"),
        (
            "a.csv",
            lambda _: table(A[:2], started=["2001-01-01"] * 2),
            "has runs of 2001-01-01 00:00:00 UTC; runs after",
        ),
        ("b.csv", None, "b.csv: has runs of 2001-09-09 01:46:40 UTC; runs after the plan"),
        ("?.csv", lambda _: table([*A, *A]), "found 20 runs of each arm; 2 to 10"),
    ],
)
def test_a_look_that_would_break_the_plan_is_refused(name, change, says, here, capsys, refused_by_verb):
    looked(capsys)
    for path in here.glob(name):
        if change:
            path.write_text(change(path.read_text()))
        else:
            os.utime(path, (1e9, 1e9))
    kept = (here / "plan.looks.jsonl").read_text()
    assert says in refused_by_verb("compare", "a.csv", "b.csv", "--peek", "plan.json")
    assert (here / "plan.looks.jsonl").read_text() == kept


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--paired"], "--paired: found --peek, too; the plan alone"),
        (["--metric", "accuracy"], "--metric: found --peek, too; the plan alone"),
        (["--lower"], "--lower: found --peek, too; the plan alone"),
        (["--seed", "seed"], "--seed: found --peek, too; the plan alone"),
        (["--figure", "f.svg"], "--figure: found --peek, too; the plan alone"),
        (["--cluster", "topic"], "--cluster: found --peek, too; the plan alone"),
        (["--labels", "a.csv"], "--labels: found a plan for loss; only for accuracy"),
        (["--arm", "a.csv", "--arm", "b.csv"], "ARMS: found both ARMS and --arm"),
        (["--peek", "no.json"], "no.json: no such file"),
    ],
)
@pytest.mark.usefixtures("here")
def test_what_the_plan_says_is_not_said_again(words, says, refused_by_verb):
    planned("--most", "10")
    for name in "ab":
        runs_file(f"{name}.csv", A[:4])
    assert says in refused_by_verb("compare", "a.csv", "b.csv", "--peek", "plan.json", *words)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--sd", "1", "--gain", "1"], "--out: found nothing"),
        (["--gain", "1", "--out", "p"], "--sd: found nothing"),
        (["--sd", "1", "--out", "p"], "--gain: found nothing"),
        (["--sd", "1", "--gain", "1", "2", "--out", "p"], "--gain: found nothing; --sequential needs one number"),
        (["--sd", "1", "--gain", "-1", "--out", "p"], "--gain: found -1"),
        (["--sd", "1", "--gain", "1", "--out", "p", "--looks", "2", "--every", "3"], "--looks: given with --every"),
        (["--sd", "1", "--gain", "1", "--out", "p", "--looks", "0"], "--looks: found 0; 1 to 100"),
        (["--sd", "1", "--gain", "1", "--out", "p", "--most", "1"], "--most: found 1; 2 to 1000"),
        (["--sd", "1", "--gain", "1", "--out", "p", "--every", "1", "--most", "900"], "--every: found 899 looks"),
        (["--sd", "1", "--gain", "0.001", "--out", "p"], "--gain: found 0.001 SDs"),
        (["--sd", "1", "--gain", "1", "--out", "p", "--ratio", "2"], "--ratio: given with --sequential"),
        (["--sd", "1", "--gain", "1", "--out", "p", "--level", "0"], "--level: found 0"),
    ],
)
@pytest.mark.usefixtures("here")
def test_a_question_that_no_plan_answers_is_refused(words, says, refused_by_verb):
    assert says in refused_by_verb("plan", "--sequential", *words)


@pytest.mark.usefixtures("here")
def test_options_of_a_sequential_plan_need_it(refused_by_verb):
    assert "--looks: given without --sequential" in refused_by_verb("plan", "--sd", "1", "--looks", "3")


def test_a_plan_is_made_once(here, refused_by_verb):
    planned("--most", "4")
    before = (here / "plan.json").read_bytes()
    words = ["plan", "--sequential", "--sd", "1", "--gain", "1", "--out", "plan.json"]
    assert "plan.json: is there already" in refused_by_verb(*words)
    assert (here / "plan.json").read_bytes() == before


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("runs", [4, 2], "runs: found [4, 2]; rising"),
        ("runs", [2, 4.5], "runs: found [2, 4.5]"),
        ("level", 2, "level: found 2"),
        ("spending", ["pocock"], "spending: found ['pocock']; obrien-fleming or pocock"),
        ("made", "yesterday", "made: found 'yesterday'; a time with its zone"),
        ("made", "2026-01-01", "made: found '2026-01-01'; a time with its zone"),
        ("lower", 1, "lower: found 1; true or false"),
        ("format", "another", "format: no sequential plan"),
        ("looks", 3, "looks: missing or unknown"),
    ],
)
def test_a_plan_that_is_changed_by_hand_is_checked(key, value, says, here, refused_by_verb):
    planned("--most", "4")
    path = here / "plan.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))
    assert says in refused_by_verb("compare", "a.csv", "b.csv", "--peek", "plan.json")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("loss\n1\nnan\n", "column loss: found what is no finite number"),
        ("loss\n1\n1e101\n", "column loss: found what is no finite number"),
        ("loss\n1\nx\n", "column loss: found what is no finite number"),
        ("a,b\n1,2\n", "column loss: found a, b"),
        ("1\n2\n", "column loss: found no names"),
        ("seed,loss\n1,2\n1,3\n", "the column of seeds: found 1 twice"),
        ("seed,loss\nmean,2\n1,3\n", "the column of seeds: found mean, which sums up runs"),
        (",loss\n1,2\nstd,3\n", "the column of seeds: found std, which sums up runs"),
        (f"seed,loss\n{2**60},2\n{2**60 + 1},3\n", "the column of seeds: found 1152921504606846976, rounded"),
        ("started,loss\nnoon,2\n", "the column of times: found noon"),
        ("started,loss\n1e300,2\n", "the column of times: found 1e+300"),
    ],
)
def test_a_file_of_runs_without_a_number_for_each_is_refused(text, says, here):
    (here / "a.csv").write_text(text)
    with pytest.raises(BadInput, match=says.replace("+", r"\+")):
        runs_of_metric.read_runs_of_metric("a.csv", "loss", timed=True)


def test_seeds_of_more_than_six_digits_are_told_apart_and_durations_are_no_times(here):
    (here / "a.csv").write_text("seed,loss,date\n1000001,1,12.5\n1000002,2,13.5\n")
    runs = runs_of_metric.read_runs_of_metric("a.csv", "loss", timed=True)
    assert (runs.seeds, runs.times) == (["1000001", "1000002"], None)


@pytest.mark.usefixtures("here")
def test_the_text_says_what_to_do_next(capsys):
    planned("--most", "10")
    runs_file("a.csv", A[:6])
    runs_file("b.csv", A[4:])
    capsys.readouterr()
    cli.main(["compare", "a.csv", "b.csv", "--peek", "plan.json"])
    text = capsys.readouterr().out
    assert "valid at every look and after stopping" in text
    assert "Go on: 2 more runs of each arm, then look at 8." in text
