"""Arms compared by metrics: SciPy's tests from files, Holm's steps, verdicts, and the pilot of a plan."""

import itertools
import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from toolnoise.base.program import ROOT
from toolnoise.comparison import compared_metrics, sample_size
from toolnoise.comparison.comparison_text import laid_out
from toolnoise.comparison.metric_layouts import Asked
from toolnoise.comparison.metric_runs import read_runs
from toolnoise.comparison.two_arms import partly_paired_difference

ARMS = ("base", "wide", "deep")
METRICS = ("accuracy", "loss")


@pytest.fixture
def files(here):
    """Write runs of arms, {arm: {seed: (accuracy, loss)}}, as one table, and as one for each arm."""

    def write(runs):
        lines = {
            arm: [f"{seed},{arm},{','.join(map(repr, map(float, values)))}" for seed, values in of.items()]
            for arm, of in runs.items()
        }
        heading = "seed,model,accuracy,loss"
        for arm, of in lines.items():
            (here / f"{arm}.csv").write_text("\n".join([heading, *of]) + "\n")
        (here / "all.csv").write_text("\n".join([heading, *itertools.chain(*lines.values())]) + "\n")
        return runs

    return write


def drawn(seeds):
    """Runs with these seeds: a part of each number is the seed's, whatever the arm."""
    rng = np.random.Generator(np.random.Philox(1))
    common = rng.normal(0, 0.01, (100, 2))
    return {
        arm: {number: (0.9, 0.4) + common[number] + rng.normal(0.002 * place, 0.004, 2) for number in numbers}
        for place, (arm, numbers) in enumerate(seeds.items())
    }


def values(runs, arm, metric):
    return np.array([of[METRICS.index(metric)] for of in runs[arm].values()])


def read(given, metrics=("accuracy",), **asked):
    return read_runs([[path] for path in given], Asked(tuple(metrics), **asked))


def compared(given, metrics=("accuracy",), **asked):
    against = asked.pop("against", None)
    return compared_metrics.compare(read(given, metrics, **asked), against)


def holm_by_hand(pvalues):
    """Each p-value times the number of those that are not smaller, and never below a smaller one's."""
    found = []
    for p in pvalues:
        larger = [min(1, q * sum(other >= q for other in pvalues)) for q in pvalues if q <= p]
        found.append(max(larger))
    return found


# The tests


@pytest.mark.parametrize("seeds", [7, 2])
@pytest.mark.parametrize("given", [["all.csv"], ["base.csv", "wide.csv", "deep.csv"]])
def test_shared_seeds_are_scipys_paired_test(given, seeds, files):
    runs = files(drawn(dict.fromkeys(ARMS, range(seeds))))
    found = compared(given, METRICS)
    assert [(each.a.name, each.b.name, each.metric) for each in found] == [
        ("base", arm, metric) for arm in ("wide", "deep") for metric in METRICS
    ]
    for each in found:
        a, b = (values(runs, arm.name, each.metric) for arm in (each.a, each.b))
        by_scipy = stats.ttest_rel(b, a)
        interval = by_scipy.confidence_interval()
        assert (each.way, each.n_pairs) == ("paired", seeds)
        assert each.pvalue == pytest.approx(by_scipy.pvalue, rel=1e-12, abs=1e-12)
        wanted = (np.mean(b - a), interval.low, interval.high)
        assert each.difference == pytest.approx(wanted, rel=1e-12, abs=1e-12)
        assert (each.a.mean.value, each.b.mean.value) == pytest.approx((a.mean(), b.mean()), rel=1e-12)
        assert (each.a.sd.value, each.b.sd.value) == pytest.approx((a.std(ddof=1), b.std(ddof=1)), rel=1e-12)
    by_hand = holm_by_hand([each.pvalue for each in found])
    assert [each.pvalue_holm for each in found] == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize("unpaired", ["other seeds", "seeds that are not to be paired"])
def test_unshared_seeds_are_scipys_welch_test(unpaired, files):
    other = unpaired == "other seeds"
    runs = files(drawn({"base": range(6), "wide": range(20, 28) if other else range(8)}))
    (each,) = compared(["all.csv"], seed=None if other else "none")
    a, b = (values(runs, arm, "accuracy") for arm in ("base", "wide"))
    by_scipy = stats.ttest_ind(b, a, equal_var=False)
    assert each.way == "independent"
    assert each.pvalue == pytest.approx(by_scipy.pvalue, rel=1e-12, abs=1e-12)
    assert each.difference[1:] == pytest.approx(tuple(by_scipy.confidence_interval()), rel=1e-12, abs=1e-12)


