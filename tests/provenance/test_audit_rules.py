"""The audit's rules about clocks, circles and weights."""

import json
import re
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from toolnoise.provenance.audit.evidence import Evidence
from toolnoise.provenance.audit.rules import chains, numbers, root, specs, stated_files
from toolnoise.provenance.audit.rules.where_and_when import times_are_possible

from toolnoise import cli, steps
from toolnoise.base import arrays, files, program
from toolnoise.base.errors import BadInput
from toolnoise.base.spec import Spec
from toolnoise.models.initial import Parameter
from toolnoise.pages import study_page
from toolnoise.provenance import tree
from toolnoise.provenance.audit import evidence
from toolnoise.provenance.rebuild import rebuilding
from toolnoise.provenance.statements import INPUT, Artifact, Statement
from toolnoise.provenance.tree import Stated, Tree
from toolnoise.study import grid, kept_weights
from toolnoise.study.cells import Shown, Whole
from toolnoise.training import bitflip

# Clocks that differ between machines: which one is told, and how far apart they may be


NOON = datetime(2026, 11, 25, 12)
HOUR = timedelta(hours=1)


def stated(name, started, finished, host, *inputs):
    """The statement of a job on a host, or on one that it does not name."""
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
    assert found(made, read)[0].endswith(
        "was made: the clock of node1 was set back by 2.0 h, or the input was made again"
    )
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


def test_a_circle_and_what_follows_from_it_are_found_and_nothing_beside_it():
    needs = {"a": ("c",), "b": ("a",), "c": ("b", "start"), "after": ("a",), "itself": ("itself",)}
    needs |= {"start": (), "beside": ("start", "from elsewhere")}
    by_name = {name: Stated(name, stated(name, NOON, NOON, "node1", *read)) for name, read in needs.items()}
    tree = SimpleNamespace(statements=tuple(by_name.values()), producer=by_name.get)
    found = [name for name, _ in chains.chains_have_no_circle(SimpleNamespace(tree=tree))]
    assert found == ["a", "b", "c", "after", "itself"]


# The root is the page's statement; earlier results, in which it was another, are audited as they were then


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


@pytest.mark.parametrize("name", ["config.yaml", "workflow/studies/frameworks-small.yaml"])
def test_every_job_that_a_study_needs_comes_before_its_page(name):
    jobs = list(steps.jobs(grid.load(program.ROOT / name)))
    maker = {output: job for job in jobs for output, _ in job.outputs}
    waits, before = [next(job for job in jobs if job.verb == "write-page")], set()
    while waits:
        inputs = {read for read, _ in waits.pop().inputs} - before
        before |= inputs
        waits += [maker[read] for read in inputs if read in maker]
    missing = {job.verb for job in jobs if job.needed and not before & {output for output, _ in job.outputs}}
    assert missing == {"write-page"}


def earlier_evidence(study, written, verb="write-page", parameters=None, chain=True):
    """The evidence of a study of which nothing is there but the root and what it wrote."""
    outputs = tuple(Artifact(f"results/demo/{name}", "0" * 64, 1, role) for name, role in written.items())
    made = Statement(
        verb,
        outputs,
        (),
        {"study": "demo"} if parameters is None else parameters,
        {},
        THEN,
        THEN + timedelta(1),
        {},
        chain={} if chain else None,
    )
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
    assert not [name for name in missing if name.startswith(("results/demo/index", "results/demo/page/tables"))]


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


OWN = {"name": "mine", "says": "A claim of the study file", "paper": "this study"}
PAPERS = [{"name": "of-then", "paper": "Zhuang et al."}, {"name": "also", "paper": "Pham et al."}]


