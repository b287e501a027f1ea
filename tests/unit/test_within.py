"""`estimate --within`: the part of a study that fits into a time, held against the definition and a simulation."""

import json

import numpy as np
import pytest

from toolnoise import streams
from toolnoise.analyses.estimate import within
from toolnoise.analyses.estimate.verbs import estimate
from toolnoise.analyses.estimate.within import Group
from toolnoise.base.errors import BadInput
from toolnoise.study.cells import Cell


def cell(variant, model="cnn"):
    return Cell(model, "digits", "h100", variant)


FAST = Group((cell("control"), cell("algo"), cell("impl")), (1, 1, 1), (2, 10, 10), 60.0)
SLOW = Group((cell("algo", "resnet"), cell("impl", "resnet")), (1, 1), (10, 5), 600.0)
UNTIMED = Group((cell("algo", "new"),), (1,), (10,), None)


def test_every_cell_gets_equally_many_runs_and_no_more_than_planned():
    # With n runs: 2 + 2n of a minute, n + min(n, 5) of ten minutes.
    for runs in range(2, 11):
        seconds = (2 + 2 * runs) * 60 + (runs + min(runs, 5)) * 600
        assert within.fitting([FAST, SLOW], seconds, 1).runs == runs
        if runs > 2:  # with less time, the slow ones are left out
            assert within.fitting([FAST, SLOW], seconds - 1, 1).runs == runs - 1
        assert within.fitting([FAST, SLOW], seconds, 1).seconds == seconds
    assert within.fitting([FAST, SLOW], 1e9, 1).runs == 10


def test_a_cell_with_draws_gets_so_many_runs_for_each_of_them():
    """`seeds: n` in its block means n runs for each draw."""
    drawn = Group((cell("impl"),), (4,), (5,), 60.0)
    for runs in (2, 3, 4, 5):
        assert within.fitting([drawn], 4 * runs * 60, 1).runs == runs
        assert drawn.runs(runs) == 4 * runs


def test_two_devices_have_room_for_twice_the_time():
    for seconds in (3000, 6000, 9000):
        assert within.fitting([FAST, SLOW], seconds, 2) == within.fitting([FAST, SLOW], 2 * seconds, 1)


def test_the_slowest_is_left_out_first_and_what_nobody_timed_is_in_no_sum():
    found = within.fitting([UNTIMED, SLOW, FAST], 1300, 1)
    assert (found.groups, found.left_out, found.unknown) == ((FAST,), (SLOW,), (UNTIMED,))
    assert found.runs == 9
    assert found.seconds == 20 * 60
    nothing = within.fitting([UNTIMED, SLOW, FAST], 10, 1)
    assert (nothing.groups, nothing.left_out) == ((), (SLOW, FAST))


@pytest.mark.parametrize(("text", "seconds"), [("90m", 5400), ("8h", 28_800), ("2d", 172_800), ("0.5h", 1800)])
def test_a_time_has_a_unit(text, seconds):
    assert within.seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["8", "h", "0h", "-1h", "8 h", "8h30m", "1e3h", "nan"])
def test_a_time_without_a_unit_is_refused(text):
    with pytest.raises(BadInput, match="--within"):
        within.seconds_of(text)


@pytest.mark.parametrize("devices", [0, -1])
def test_no_device_is_refused(devices):
    with pytest.raises(BadInput, match="--gpus"):
        within.fitting([FAST], 100, devices)


@pytest.mark.parametrize("runs", [3, 5, 10])
def test_the_ratio_that_is_told_apart_is_found_in_four_of_five_simulated_studies(runs):
    from scipy import stats

    draw = np.random.Generator(np.random.Philox(key=streams.key(0, streams.ANALYSIS, 0, "within", runs)))
    studies = 20_000
    larger = within.smallest_ratio(runs) * draw.standard_normal((studies, runs))
    ratios = larger.var(axis=1, ddof=1) / draw.standard_normal((studies, runs)).var(axis=1, ddof=1)
    assert abs((ratios > stats.f.ppf(0.975, runs - 1, runs - 1)).mean() - 0.8) < 0.015


def test_claims_that_so_many_runs_decide_are_named():
    names = [(dataset, variant) for dataset in ("cifar10", "cifar100") for variant in ("algo", "impl")]
    cells = tuple(Cell("smallcnn", dataset, "h100", variant) for dataset, variant in names)
    found = within.fitting([Group(cells, (1,) * 4, (1000,) * 4, 1.0)], 4000, 1)
    assert "algo-above-impl-sd" in within.as_json(found)["decides"]
    told = within.as_text(found, 4000, 1).splitlines()
    (line,) = (line for line in told if line.startswith("claims that 1000 runs decide in 80% of studies"))
    assert line.endswith(f": {', '.join(within.as_json(found)['decides'])}")


def test_a_person_is_told_what_fits_and_how_precise_it_is():
    said = within.as_text(within.fitting([UNTIMED, SLOW, FAST], 1300, 1), 1300, 1)
    assert "20 of 47 runs fit into 22 min, one run at a time: they take 20 min" in said
    assert ["h100", "cnn", "digits", "control,", "algo,", "impl", "22", "20"] in [
        line.split()[:8] for line in said.splitlines()
    ]
    assert "9 runs of a draw: the 95 % interval of an SD reaches from 0.68 to 1.92 times the SD" in said
    assert "10 runs of a draw: the 95 % interval of an SD reaches from 0.69 to 1.83 times the SD" in said
    assert "in the study's blocks: seeds: 9" in said
    assert "a time that nobody measured" in said
    nothing = within.as_text(within.fitting([SLOW], 10, 1), 10, 1)
    assert nothing.endswith("nothing fits into 10 s: 2 runs of no cell fit")
    unknown = within.as_text(within.fitting([UNTIMED], 10, 1), 10, 1)
    assert "nothing fits into 10 s: the time of no run is known" in unknown


def test_json_has_the_same(capsys):
    estimate.show(within.as_json(within.fitting([SLOW, FAST], 1300, 1)))
    found = json.loads(capsys.readouterr().out)
    assert found["runs"] == 9
    assert [group["seconds"] for group in found["groups"]] == [60.0]
    assert found["left_out"][0]["cells"][0] == list(cell("algo", "resnet"))