def test_some_shared_seeds_are_the_partly_paired_test(files):
    runs = files(drawn({"base": range(8), "wide": range(2, 12)}))
    (each,) = compared(["all.csv"])
    a, b = values(runs, "base", "accuracy"), values(runs, "wide", "accuracy")
    shared_first = np.concatenate([a[2:], a[:2]])
    wanted = partly_paired_difference(shared_first, b, 6)
    assert (each.way, each.n_pairs) == ("partly paired", 6)
    assert each.difference == pytest.approx(wanted.effect, rel=1e-12)
    assert each.pvalue == pytest.approx(wanted.pvalue, rel=1e-12)
    assert "partly paired t over 8 and 10 runs, 6 seeds in both" in told(["all.csv"])


@pytest.mark.parametrize("gain", [0.05, -0.05])
def test_a_metric_without_a_direction_is_higher_or_lower_and_never_better(gain, here, printed_by_verb):
    rng = np.random.Generator(np.random.Philox(4))
    a, b = rng.normal([[1.0], [1.0 + gain]], 0.01, (2, 8))
    for name, numbers in {"resnet": a, "vit": b}.items():
        (here / f"{name}.csv").write_text("\n".join(["cost", *map(repr, numbers.tolist())]))
    given, expected = ["resnet.csv", "vit.csv"], stats.ttest_ind(b, a, equal_var=False)
    (found,) = compared(given, ["cost"])
    assert found.pvalue == pytest.approx(expected.pvalue, rel=1e-12) and found.pvalue < 1e-6
    assert found.lower_is_better is None
    assert np.isnan(found.probability_of_improvement.value)
    assert found.probability_of_higher.value == (gain > 0)
    said = told(given, metrics=["cost"])
    high, low = ("vit", "resnet") if gain > 0 else ("resnet", "vit")
    assert said.startswith(f"{high} is higher than {low}: cost +") and "lower or higher" in said.splitlines()[0]
    assert "vit is higher, % of pairs" in said
    assert not re.search("(?<!way )is better", said)
    (printed,) = json.loads(printed_by_verb("compare", *given, "--metric", "cost", "--json"))["comparisons"]
    assert (printed["lower_is_better"], printed["probability_of_improvement"]["value"]) == (None, None)
    assert printed["verdict"] == said.splitlines()[0]
    (turned,) = compared(given, ["cost"], lower=())
    assert turned.lower_is_better and turned.probability_of_improvement.value == (gain < 0)
    said = told(given, metrics=["cost"], lower=())
    assert said.startswith(f"{low} is better than {high}: cost -")


@pytest.mark.parametrize("others", [range(10, 12), range(10, 13), range(10, 20), range(1, 11)])
@pytest.mark.parametrize("first", [True, False])
def test_two_runs_that_are_not_all_pairs_decide_nothing(others, first, files):
    arms = [("base", range(2)), ("wide", others)]
    runs = files(drawn(dict(arms if first else arms[::-1])))
    (found,) = compared(["all.csv"])
    assert (found.way, found.test, found.n_pairs) == ("two draws", "none", 0)
    undefined = (found.hedges_g, found.probability_of_improvement, found.sd_ratio)
    assert np.isnan([found.pvalue, found.pvalue_holm, found.difference.low, *(each.value for each in undefined)]).all()
    means = [values(runs, each.name, "accuracy").mean() for each in (found.a, found.b)]
    assert found.difference.value == pytest.approx(means[1] - means[0])
    said = told(["all.csv"])
    assert "two runs of base" in said and "make a third" in said
    assert "is better than" not in said and "p = " not in said and "nan" not in said
    assert compared_metrics.count_of_tests([found]) == 0


def test_differences_that_only_decimals_tell_apart_are_equal_and_have_no_test(files):
    """0.92 - 0.91 and 0.93 - 0.92 differ in base 2 alone: SciPy's test has p = 0."""
    both = {"base": (0.91, 0.92, 0.93), "wide": (0.92, 0.93, 0.94)}
    files({arm: {seed: (value, value) for seed, value in enumerate(of)} for arm, of in both.items()})
    (found,) = compared(["all.csv"])
    assert np.isnan(found.pvalue)
    assert "wide - base is +0.010 in every pair: without any noise, there is no test." in told(["all.csv"])