@pytest.mark.parametrize(
    ("own", "stated", "fits"),
    [
        ([], PAPERS, True),
        ([OWN], [*PAPERS, OWN], True),
        ([OWN], [OWN], True),
        ([], [], True),
        ([OWN], PAPERS, False),
        ([OWN], [*PAPERS, OWN | {"says": "Another"}], False),
        ([], [*PAPERS, OWN], False),
        ([], [*PAPERS, "mine"], False),
        ([], [OWN | {"paper": ["Zhuang et al."]}], False),
        ([], None, False),
    ],
)
def test_verdicts_of_earlier_versions_state_the_papers_claims_of_then(study, own, stated, fits, monkeypatch):
    monkeypatch.setitem(study.config, "claims", {claim["name"]: claim for claim in own})
    wanted = steps.STEPS["judge-claims"].parameters(study, Whole())
    found = earlier_evidence(study, {"metrics/claims.csv": "out"}, "judge-claims", wanted | {"claims": stated})
    assert (list(specs.made_for_this_study(found)) == []) == fits


def figure_evidence(study, *suffixes):
    """The evidence of a study of which a figure is there, in files of these suffixes."""
    place = Shown("noise_by_source-cpu-portable")
    written = {f"figures/{place.figure}.{suffix}": "out" for suffix in suffixes}
    written |= {f"notebooks/{place.figure}.ipynb": "executed"}
    return earlier_evidence(study, written, "render", steps.STEPS["render"].parameters(study, place))


@pytest.mark.parametrize(
    ("suffixes", "missing"),
    [
        (("svg", "pdf", "png", "narrow.svg"), set()),
        (("svg", "pdf", "png"), set()),
        (("svg", "pdf", "narrow.svg"), {"png"}),
        (("svg", "pdf"), {"png", "narrow.svg"}),
    ],
)
def test_a_figure_of_earlier_versions_has_no_form_for_small_screens(study, suffixes, missing):
    found = figure_evidence(study, *suffixes)
    assert bool(list(specs.path_says_the_spec(found))) == bool(missing)
    assert list(specs.made_for_this_study(found)) == list(stated_files.nothing_else_is_there(found)) == []
    start = "results/demo/figures/noise_by_source-cpu-portable."
    lacking = [name for name, _ in stated_files.study_is_complete(found)]
    assert {name.removeprefix(start) for name in lacking if name.startswith(start)} == missing


@pytest.mark.parametrize("synthetic", [None, ["faces"], ["digits"]])
def test_no_job_of_earlier_versions_knew_which_data_sets_are_synthetic(study, synthetic):
    place = Shown("subgroups-cpu-portable")
    written = {f"figures/{place.figure}.{suffix}": "out" for suffix in ("svg", "pdf", "png", "narrow.svg")}
    written |= {f"notebooks/{place.figure}.ipynb": "executed"}
    parameters = steps.STEPS["render"].parameters(study, place)
    assert parameters["synthetic"] == ["faces"]
    parameters = {key: value for key, value in parameters.items() if key != "synthetic"}
    parameters |= {"synthetic": synthetic} if synthetic else {}
    found = earlier_evidence(study, written, "render", parameters)
    assert bool(list(specs.made_for_this_study(found))) == (synthetic == ["digits"])


PAGE, AUDITED = (
    {"index.html": "out", "page/tables.js": "out-tables"},
    {"page/audit.js": "out", "page/statements.js": "out-statements"},
)


def test_an_audit_on_the_page_was_the_root_and_the_page_is_wanted_too(study):
    found = earlier_evidence(study, AUDITED, "write-audit")
    assert found.tree.top is found.tree.statements[0]
    lines = list(root.lines(found))
    assert lines == [f"demo: root {'ab' * 32} (the statement of page/audit.js; it names 0 others)"]
    for rule in (stated_files.nothing_else_is_there, specs.path_says_the_spec, specs.made_for_this_study):
        assert list(rule(found)) == []
    for rule in (chains.inputs_are_the_jobs, root.statements_are_the_roots):
        assert list(rule(found)) == []
    missing = {name for name, _ in stated_files.study_is_complete(found)}
    assert {"results/demo/index.html", "results/demo/page/tables.js"} <= missing
    other = earlier_evidence(study, AUDITED | {"page/more.js": "out-more"}, "write-audit")
    assert "results/demo/page/more.js" in {name for name, _ in specs.path_says_the_spec(other)}


