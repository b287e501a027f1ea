"""Results that were made when one job wrote all of the page and was the root: they are audited as they were then."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from toolnoise import steps
from toolnoise.base import program
from toolnoise.record.statements import Artifact, Statement
from toolnoise.study import grid
from toolnoise.study.cells import Whole
from toolnoise.verify.audit.evidence import Evidence
from toolnoise.verify.audit.rules import root, specs, stated_files
from toolnoise.verify.rebuild import rebuilding
from toolnoise.verify.tree import Stated, Tree

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


def evidence(study, written, verb="write-page", parameters=None):
    """The evidence of a study of which nothing is there but the root and what it wrote."""
    outputs = tuple(Artifact(f"results/demo/{name}", "0" * 64, 1, role) for name, role in written.items())
    made = Statement(verb, outputs, (), parameters or {"study": "demo"}, {}, THEN, THEN + timedelta(1), {}, chain={})
    stated = Stated(f"statements/{next(iter(written))}.intoto.json", made, "ab" * 32)
    there, made_by = dict.fromkeys(written, 1), dict.fromkeys(written, (stated,))
    return Evidence(Tree("demo", Path("/results/demo"), there, {}, (stated,), {}, made_by, study), {}, THEN)


def test_the_page_was_the_root_and_its_job_wrote_all_of_it(study):
    found = evidence(study, SHOWN)
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
    assert list(rule(evidence(study, written, parameters=parameters)))


def test_now_the_root_is_the_audits_part_and_the_page_is_wanted_too(study):
    written = {name.removeprefix("results/demo/"): role for name, role in steps.outputs_at(steps.ROOT, study, Whole())}
    found = evidence(study, written, verb=steps.ROOT)
    assert found.tree.top is found.tree.statements[0]
    assert list(specs.path_says_the_spec(found)) == list(specs.made_for_this_study(found)) == []
    missing = {name for name, _ in stated_files.study_is_complete(found)}
    assert {"results/demo/index.html", "results/demo/page/tables.js", "results/demo/page/compared.js"} <= missing


def test_neither_can_be_replayed_and_the_page_of_today_can(study):
    for shown, verb in ((SHOWN, "write-page"), ({"page/statements.js": "out-statements"}, steps.ROOT)):
        (stated,) = evidence(study, shown, verb).tree.statements
        assert "shows the statements of that time" in rebuilding.why_not(stated.statement)
    (stated,) = evidence(study, {"index.html": "out", "page/tables.js": "out-tables"}).tree.statements
    assert rebuilding.why_not(stated.statement) == ""