# The same runs on both sides


def tables(here, **arms):
    for name, lines in arms.items():
        (here / f"{name}.csv").write_text("\n".join(["run,seed,accuracy,loss", *lines]) + "\n")
    return [f"{name}.csv" for name in arms]


def lines_of(numbers, seeds=None, names=None):
    seeds, names = seeds or range(len(numbers)), names or [""] * len(numbers)
    return [f"{name},{seed},{x!r},{x / 3!r}" for name, seed, x in zip(names, seeds, numbers, strict=True)]


def in_both(given, metrics=METRICS, **asked):
    found = compared(given, metrics, **asked)
    assert len({each.n_in_both for each in found}) == 1
    return found[0].n_in_both, [each.way == "same runs" for each in found]


FINE = [0.9127, 0.9213, 0.9071, 0.9302, 0.9188, 0.9253, 0.9099]
MORE = [0.9811, 0.9787, 0.9842, 0.9805, 0.9791]
IDS = [f"5bdc3988-{n:04x}" for n in range(20)]


def test_a_copied_arm_is_named_and_has_no_winner(here):
    both = tables(here, a=lines_of(FINE), b=lines_of(FINE[::-1], range(7)[::-1]))
    assert in_both(both) == (7, [True, True])
    said = told(both, metrics=METRICS)
    assert said.count("No winner: 7 runs are in both arms") == 2 and "p = " not in said and "nan" not in said
    found = compared(both, METRICS)
    assert all(np.isnan([each.pvalue, each.difference.low, each.hedges_g.value]).all() for each in found)
    assert compared_metrics.count_of_tests(found) == 0
    # Beside further runs that alone make a difference, and without seeds.
    more = [*FINE[:4], *MORE]
    assert stats.ttest_ind(more, FINE[:4], equal_var=False).pvalue < 0.05
    for asked in ({}, {"seed": "none"}):
        assert in_both(tables(here, a=lines_of(FINE[:4]), b=lines_of(more)), **asked) == (4, [True, True])
    assert in_both(tables(here, a=lines_of(FINE), b=lines_of(FINE)), paired=True, seed="none") == (7, [True, True])


def test_a_run_with_an_id_that_stands_in_both_arms_is_named(here):
    a = lines_of([*FINE[:3], 0.95], names=IDS[:4])
    b = lines_of([*MORE, FINE[1]], [*range(10, 15), 1], [*IDS[4:9], IDS[1]])
    assert in_both(tables(here, a=a, b=b)) == (1, [True, True])
    assert "1 run is in both arms" in told(["a.csv", "b.csv"], metrics=METRICS)
    # One run under one id that is not equal, such as of two checkpoints, is two; so are runs that are numbered alike.
    assert in_both(tables(here, a=lines_of(FINE, names=IDS[:7]), b=lines_of(MORE, names=IDS[:5])))[0] == 0
    a, b = ([0.91, 0.92, 0.93, 0.90], [0.91, 0.94, 0.95, 0.96])
    for names in (range(4), ["seed1", "seed2", "seed3", "seed4"]):
        assert in_both(tables(here, a=lines_of(a, names=names), b=lines_of(b, names=names)))[0] == 0


def test_numbers_that_agree_by_chance_are_no_runs_in_both_arms(here):
    """Accuracies in whole percent: some agree in any two arms, and constants agree in all runs."""
    for a, b in (
        ([0.91, 0.92, 0.93, 0.90], [0.92, 0.91, 0.95, 0.94]),
        ([1.0, 1.0, 1.0, 0.0, 1.0], [1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0]),
        ([6000.0] * 5, [6000.0] * 5),
        ([0.91, 0.92, 0.93], [0.93, 0.91, 0.92]),  # seed by seed they differ
    ):
        assert in_both(tables(here, a=lines_of(a), b=lines_of(b)))[0] == 0
    assert told(tables(here, a=lines_of([6000.0] * 5), b=lines_of([6000.0] * 5))).startswith(
        "accuracy: all runs of a and b are equal.\n"
    )
    # One metric of several is not a run.
    a = [f",{seed},{x!r},0.5" for seed, x in enumerate(FINE)]
    b = [f",{seed},{x + 0.01 * seed!r},0.5" for seed, x in enumerate(FINE)]
    assert in_both(tables(here, a=a, b=b))[0] == 0