def with_earlier_root(page):
    """The evidence of a page and of the root of earlier results beside it."""
    earlier = earlier_evidence(page.tree.study, AUDITED, "write-audit").tree
    read = Artifact("results/demo/index.html", "ef" * 32, 1, "page", INPUT)
    made = earlier.statements[0].statement._replace(dependencies=(read,))
    stated = earlier.statements[0]._replace(sha256="cd" * 32, statement=made)
    both = replace(
        page.tree,
        files=page.tree.files | earlier.files,
        statements=(*page.tree.statements, stated),
        producers=page.tree.producers | dict.fromkeys(AUDITED, (stated,)),
    )
    return Evidence(both, {}, THEN + timedelta(2))


def test_the_page_of_today_is_the_root_and_before_that_of_earlier_results(study):
    page = earlier_evidence(study, PAGE, parameters=steps.STEPS["write-page"].parameters(study, Whole()))
    assert page.tree.top is page.tree.statements[0]
    for rule in (root.statements_are_the_roots, specs.path_says_the_spec, specs.made_for_this_study):
        assert list(rule(page)) == []
    # Once its statement said what it showed of the study.
    said = {name: value for name, value in study_page.page_of(study, {})._asdict().items() if name != "files"}
    said = json.loads(json.dumps(said))
    before = earlier_evidence(study, PAGE, parameters=said)
    assert list(specs.made_for_this_study(before)) == []
    other = earlier_evidence(study, PAGE, parameters=said | {"cells": said["cells"][1:]})
    assert [what for _, what in specs.made_for_this_study(other)] == ["was made for another study: cells differ"]
    both = with_earlier_root(page)
    assert both.tree.top is page.tree.statements[0]
    # It was of an earlier page.
    for rule in (chains.inputs_are_what_was_made, times_are_possible):
        assert "results/demo/page/audit.js" not in {name for name, _ in rule(both)}
    assert list(root.lines(both))[1:] == [
        "demo: not under the root: 1 statements, such as that of results/demo/page/audit.js"
    ]


def test_a_page_whose_statement_names_no_other_is_found_unless_another_statement_does(study):
    bare = earlier_evidence(study, PAGE, chain=False)
    assert [name for name, _ in root.statements_are_the_roots(bare)] == ["results/demo/index.html"]
    # As it was while the audit on the page was the root, and before there was one.
    both = with_earlier_root(bare)
    assert both.tree.top.statement.verb == "write-audit"
    for rule in (chains.inputs_are_what_was_made, times_are_possible):
        assert "results/demo/" in " ".join(name for name, _ in rule(both))
    assert list(root.statements_are_the_roots(earlier_evidence(study, SHOWN, chain=False))) == []


def test_a_job_of_earlier_versions_that_compared_cells_is_part_of_the_study(study):
    written, parameters = {"page/compared.js": "out"}, {"cells": [], "datasets": []}
    found = earlier_evidence(study, written, "compare-cells", parameters)
    for rule in (stated_files.nothing_else_is_there, specs.path_says_the_spec, specs.made_for_this_study):
        assert list(rule(found)) == []
    for rule in (chains.inputs_are_the_jobs, chains.data_is_the_declared):
        assert list(rule(found)) == []
    other = earlier_evidence(study, written | {"page/more.js": "out"}, "compare-cells", parameters)
    assert [name for name, _ in stated_files.nothing_else_is_there(other)] == ["results/demo/page/more.js"]


def test_neither_can_be_replayed_and_the_page_of_today_can(study):
    for shown, verb in ((SHOWN, "write-page"), (AUDITED, "write-audit")):
        (stated,) = earlier_evidence(study, shown, verb).tree.statements
        assert "shows the statements of its time" in rebuilding.why_not(stated.statement)
    (stated,) = earlier_evidence(study, {"index.html": "out", "page/tables.js": "out-tables"}).tree.statements
    assert rebuilding.why_not(stated.statement) == ""


TENSORS = (Parameter("a/kernel", (2, 3), True, "", {}), Parameter("a/bias", (3,), True, "", {}))


