"""Clocks that differ between machines: which one is told, and how far apart they may be."""

import re
from datetime import datetime, timedelta
from types import SimpleNamespace

import pytest

from toolnoise import cli
from toolnoise.base.errors import BadInput
from toolnoise.record.statements import INPUT, Artifact, Statement
from toolnoise.verify.audit import evidence
from toolnoise.verify.audit.rules.times import times_are_possible

NOON = datetime(2026, 11, 25, 12)
HOUR = timedelta(hours=1)


def stated(name, started, finished, host, *inputs):
    """The statement of a job on a host, or of one that is anonymous."""
    return Statement(
        "measure",
        (Artifact(name, ""),),
        tuple(Artifact(one, "", kind=INPUT) for one in inputs),
        {},
        {"host": host} if host else {},
        started,
        finished,
        {},
    )


@pytest.fixture
def found():
    """What the rule finds in statements at noon."""

    def find(*statements, skew=evidence.CLOCKS):
        by_name = {one.outputs[0].name: SimpleNamespace(statement=one, path="") for one in statements}
        tree = SimpleNamespace(statements=tuple(by_name.values()), producer=by_name.get, named=str)
        return [what for _, what in times_are_possible(SimpleNamespace(tree=tree, now=NOON, skew=skew))]

    return find


def test_a_result_of_the_future_names_the_host_whose_clock_is_ahead(found):
    ahead = stated("a", NOON + 2 * HOUR, NOON + 3 * HOUR, "node7")
    assert found(ahead) == ["ended at 2026-11-25T15:00:00.000000Z, in the future: the clock of node7 is 3.0 h ahead"]
    assert found(ahead, skew=3 * HOUR) == []


def test_an_input_that_is_younger_names_both_hosts_and_by_how_much(found):
    made = stated("in", NOON - 3 * HOUR, NOON - HOUR, "node1")
    read = stated("out", NOON - 3 * HOUR, NOON - HOUR / 2, "node2", "in")
    (what,) = found(made, read)
    assert what.endswith("before its input in was made: the clock of node2 is 2.0 h behind that of node1")
    assert found(made, read, skew=2 * HOUR) == []
    assert found(made, read, skew=2 * HOUR - timedelta(seconds=1)) == [what]


def test_one_host_whose_clock_was_set_back_is_named(found):
    made = stated("in", NOON - 3 * HOUR, NOON - HOUR, "node1")
    read = stated("out", NOON - 3 * HOUR, NOON - HOUR / 2, "node1", "in")
    assert found(made, read)[0].endswith("was made: the clock of node1 was set back by 2.0 h")
    assert found(stated("a", NOON, NOON - HOUR, "node1"))[0].endswith("the clock of node1 was set back by 60 min")


def test_without_hosts_the_finding_stays(found):
    (what,) = found(stated("a", NOON, NOON + HOUR, ""))
    assert what == "ended at 2026-11-25T13:00:00.000000Z, in the future"


@pytest.mark.parametrize(("text", "seconds"), [("2h", 7200), ("90min", 5400), ("45s", 45), ("0.5h", 1800)])
def test_the_difference_of_clocks_is_a_time_with_its_unit(text, seconds):
    assert cli.parsed(["audit", "results/x", "--clock-skew", text]).clock_skew == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["2", "h", "-1h", "2 fortnights", "nanh", "1e3h", "25h"])
def test_another_difference_of_clocks_is_refused(text):
    wanted = re.escape(f"{text!r}; expected a time up to 24h, such as 90s, 30min or 2h")
    with pytest.raises(BadInput, match=wanted):
        cli.parsed(["audit", "results/x", f"--clock-skew={text}"])


def test_the_difference_of_clocks_is_two_minutes_by_default():
    assert cli.parsed(["audit", "results/x"]).clock_skew == evidence.CLOCKS