# Runs that share a session


# Two records with one program, at 1775 steps.
EXAMPLE = pd.read_csv(ROOT / "examples/nanogpt-records.csv")
SAME_PROGRAM = {"fused": "2026-01-16_FusedSoftcappedEntropy", "unified": "2026-01-18_UnifiedOptimizers/baseline"}
RECORDS = {
    name: EXAMPLE.loc[EXAMPLE.record == record, ["val_loss", "train_time_ms"]].to_dict("list")
    for name, record in SAME_PROGRAM.items()
}


@pytest.mark.usefixtures("here")
def test_two_sessions_of_one_program_have_no_winner_in_time(refused):
    for name, columns in RECORDS.items():
        pd.DataFrame(columns).to_csv(f"{name}.csv", index=False)
    tables = [pd.DataFrame(columns).assign(model=name) for name, columns in RECORDS.items()]
    pd.concat(tables).to_csv("all.csv", index=False)
    both = ["val_loss", "train_time_ms"]
    for given in (["fused.csv", "unified.csv"], ["all.csv"]):
        loss, time = compared(given, both)
        assert (time.way, time.test) == ("no sessions", "none")
        undefined = (time.hedges_g, time.probability_of_improvement, time.sd_ratio)
        assert np.isnan([time.pvalue, time.difference.low, *(each.value for each in undefined)]).all()
        assert np.isnan([time.a.mean.low, time.a.sd.low]).all() and np.isfinite(loss.a.mean.low)
        assert time.a.mean.value == pytest.approx(np.mean(RECORDS["fused"]["train_time_ms"]), rel=1e-12)
        wanted = {
            name: stats.ttest_ind(*(of[name] for of in reversed(RECORDS.values())), equal_var=False) for name in both
        }
        assert loss.pvalue == pytest.approx(wanted["val_loss"].pvalue, rel=1e-12) and loss.pvalue_holm == loss.pvalue
        said = told(given, metrics=both)
        assert re.search("^No winner: the sessions .*unified - fused is -2", said, re.MULTILINE)
        assert "is better than" not in said and "session names its column" in said
        loss, time = compared(given, both, session="none")
        assert time.pvalue == pytest.approx(wanted["train_time_ms"].pvalue, rel=1e-12) and time.pvalue < 1e-4
        assert "unified is better than fused: train_time_ms -" in told(given, metrics=both, session="none")
        assert "(session none)" in told(given, metrics=both, session="none")
    pd.concat(tables).assign(day=1).to_csv("all.csv", index=False)
    assert "session: found no column host; it has val_loss" in refused(lambda: read(["all.csv"], both, session="host"))


@pytest.fixture
def of_sessions(here):
    """Write runs of arms, {arm: {session: numbers}}, as one table, and return the means of sessions."""

    def write(runs):
        lines = [
            f"{arm},{session},{each!r}"
            for arm, of in runs.items()
            for session, numbers in of.items()
            for each in numbers
        ]
        (here / "all.csv").write_text("\n".join(["model,host,ms", *lines]) + "\n")
        return [np.array([np.mean(numbers) for numbers in of.values()]) for of in runs.values()]

    return write


def timed(sessions):
    """Runs of arms in sessions: each session has a speed of its own, whatever the arm."""
    rng = np.random.Generator(np.random.Philox(1))
    speeds = dict(zip("abcdefghijklm", rng.normal(100, 10, 13), strict=True))
    return {
        arm: {session: (speeds[session] + rng.normal(place, 1, 2 + n % 3)).tolist() for n, session in enumerate(of)}
        for place, (arm, of) in enumerate(sessions.items())
    }