@pytest.fixture
def write(make_run, make_spec):
    """Write a run of a variant, three epochs long, in as many cycles as said; returns its run.json."""

    def call(variant="control", count=1, change=None):
        spec = make_spec(variant, 2)
        recipe = spec.recipe | {"epochs": 3, "schedule": "cosine", "cycles": count}
        spec = Spec.read(spec.json | {"recipe": recipe})
        moved = bitflip.recorded(bitflip.of_run(TENSORS, spec), spec, 3)

        def edit(parts):
            parts["record"] |= {"spec": spec.as_json(), "data_sha256": "d", "initial_sha256": "i", "moved_bit": moved}
            if count == 3:
                parts["final"] |= kept_weights.packed(parts["epochs"][:2])
            if change:
                change(parts)

        return Path(make_run(2, edit))

    return call


def judged(rule, record):
    """What a rule finds in the study that has nothing but this run."""
    evidence = Evidence(tree.load_study(record.parents[2]), {}, datetime(2026, 1, 31))
    vars(evidence)["runs"] = [evidence.run(evidence.tree.named("runs/2/run.json"))], []
    return [(name.rpartition("/")[2], what) for name, what in rule(evidence)]


def unreadable(record):
    """Why the audit cannot read this run."""
    evidence = Evidence(tree.load_study(record.parents[2]), {}, datetime(2026, 1, 31))
    with pytest.raises(BadInput) as caught:
        evidence.run(evidence.tree.named("runs/2/run.json"))
    return str(caught.value)


def change_tensor(record, name, place):
    path = record.with_name("weights.npz")
    tensors = arrays.read_npz(path)
    tensors[name][place] += 1
    arrays.write_npz(path, tensors)


@pytest.mark.parametrize("count", [1, 3])
def test_whole_runs_are_clean(count, write):
    record = write(count=count)
    assert judged(numbers.snapshots_are_the_histories, record) == []
    assert judged(numbers.final_weights_are_the_histories, record) == []


@pytest.mark.parametrize(
    ("name", "place", "epoch"),
    [("a/bias/", (0, 2), 1), ("a/kernel/", (0, 0, 0), 1), ("a/kernel/", (1, 1, 2), 2), ("a/kernel", (0, 0), 3)],
)
def test_a_number_changed_in_a_snapshot_or_in_the_last_one_is_found_with_its_epoch(name, place, epoch, write):
    record = write(count=3)
    change_tensor(record, name, place)
    told = f"has weights after epoch {epoch} that differ from its history"
    rule = numbers.final_weights_are_the_histories if epoch == 3 else numbers.snapshots_are_the_histories
    assert judged(rule, record) == [("weights.npz", told)]


def test_snapshots_in_another_order_are_found(write):
    def turn(parts):
        parts["final"] |= kept_weights.packed(parts["epochs"][1::-1])

    found = judged(numbers.snapshots_are_the_histories, write(count=3, change=turn))
    assert [what.split(" that")[0] for _, what in found] == [f"has weights after epoch {epoch}" for epoch in (1, 2)]


LACKING = {
    "all": lambda parts: [parts["final"].pop(name) for name in ("a/kernel/", "a/bias/")],
    "those of one tensor": lambda parts: parts["final"].pop("a/bias/"),
    "the second": lambda parts: parts["final"].update(kept_weights.packed(parts["epochs"][:1])),
}


@pytest.mark.parametrize("change", LACKING.values(), ids=LACKING)
def test_snapshots_that_are_not_there_are_found(change, write):
    ((artifact, what),) = judged(numbers.snapshots_are_the_histories, write(count=3, change=change))
    assert artifact == "weights.npz"
    assert "recipe keeps (2, " in what


def test_weights_that_are_not_there_or_no_plain_file_are_found_and_not_waited_for(write):
    record = write(count=3)
    path = record.with_name("weights.npz")
    path.rename(path.with_name("elsewhere.npz"))
    assert "is missing" in judged(numbers.snapshots_are_the_histories, record)[0][1]
    path.symlink_to("elsewhere.npz")
    assert "is missing" in judged(numbers.snapshots_are_the_histories, record)[0][1]


@pytest.mark.parametrize("count", ["5", -1, 0, 10**30, None, [2]])
def test_a_number_of_cycles_that_is_none_is_a_finding(count, write):
    record = write(count=3)
    value = files.read_json(record)
    value["spec"]["recipe"]["cycles"] = count
    files.write_json(record, value)
    assert "run.json: spec.recipe.cycles: found" in unreadable(record)


