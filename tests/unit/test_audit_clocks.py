"""Clocks that differ between machines, and results that were made when one job was the root."""

import re
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from toolnoise import cli, steps
from toolnoise.base import program
from toolnoise.base.errors import BadInput
from toolnoise.record.statements import INPUT, Artifact, Statement
from toolnoise.study import grid
from toolnoise.study.cells import Whole
from toolnoise.verify.audit import evidence
from toolnoise.verify.audit.evidence import Evidence
from toolnoise.verify.audit.rules import root, specs, stated_files
from toolnoise.verify.audit.rules.times import times_are_possible
from toolnoise.verify.rebuild import rebuilding
from toolnoise.verify.tree import Stated, Tree

# Clocks that differ between machines: which one is told, and how far apart they may be


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


# Results that were made when one job wrote all of the page and was the root: they are audited as they were then


THEN = datetime(2026, 1, 31, 12)
SHOWN = {
    "index.html": "out",
    "page/statements.js": "out-statements",
    "page/tables.js": "out-tables",
    "page/compared.js": "out-compared",
}


@pytest.fixture(scope="module")
def study():
    return grid.load(program.ROOT / "config.yaml")


def earlier_evidence(study, written, verb="write-page", parameters=None):
    """The evidence of a study of which nothing is there but the root and what it wrote."""
    outputs = tuple(Artifact(f"results/demo/{name}", "0" * 64, 1, role) for name, role in written.items())
    made = Statement(verb, outputs, (), parameters or {"study": "demo"}, {}, THEN, THEN + timedelta(1), {}, chain={})
    stated = Stated(f"statements/{next(iter(written))}.intoto.json", made, "ab" * 32)
    there, made_by = dict.fromkeys(written, 1), dict.fromkeys(written, (stated,))
    return Evidence(Tree("demo", Path("/results/demo"), there, {}, (stated,), {}, made_by, study), {}, THEN)


def test_the_page_was_the_root_and_its_job_wrote_all_of_it(study):
    found = earlier_evidence(study, SHOWN)
    (stated,) = found.tree.statements
    assert found.tree.top is stated
    assert next(iter(root.lines(found))) == f"demo: root {'ab' * 32} (the statement of index.html; it names 0 others)"
    for rule in (stated_files.nothing_else_is_there, specs.path_says_the_spec, specs.made_for_this_study):
        assert list(rule(found)) == []
    missing = {name for name, _ in stated_files.study_is_complete(found)}
    assert "results/demo/metrics/claims.csv" in missing
    assert not [name for name in missing if name.startswith(("results/demo/index", "results/demo/page/audit"))]


@pytest.mark.parametrize(
    ("written", "parameters", "rule"),
    [
        (SHOWN, {"study": "other"}, specs.made_for_this_study),
        (SHOWN | {"page/more.js": "out-more"}, None, specs.path_says_the_spec),
        (SHOWN | {"page/audit.js": "out-more"}, None, stated_files.nothing_else_is_there),
    ],
)
def test_what_does_not_fit_that_job_is_found_as_before(study, written, parameters, rule):
    assert list(rule(earlier_evidence(study, written, parameters=parameters)))


def test_now_the_root_is_the_audits_part_and_the_page_is_wanted_too(study):
    written = {name.removeprefix("results/demo/"): role for name, role in steps.outputs_at(steps.ROOT, study, Whole())}
    found = earlier_evidence(study, written, verb=steps.ROOT)
    assert found.tree.top is found.tree.statements[0]
    assert list(specs.path_says_the_spec(found)) == list(specs.made_for_this_study(found)) == []
    missing = {name for name, _ in stated_files.study_is_complete(found)}
    assert {"results/demo/index.html", "results/demo/page/tables.js", "results/demo/page/compared.js"} <= missing


def test_neither_can_be_replayed_and_the_page_of_today_can(study):
    for shown, verb in ((SHOWN, "write-page"), ({"page/statements.js": "out-statements"}, steps.ROOT)):
        (stated,) = earlier_evidence(study, shown, verb).tree.statements
        assert "shows the statements of that time" in rebuilding.why_not(stated.statement)
    (stated,) = earlier_evidence(study, {"index.html": "out", "page/tables.js": "out-tables"}).tree.statements
    assert rebuilding.why_not(stated.statement) == ""