@pytest.mark.parametrize(
    ("first", "other", "way", "pairs"),
    [("abcd", "abcd", "paired", 4), ("ab", "ab", "paired", 2), ("abcde", "fghij", "independent", 0)],
)
def test_runs_of_an_arm_in_a_session_are_averaged_and_sessions_are_tested(first, other, way, pairs, of_sessions):
    runs = timed({"base": first, "wide": other})
    a, b = of_sessions(runs)
    (found,) = compared(["all.csv"], ["ms"], session="host", lower=())
    test = stats.ttest_rel(b, a) if pairs else stats.ttest_ind(b, a, equal_var=False)
    assert (found.way, found.n_pairs, found.pairs_are) == (way, pairs, "sessions")
    assert found.pvalue == pytest.approx(test.pvalue, rel=1e-12)
    interval = test.confidence_interval()
    assert found.difference == pytest.approx((b.mean() - a.mean(), interval.low, interval.high), rel=1e-12)
    assert found.a.mean.value == pytest.approx(a.mean(), rel=1e-12)
    assert found.a.sd.value == pytest.approx(a.std(ddof=1), rel=1e-12)
    assert (found.a.n_runs, found.a.n_sessions) == (sum(map(len, runs["base"].values())), len(first))
    said = told(["all.csv"], metrics=["ms"], session="host", lower=())
    assert "sessions by host" in said
    assert (f"paired t over {pairs} sessions" if pairs else "over 5 and 5 sessions") in said


@pytest.mark.parametrize(
    ("first", "other", "says"),
    [
        ("a", "b", "the arms ran in different sessions"),
        ("a", "a", "all runs are of one session"),
        ("a", "bcd", "base ran in one session"),
        ("abc", "c", "wide ran in one session"),
        ("ab", "cde", "two sessions of base cannot decide: make a third"),
    ],
)
def test_a_session_an_arm_or_two_have_no_winner(first, other, says, of_sessions):
    of_sessions(timed({"base": first, "wide": other}))
    (found,) = compared(["all.csv"], ["ms"], session="host")
    assert found.test == "none" and np.isnan([found.pvalue, found.difference.low]).all()
    said = told(["all.csv"], metrics=["ms"], session="host")
    assert f"No winner: {says}" in said and "nan" not in said


@pytest.mark.parametrize("name", ["session", "Host", "node", "machine", "launch", "date"])
@pytest.mark.usefixtures("here")
def test_sessions_are_known_by_name_for_times_alone(name):
    rng = np.random.Generator(np.random.Philox(8))
    of = {"base": "abcde", "wide": "abcde", "deep": "fghij"}
    days = dict(zip("abcdefghij", pd.date_range("2026-01-01", periods=10), strict=True))
    speeds = dict(zip(days, rng.normal(100, 10, 10), strict=True))
    rows = []
    for place, (model, sessions) in enumerate(of.items()):
        for seed, session in enumerate(sessions * 3):
            # The date of a launch has its time of day: runs of one day share its speed all the same.
            named = f"{days[session] + pd.Timedelta(minutes=7 * len(rows))}" if name == "date" else session
            time, accuracy = speeds[session] + rng.normal(place, 1), rng.normal(0.9, 0.01)
            rows.append({"model": model, "seed": seed, name: named, "ms": time, "accuracy": accuracy, "day": session})
    table = pd.DataFrame(rows)
    table.to_csv("all.csv", index=False)
    time, accuracy, other_time, other_accuracy = compared(["all.csv"], ["ms", "accuracy"])
    a, b, c = (table[table.model == model].groupby("day").ms.mean() for model in of)
    assert (time.way, time.n_pairs, time.pairs_are, time.a.n_runs) == ("paired", 5, "sessions", 15)
    assert time.pvalue == pytest.approx(stats.ttest_rel(b, a).pvalue, rel=1e-12)
    assert other_time.way == "independent"
    assert other_time.pvalue == pytest.approx(stats.ttest_ind(c, a, equal_var=False).pvalue, rel=1e-12)
    for found, model in ((accuracy, "wide"), (other_accuracy, "deep")):
        of_runs = (table.accuracy[table.model == one].to_numpy() for one in (model, "base"))
        assert (found.way, found.n_pairs, found.a.n_sessions) == ("paired", 15, None)
        assert found.pvalue == pytest.approx(stats.ttest_rel(*of_runs).pvalue, rel=1e-12)
    assert f"sessions by {name}" in told(["all.csv"], metrics=["ms"])
    assert f"sessions by {name}" not in told(["all.csv"])
    by_name, asked = (compared(["all.csv"], ["ms"], session=session)[0].pvalue for session in (None, name))
    assert (by_name == pytest.approx(asked, rel=1e-12)) == (name != "date")