STEPS = [0, 1, 2, 4, 6]


@pytest.fixture
def recording(write):
    """A run of three epochs of two steps that has recorded them; returns its run.json."""

    def change(parts):
        parts["record"]["spec"]["recipe"]["record_steps"] = True
        parts["record"] |= {"steps_per_epoch": 2, "recorded_steps": STEPS}
        # After steps 2, 4 and 6 an epoch is over.
        kept = [parts["epochs"][max(0, step // 2 - 1)] | {"logits": np.zeros((4, 2), np.float32)} for step in STEPS]
        parts["final"] |= kept_weights.packed(kept, kept_weights.OF_STEPS)

    return write(change=change)


def test_recorded_steps_that_agree_with_the_history_are_clean(recording):
    assert judged(numbers.recorded_steps_are_the_histories, recording) == []
    assert judged(numbers.snapshots_are_the_histories, recording) == []


@pytest.mark.parametrize(("row", "step"), [(2, 2), (3, 4), (4, 6)])
def test_weights_after_a_step_that_differ_from_the_history_are_a_finding(row, step, recording):
    change_tensor(recording, "a/kernel//", (row, 0, 0))
    says = f"has weights after step {step} that differ from its history"
    assert judged(numbers.recorded_steps_are_the_histories, recording) == [("weights.npz", says)]


def test_other_steps_than_those_of_the_recipe_are_a_finding(recording):
    value = files.read_json(recording)
    files.write_json(recording, value | {"recorded_steps": STEPS[1:]})
    says = "has recorded_steps that are not those of its recipe"
    assert judged(numbers.recorded_steps_are_the_histories, recording) == [("run.json", says)]


@pytest.mark.parametrize("each", ["2", None, -1, 10**30, [2]])
def test_a_number_of_steps_that_is_none_is_a_finding(each, recording):
    value = files.read_json(recording)
    files.write_json(recording, value | {"steps_per_epoch": each})
    assert "run.json: steps_per_epoch: found" in unreadable(recording)


# The run has three epochs: as one that diverges, it is over before a later bit.
@pytest.mark.parametrize("variant", ["control", "algo_impl", "bit", "bit_2", "bit_3"])
@pytest.mark.parametrize("count", [1, 3])
def test_a_bit_as_it_is_drawn_is_right_and_so_is_none(variant, count, write):
    record = write(variant, count)
    assert (files.read_json(record)["moved_bit"] is not None) == (variant in ("bit", "bit_2"))
    assert judged(numbers.moved_bits_are_the_drawn, record) == []


OTHER_MOVES = {
    "another tensor": ({"tensor": "a/bias"}, "moved_bit.tensor"),
    "another place": ({"index": [7, 7]}, "moved_bit.index"),
    "the other way": ({"up": None}, "moved_bit.up"),
    "another epoch": ({"after_epoch": 1}, "moved_bit.after_epoch"),
}


@pytest.mark.parametrize(("other", "key"), OTHER_MOVES.values(), ids=OTHER_MOVES)
def test_another_move_than_the_drawn_is_found(other, key, write):
    record = write("bit", change=lambda parts: parts["record"].update(moved_bit=parts["record"]["moved_bit"] | other))
    found = [("run.json", f"has a moved_bit that does not follow from its seeds and tensors: {key}")]
    assert judged(numbers.moved_bits_are_the_drawn, record) == found


@pytest.mark.parametrize(("variant", "moved"), [("bit", None), ("control", {"tensor": "a/kernel"}), ("control", 0)])
def test_a_move_that_there_was_not_and_none_where_there_was_are_found(variant, moved, write):
    record = write(variant, change=lambda parts: parts["record"].update(moved_bit=moved))
    assert len(judged(numbers.moved_bits_are_the_drawn, record)) == 1


def test_another_shape_of_the_weights_is_another_draw(write):
    def reshape(parts):
        parts["final"]["a/kernel"] = np.zeros((20, 30), np.float32)

    ((artifact, what),) = judged(numbers.moved_bits_are_the_drawn, write("bit", change=reshape))
    assert artifact == "run.json"
    assert "moved_bit.index" in what
