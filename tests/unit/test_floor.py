"""`toolnoise floor`: the spread of late checkpoints, when it says nothing, and what was learnt from the evidence."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy import stats
from scripts import loaded

from toolnoise import cli
from toolnoise.base.program import ROOT
from toolnoise.comparison import floor
from toolnoise.comparison.floor import Cannot, Learnt, changes, interval, of_checkpoints, staying, tail

NOISE = [0.90, 0.92, 0.91, 0.93, 0.91, 0.92, 0.90, 0.92]
LEARNT = Learnt(0.2, -1.5, 0.5, 0.4, 20, -0.4, 3.0, 0.01, 0.95, ("one", "two"))


def test_the_spread_of_independent_checkpoints_is_their_sd():
    values = np.random.Generator(np.random.Philox(2)).normal(5, 0.3, 100_000)
    assert of_checkpoints(values) == pytest.approx(0.3, rel=0.01)


def test_a_slow_trend_hardly_moves_the_spread():
    values = np.random.Generator(np.random.Philox(2)).normal(5, 0.3, 10_000)
    slowly = values + np.linspace(0, 3, len(values))
    assert of_checkpoints(slowly) == pytest.approx(of_checkpoints(values), rel=1e-3)
    assert slowly.std() > 2 * values.std()


def test_only_checkpoints_at_the_last_rate_count():
    rates = np.array([1, 1, 1, 1, 0.1, 0.1, 0.1, 0.1, 0.1])
    assert staying(rates) == 5
    assert tail([9, 0, 9, 0, *NOISE[:5]], rates) == (of_checkpoints(np.array(NOISE[:5])), 5, 0.1)


def test_of_many_checkpoints_the_last_eight_count():
    assert tail([5.0, 1.0, *NOISE], [1.0] * 10) == (of_checkpoints(np.array(NOISE)), 8, 1.0)


@pytest.mark.parametrize(
    ("values", "rates", "why"),
    [
        (NOISE, np.linspace(1, 0, 8), "1 of the last checkpoints have one learning rate"),
        (NOISE[:3], [1.0] * 3, "3 of the last checkpoints have one learning rate"),
        ([0.9] * 6, [1.0] * 6, "the last 6 checkpoints are equal"),
        ([0.5, 0.61, 0.69, 0.8, 0.91], [1.0] * 5, "the last 5 checkpoints still change"),
    ],
)
def test_it_says_why_it_cannot(values, rates, why):
    with pytest.raises(Cannot, match=why):
        tail(values, rates)


def test_a_trend_is_found_in_as_many_runs_as_the_test_says():
    rng = np.random.Generator(np.random.Philox(4))
    found = np.mean([changes(rng.normal(size=8)) for _ in range(2000)])
    assert found == pytest.approx(0.05, abs=0.015)


def test_the_interval_is_that_of_a_new_point_of_a_regression():
    # Least squares by the normal equations, with the variance of a new observation and that of a run added.
    rng = np.random.Generator(np.random.Philox(6))
    falls, own = rng.uniform(-2, 0, 15), 0.3
    means = 0.4 - 1.2 * falls + rng.normal(0, 0.5, 15)
    design = np.stack([np.ones(15), falls], axis=1)
    (intercept, slope), (squares,), *_ = np.linalg.lstsq(design, means, rcond=None)
    variance = squares / 13
    learnt = Learnt(
        *(intercept, slope, math.sqrt(variance), own, 15, falls.mean(), ((falls - falls.mean()) ** 2).sum()),
        *(0.01, 0.9, ()),
    )
    at = np.array([1, np.log10(0.2)])
    new = variance * (1 + at @ np.linalg.inv(design.T @ design) @ at) + own**2
    reach = stats.t.ppf(0.975, 13) * np.sqrt(new)
    centre = at @ [intercept, slope]
    assert interval(learnt, 0.2) == pytest.approx(tuple(np.exp([centre, centre - reach, centre + reach])))


def test_rates_below_those_that_were_learnt_on_are_refused():
    with pytest.raises(Cannot, match=r"the rate fell to 0.001 of the largest; learnt on 0.01 and more"):
        floor.expected(LEARNT, tail(NOISE, [1e-3] * 8))


# Ten archives are unpacked.
@pytest.mark.slow
def test_what_was_learnt_is_what_the_evidence_says(monkeypatch, tmp_path, capsys):
    bench = loaded(ROOT / "bench/floor.py")
    (tmp_path / "resources/learnt").mkdir(parents=True)
    (tmp_path / "evidence").symlink_to(ROOT / "evidence")
    monkeypatch.setattr(bench, "ROOT", tmp_path)
    bench.main("--write")
    known, found = ((folder / floor.LEARNT).read_text() for folder in (ROOT, tmp_path))
    for kind, numbers in yaml.safe_load(known)["images"].items():
        assert yaml.safe_load(found)["images"][kind] == {
            name: pytest.approx(value, rel=1e-3) if isinstance(value, float) else value
            for name, value in numbers.items()
        }
    printed = capsys.readouterr().out
    table = (ROOT / "docs/tables/floor.txt").read_text()
    assert printed.split() == table.removeprefix("python bench/floor.py").split()


def written(values, rates=None):
    rows = [f"{epoch},{value}" + (f",{rates[epoch]}" if rates else "") for epoch, value in enumerate(values)]
    names = "epoch,test_accuracy" + ",learning_rate" * bool(rates)
    Path("h.csv").write_text("\n".join([names, *rows]) + "\n")


def ended_with(*words):
    try:
        cli.main(["floor", "h.csv", "--metric", "test_accuracy", "--task", "images", *words])
    except SystemExit as ended:
        return ended.code
    return 0


@pytest.mark.usefixtures("here")
def test_a_run_has_the_sd_that_was_learnt_times_its_spread(capsys):
    written(NOISE)
    assert ended_with("--rate", "0.1", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    learnt = floor.learnt("images", "test_accuracy")
    ratio = math.exp(learnt.intercept - learnt.slope)
    assert found["sd"] == pytest.approx(of_checkpoints(np.array(NOISE)) * ratio)
    assert found["sd_low"] < found["sd"] < found["sd_high"]
    written(NOISE, [0.04, 0.04, 0.004, *[0.004] * 5])
    assert ended_with() == 0
    text = capsys.readouterr().out
    assert text.startswith("SD over seeds of test_accuracy: ") and "at 0.1 of the largest learning rate" in text


@pytest.mark.usefixtures("here")
def test_checkpoints_are_taken_in_the_order_of_their_steps():
    written(NOISE, [1.0, *[0.1] * 7])
    values, rates = floor.history("h.csv", "test_accuracy", None)
    names, *rows = Path("h.csv").read_text().splitlines()
    # As some loggers have it, newest first; a column of other steps may repeat.
    Path("h.csv").write_text("\n".join([f"step,{names}", *(f"390,{row}" for row in reversed(rows))]) + "\n")
    for found, known in zip(floor.history("h.csv", "test_accuracy", None), (values, rates), strict=True):
        np.testing.assert_array_equal(found, known)
    np.testing.assert_array_equal(values, NOISE)


@pytest.mark.usefixtures("here")
def test_points_in_per_cent_have_an_sd_in_per_cent(capsys):
    found = []
    for factor in (1, 100):
        written([factor * value for value in NOISE])
        ended_with("--rate", "1", "--json")
        found.append(json.loads(capsys.readouterr().out)["sd"])
    assert found[1] == pytest.approx(100 * found[0])


@pytest.mark.parametrize(
    ("values", "words", "why"),
    [
        ([0.5, 0.6, 0.7, 0.8, 0.9], (), "still change"),
        (NOISE, ("--task", "text"), "learnt on images, not on text"),
        (NOISE, ("--metric", "epoch"), "epoch does not say which it is"),
    ],
)
@pytest.mark.usefixtures("here")
def test_what_it_cannot_say_ends_with_one(values, words, why, capsys):
    written(values)
    assert ended_with("--rate", "1", *words) == 1
    printed = capsys.readouterr()
    assert printed.out.startswith("cannot say: ") and why in printed.out and not printed.err


@pytest.mark.parametrize(
    ("text", "words", "says"),
    [
        ("epoch,test_accuracy\n1,0.9\n2,0.8\n", (), "--rate: found neither it nor a column learning_rate"),
        ("lr,test_accuracy\n1,0.9\n2,0.8\n", ("--rate", "1"), "--rate: found a column lr, too"),
        ("epoch,test_accuracy\n1,0.9\n", ("--rate", "2"), "--rate: found 2; a share above 0"),
        ("epoch,test_accuracy\n1,nan\n", ("--rate", "1"), "column test_accuracy: found what is no finite number"),
        ("lr,test_accuracy\nx,0.9\n", (), "column lr: found what is no finite number"),
        ("lr,test_accuracy\n-1,0.9\n1,0.9\n", (), "column lr: found no rate above 0"),
        ("epoch,loss\n1,0.9\n", ("--rate", "1"), "column test_accuracy: found epoch, loss"),
        ("epoch,test_accuracy\n1,0.9\n1,0.8\n", ("--rate", "1"), "column epoch: found repeated steps, or what is no"),
        ("epoch,test_accuracy\n1,0.9\n,0.8\n", ("--rate", "1"), "column epoch: found repeated steps, or what is no"),
        ("seed,lr,test_accuracy\n1,1,0.9\n2,1,0.8\n", (), "column seed: found 2 values; checkpoints of one run"),
        ("run,lr,test_accuracy\na,1,0.9\nb,1,0.8\n", (), "column run: found 2 values; checkpoints of one run"),
    ],
)
@pytest.mark.usefixtures("here")
def test_bad_input_is_one_line(text, words, says, refused_by_verb):
    Path("h.csv").write_text(text)
    assert says in refused_by_verb("floor", "h.csv", "--metric", "test_accuracy", "--task", "images", *words)