@pytest.mark.parametrize(
    ("columns", "way"),
    [
        ({"host": "pqpqpqpq", "date": ["1/5/2026"] * 8}, "paired"),  # one day: hosts tell sessions apart
        ({"host": "pppprrrr"}, "one draw"),
        ({"host": "pqpqpqpq", "node": "sstusstu"}, "no sessions"),  # which of the two?
        ({"host": ["p", "q", "p", "q", "p", "q", "p", ""]}, "no sessions"),
        ({"date": [f"January {day}" for day in range(8)]}, "no sessions"),
        ({"hosting": "pqpqpqpq"}, "no sessions"),
    ],
)
@pytest.mark.usefixtures("here")
def test_sessions_that_are_not_plain_have_no_winner(columns, way):
    columns = {name: list(cells) for name, cells in columns.items()}
    times = {"model": list("aaaabbbb"), "step_time": [3.0, 3.1, 3.2, 3.15, 9.0, 9.1, 9.3, 9.05]}
    pd.DataFrame(times | columns).to_csv("all.csv", index=False)
    (found,) = compared(["all.csv"], ["step_time"])
    assert (found.way, np.isnan(found.pvalue)) == (way, way != "paired")
    both = [columns[name] for name in ("host", "node") if name in columns]
    assert ("host and node may each say the sessions" in told(["all.csv"], metrics=["step_time"])) == (
        len(both) == 2 and way == "no sessions"
    )
    if "host" in columns and way == "paired":  # arms that are machines are no sessions
        (found,) = compared(["all.csv"], ["step_time"], by="host")
        assert np.isnan(found.pvalue)


def test_which_arms_are_compared(files):
    files(drawn(dict.fromkeys(ARMS, range(5))))
    pairs = [(each.a.name, each.b.name) for each in compared(["all.csv"], against="deep")]
    assert pairs == [("deep", "base"), ("deep", "wide")]
    runs = files(drawn(dict.fromkeys(("wide", "base", "deep", "long"), range(5))))
    found = compared(["all.csv"], against="previous")
    assert [(each.a.name, each.b.name) for each in found] == list(itertools.pairwise(runs))
    wanted = [
        stats.ttest_rel(values(runs, b, "accuracy"), values(runs, a, "accuracy")).pvalue
        for a, b in itertools.pairwise(runs)
    ]
    assert [each.pvalue for each in found] == pytest.approx(wanted, rel=1e-12)
    assert [each.pvalue_holm for each in found] == pytest.approx(holm_by_hand(wanted), rel=1e-12)
    # An arm may have that name.
    files(drawn(dict.fromkeys(("wide", "previous", "deep"), range(5))))
    found = compared(["all.csv"], against="previous")
    assert [(each.a.name, each.b.name) for each in found] == [("previous", "wide"), ("previous", "deep")]


# What is said


def told(given, **asked):
    of_tables = {name: value for name, value in asked.items() if name != "against"}
    return laid_out([compared_metrics.block(read(given, **of_tables), compared(given, **asked))])


def test_a_winner_is_named_with_its_interval_and_must_survive_holm(files):
    gain = np.array([0.01, 0.012, 0.011, 0.013, 0.009])
    rng = np.random.Generator(np.random.Philox(3))
    base = 0.9 + rng.normal(0, 0.01, 5)
    files({"base": {n: (v, v) for n, v in enumerate(base)}, "wide": {n: (v, v) for n, v in enumerate(base + gain)}})
    said = told(["all.csv"])
    low, high = stats.ttest_1samp(gain, 0).confidence_interval()
    p = f"{stats.ttest_1samp(gain, 0).pvalue:.2g}".removeprefix("0")
    assert float(p) < 0.001
    by = f"0.0110 (95 % CI {low:.4f} to {high:.4f}; paired t over 5 seeds, p < .001)"
    assert said.startswith(f"wide is better than base: accuracy +{by}.")
    assert "accuracy: higher is better (by its name)." in said
    said = told(["all.csv"], metrics=["loss"])
    assert "loss: lower is better (by its name)." in said
    by = f"-0.0110 (95 % CI {-high:.4f} to {-low:.4f}; paired t over 5 seeds, p < .001)"
    assert said.startswith(f"base is better than wide: loss {by}.")
    assert "points" not in said


