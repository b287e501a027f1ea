"""Jobs performed again: which ones, on which code, and what becomes a finding of `audit --recompute`."""

from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from toolnoise.base.files import sha256
from toolnoise.base.program import ROOT
from toolnoise.record.statements import CODE, COMMIT, RESOURCE, Artifact, Statement
from toolnoise.verify.rebuild import checkout, rebuilding, recompute, sampling
from toolnoise.verify.rebuild.rebuilding import CANNOT, DIFFERS, LACKING, REPRODUCED, Rebuilt
from toolnoise.verify.rebuild.sampling import Made
from toolnoise.verify.tree import Tree


def test_what_needs_no_training_is_made_again_and_what_differs_is_found(monkeypatch):
    tried = []

    def rebuilt(jobs, keep):
        assert not keep
        for made, verdict in zip(jobs, (REPRODUCED, DIFFERS, LACKING, CANNOT), strict=False):
            tried.append(made.statement.verb)
            yield Rebuilt(made, verdict, ("line 1", "line 2"))

    monkeypatch.setattr(rebuilding, "rebuild", rebuilt)
    verbs = ("configure", "fetch", "train", "run-program", "predict", "measure", "collect", "render", "write-page")
    statements = [
        SimpleNamespace(path=verb, statement=SimpleNamespace(verb=verb, name=verb)) for verb in (*verbs, "of-nobody")
    ]
    found = list(recompute.results_are_reproduced(SimpleNamespace(tree=SimpleNamespace(statements=statements))))
    assert tried == ["predict", "measure", "collect", "render"]
    assert found == [("measure", f"{DIFFERS}: line 1; line 2"), ("collect", f"{LACKING}: line 1; line 2")]
    assert recompute.RULE.name == "results-are-reproduced"


TREE = Tree("tiny", Path("/results/tiny"), {}, {}, (), {}, {}, None)


def made(verb, number, varying=(), output="x.csv"):
    then = datetime(2026, 1, 1)
    parameters = {"spec": {"variant": {"varying": list(varying)}}}
    name = f"results/tiny/{verb}/{number}/{output}"
    return Made(TREE, f"{name}.json", Statement(verb, (Artifact(name, "0" * 64),), (), parameters, {}, then, then, {}))


@pytest.fixture
def jobs():
    """Jobs of every kind, with many trainings."""
    return [
        *(made("train", number, ("impl",)) for number in range(40)),
        *(made("train", number) for number in range(40, 80)),
        *(made("measure", number) for number in range(3)),
        *(made("render", number, output=output) for number, output in enumerate(("a.svg", "b.html"))),
        *(made(verb, 1) for verb in ("predict", "count", "report", "prepare")),
    ]


def kinds(jobs):
    return [one.kind for one in jobs]


def test_a_small_sample_has_a_run_with_noise_figures_and_metrics(jobs):
    found = sampling.sample(jobs, 5, 0, ())
    assert kinds(found) == ["train with noise", "picture", "measure", "table", "predict"]


def test_a_sample_goes_on_in_turns_and_leaves_out_what_it_is_told_to(jobs):
    found = kinds(sampling.sample(jobs, 12, 0, ("report",)))
    assert found[5:8] == ["train", "prepare", "count"]
    assert found[8:] == ["train with noise", "measure", "train", "train with noise"]


def test_the_same_number_gives_the_same_sample_whatever_the_order_of_the_jobs(jobs):
    one = sampling.sample(jobs, 9, 4, ())
    assert sampling.sample(jobs[::-1], 9, 4, ()) == one
    assert sampling.sample(jobs, 9, 5, ()) != one


def test_a_sample_larger_than_the_jobs_is_all_of_them(jobs):
    found = sampling.sample(jobs, 1000, 0, ("report",))
    assert len(found) == len({one.path for one in found}) == len(jobs) - 1


@pytest.fixture
def stated(make_spec):
    """A statement of a run made by these files, with the digests that are given or those here."""

    def make(*names, builder="my_model:build", commit="", **digests):
        kinds = {True: CODE, False: RESOURCE}
        made_by = [
            Artifact(name, digests.get(name) or sha256(ROOT / name), kind=kinds[name.endswith(".py")]) for name in names
        ]
        made_by += [Artifact("repository", commit, kind=COMMIT)] if commit else []
        then = datetime(2026, 1, 1)
        spec = make_spec("control", 1).as_json()
        parameters = {"spec": spec | {"model": spec["model"] | {"builder": builder}}}
        return Statement("train", (), tuple(made_by), parameters, {}, then, then, {})

    return make


OWN = "examples/own-model/my_model.py"


def test_code_that_is_as_recorded_is_run_where_it_is(stated, tmp_path):
    code = checkout.package(stated("workflow/toolnoise/measures/control_gate.py", "notebooks/table2.ipynb"), tmp_path)
    assert (code.folder, code.missing) == (ROOT / "workflow", ())
    assert not list(tmp_path.iterdir())


def test_code_that_is_nowhere_is_named_file_by_file(stated, tmp_path):
    names = (
        "workflow/toolnoise/measures/control_gate.py",
        "workflow/toolnoise/gone.py",
        "workflow/toolnoise/training/runs.py",
    )
    other = {"workflow/toolnoise/measures/control_gate.py": "0" * 64, "workflow/toolnoise/gone.py": "1" * 64}
    for commit in ("", "f" * 40):
        code = checkout.package(stated(*names, commit=commit, **other), tmp_path)
        assert code.missing == names[:2]


def test_a_module_of_ones_own_lies_where_its_builder_is_imported_from(stated, tmp_path):
    (own,) = checkout.own_modules(stated(OWN), tmp_path)
    assert own == ("my_model.py", ROOT / OWN)
    (own,) = checkout.own_modules(stated(OWN, builder="own-model.my_model:build"), tmp_path)
    assert own.place == "own-model/my_model.py"


def test_the_users_folder_comes_first_and_another_version_is_not_taken(stated, tmp_path):
    (tmp_path / "my_model.py").write_bytes((ROOT / OWN).read_bytes())
    (own,) = checkout.own_modules(stated(OWN), tmp_path)
    assert own.source == tmp_path / "my_model.py"
    (own,) = checkout.own_modules(stated(OWN, **{OWN: "0" * 64}), tmp_path)
    assert own.source is None