def test_verdicts_of_several_arms_come_first_and_a_screen_has_thirty_lines(files, printed_by_verb):
    arms = [f"arm{number}" for number in range(30)]
    files(drawn(dict.fromkeys(arms, range(6))))
    found = compared(["all.csv"])
    better = [each for each in found if each.pvalue_holm < 0.05]
    assert 0 < len(better) < len(found) == 29
    whole = printed_by_verb("compare", "all.csv", "--metric", "accuracy", "--all").splitlines()
    screen = printed_by_verb("compare", "all.csv", "--metric", "accuracy").splitlines()
    assert (len(screen), screen[:29]) == (30, whole[:29]) and f"{len(whole) - 29} more" in screen[29]
    for line, each in zip(whole[: len(better)], better, strict=True):
        a, b = (each.a.name, each.b.name) if each.difference.value > 0 else (each.b.name, each.a.name)
        assert line.startswith(f"{b} is better than {a}: accuracy +")
    table = whole[whole.index("") + 1 :]
    for row, each in zip(table[2 : table.index("")], found, strict=True):
        assert row.startswith(f"{each.a.name} to {each.b.name} ")
        ends = (each.difference.low, each.difference.high, each.pvalue, each.pvalue_holm)
        printed = [float(cell) for cell in row.replace(" to ", " ").split()[-4:]]
        assert printed == pytest.approx(ends, rel=0.05, abs=0.0001)


def test_a_table_may_be_markdown_or_latex(files, printed_by_verb):
    files(drawn(dict.fromkeys(("base", "a|b_%"), range(5))))
    (found,) = compared(["all.csv"])
    for form, beside, name in (("markdown", "| ", r"a\|b_%"), ("latex", "& ", r"a|b\_\%")):
        lines = printed_by_verb("compare", "all.csv", "--metric", "accuracy", f"--{form}").splitlines()
        (row,) = (line for line in lines if "accuracy" in line)
        ends = [float(end) for end in re.search(r"([-+]\d\S*) to ([-+]\d\S*)", row).groups()]
        assert ends == pytest.approx(found.difference[1:], rel=0.05)
        assert name in "".join(lines) and len({line.count(beside) for line in lines if beside in line}) == 1


@pytest.mark.parametrize(
    ("p", "says"),
    [(0.0123, "= .012"), (0.00042, "< .001"), (0.7, "= .70"), (0.04999, "= .04999"), (0.0502, "= .050"), (1, "= 1")],
)
def test_a_pvalue_is_on_the_side_of_the_level_where_it_belongs(p, says, files):
    files(drawn(dict.fromkeys(ARMS[:2], range(6))))
    (found,) = compared(["all.csv"])
    found.pvalue = found.pvalue_holm = p
    (said, *_) = compared_metrics.sentences(found)
    assert said.rstrip(".").endswith(f", p {says})")
    assert ("is better than" in said) == (p < 0.05)


def numbers_in(line):
    return [float(cell) for cell in re.findall(r"[-+]?\d[\d.e+-]*", line.replace("in SDs", ""))]


@pytest.mark.parametrize(("scale", "shift"), [(1, 0), (1e-3, 0), (1e5, 0), (1, 1e4), (1e-9, 0)])
def test_digits_follow_the_uncertainty_of_the_difference(scale, shift, here):
    """The real losses of two records: of means 3.27881 and 3.27830, four digits are the same."""
    a, b = (shift + scale * np.array(of["val_loss"]) for of in RECORDS.values())
    for name, of in (("a", a), ("b", b)):
        pd.DataFrame({"val_loss": of}).to_csv(here / f"{name}.csv", index=False)
    (found,) = compared(["a.csv", "b.csv"], ["val_loss"])
    said = told(["a.csv", "b.csv"], metrics=["val_loss"])
    line = next(line for line in said.splitlines() if line.startswith("val_loss  "))
    half = (found.difference.high - found.difference.low) / 2
    printed = numbers_in(line.replace("val_loss", ""))
    for number, true in zip(printed, (a.mean(), b.mean(), *found.difference), strict=True):
        assert abs(number - true) <= 0.0501 * half + 1e-15 * abs(true)
    # Two digits of the half-width, and no more.
    unit = 10.0 ** (np.floor(np.log10(half)) - 1)
    assert all(abs(number / unit - round(number / unit)) < 1e-3 for number in printed)
    assert numbers_in(said.splitlines()[0].partition("CI ")[2])[:2] == printed[3:5]


def test_readmes_command_prints_what_readme_shows(monkeypatch, printed_by_verb):
    monkeypatch.chdir(ROOT)
    text = (ROOT / "README.md").read_text()
    command_of_readme = re.search(r"toolnoise (compare \S+ --metric \S+)", text)[1]
    shown = re.search("smallcnn-bn is better than .*?\\)", text)[0]
    assert shown in printed_by_verb(*command_of_readme.split())


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--metric", "accuracy"], "ARMS: found 0; a table, or one for each arm"),
        (["all.csv", "--metric", "accuracy", "--labels", "y.npy"], "--labels: is not for metrics"),
        (["all.csv", "--by", "model"], "--by: is not for predictions; leave it out, or metric, too"),
        (
            ["all.csv", "--metric", "accuracy", "--against", "x"],
            "--against: found x; previous, or of the arms: base, wide, deep",
        ),
        (["y.npy", "y.npy", "--cluster", "p"], "--cluster: found predictions or numbers in y.npy; only for logs"),
        (["all.csv", "--metric", "loss", "--lower", "--higher"], "--lower: found higher, too, of loss; one of them"),
        (["base.csv", "--metric", "accuracy"], "base.csv: --by: missing"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(words, says, files, refused_by_verb):
    files(drawn(dict.fromkeys(ARMS, range(4))))
    assert says in refused_by_verb("compare", *words)


# The pilot of a plan


def planned(*files, **more):
    asked = {name: more.pop(name) for name in ("seed", "by") if name in more}
    runs = read_runs([[file] for file in files], Asked(("accuracy",), **asked), arms_are="or one")
    return sample_size.spread_of_runs(runs, ", ".join(files), **more)


def test_a_pilot_of_one_arm_has_its_sd(files):
    runs = files(drawn(dict.fromkeys(ARMS, range(6))))
    of = values(runs, "wide", "accuracy")
    bounds = of.std(ddof=1) * np.sqrt(5 / stats.chi2.isf([0.025, 0.975], 5))
    for found in (planned("all.csv", arms=["wide"]), planned("wide.csv")):
        assert found.sd == pytest.approx((of.std(ddof=1), *bounds), rel=1e-12)
        assert (found.runs, found.source, found.quantity, found.unit) == (6, "wide", "accuracy", "")


def test_chance_knows_the_sd_of_a_pilot_of_two_arms_as_well_as_its_interval_does(files, printed_by_verb):
    runs = files(drawn({"base": range(5), "wide": range(10, 15)}))
    words = ("plan", "--pilot", "all.csv", "--metric", "accuracy", "--gain", "0.004", "--json")
    printed = json.loads(printed_by_verb(*words))
    squares = np.array([np.var(values(runs, arm, "accuracy"), ddof=1) for arm in ("base", "wide")])
    freedom = squares.sum() ** 2 / (squares**2 / 4).sum()
    one, five = printed["needed"][0]["by_chance"]
    assert (printed["sd"]["runs"], one["runs_per_arm"], five["runs_per_arm"]) == (10, 1, 5)
    for chance in (one, five):
        distance = 0.004 / np.sqrt(squares.mean() * 2 / chance["runs_per_arm"])
        assert chance["share"] == pytest.approx(2 * stats.t.sf(distance, freedom), rel=1e-9)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["all.csv", "--metric", "accuracy"], "--arm: found 3 arms; one or two of base, wide, deep"),
        (["base.csv", "--metric", "accuracy", "--sd", "1"], "--sd: found metric, which reads tables"),
        (["same.csv", "--metric", "accuracy"], "same.csv: same: its runs are equal: their SD is 0"),
        (["cost.csv", "--metric", "cost", "--gain", "1"], "--metric: found cost, and not which way it is better"),
        (["time.csv", "--metric", "step_time"], "--metric: found step_time, a time or speed"),
    ],
)
def test_a_pilot_that_makes_no_sense_is_refused_in_one_line(words, says, files, tmp_path, refused_by_verb):
    files(drawn(dict.fromkeys(ARMS, range(4))))
    (tmp_path / "same.csv").write_text("accuracy\n0.9\n0.9\n")
    (tmp_path / "cost.csv").write_text("cost\n0.9\n0.8\n")
    (tmp_path / "time.csv").write_text("step_time,host\n0.9,1\n0.8,1\n")
    assert says in refused_by_verb("plan", "--pilot", *words)
