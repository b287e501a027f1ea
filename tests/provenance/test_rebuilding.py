"""Jobs performed again: which ones, on which code, and what Git says of that code."""

import json
import shutil
import subprocess
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from toolnoise.provenance.audit.rules import code_origins

from toolnoise.base.errors import BadInput
from toolnoise.base.files import sha256
from toolnoise.base.program import ROOT
from toolnoise.provenance import recorder, repository, statements
from toolnoise.provenance.rebuild import checkout, rebuilding, recompute, sampling
from toolnoise.provenance.rebuild.rebuilding import CANNOT, DIFFERS, LACKING, REPRODUCED, Rebuilt
from toolnoise.provenance.rebuild.sampling import Made
from toolnoise.provenance.statements import CODE, COMMIT, RESOURCE, UNKNOWN, Artifact, Statement
from toolnoise.provenance.tree import Tree


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
    assert code.folder == ROOT / "workflow"
    assert not list(tmp_path.iterdir())


def test_code_that_is_nowhere_is_named_file_by_file(stated, tmp_path):
    names = (
        "workflow/toolnoise/measures/control_gate.py",
        "workflow/toolnoise/gone.py",
        "workflow/toolnoise/study/runs.py",
    )
    other = {"workflow/toolnoise/measures/control_gate.py": "0" * 64, "workflow/toolnoise/gone.py": "1" * 64}
    for commit in ("", "f" * 40):
        with pytest.raises(checkout.Lacking, match=f"nor at its commit: {names[0]}, {names[1]}$"):
            checkout.package(stated(*names, commit=commit, **other), tmp_path)


def test_a_module_of_ones_own_lies_where_its_builder_is_imported_from(stated, tmp_path):
    (own,) = checkout.own_modules(stated(OWN), tmp_path)
    assert own == ("my_model.py", ROOT / OWN)
    ((place, _),) = checkout.own_modules(stated(OWN, builder="own-model.my_model:build"), tmp_path)
    assert place == "own-model/my_model.py"


def test_the_users_folder_comes_first_and_another_version_is_not_taken(stated, tmp_path):
    (tmp_path / "my_model.py").write_bytes((ROOT / OWN).read_bytes())
    ((_, source),) = checkout.own_modules(stated(OWN), tmp_path)
    assert source == tmp_path / "my_model.py"
    with pytest.raises(checkout.Lacking, match=r"nor at its commit: my_model\.py$"):
        list(checkout.own_modules(stated(OWN, **{OWN: "0" * 64}), tmp_path))


# Git says no, fails or refuses: three answers, and only the first is one on what has changed


NOON = datetime(2026, 1, 31, 12)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A repository of the program, with one commit."""
    monkeypatch.setattr(repository, "ROOT", tmp_path)
    (tmp_path / "code.py").write_text("x = 1\n")
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for asked in (("init",), ("add", "."), (*who, "commit", "-m", "one")):
        subprocess.run(["git", *asked], cwd=tmp_path, check=True, capture_output=True)
    forget = repository.commit.cache_clear
    forget()
    yield tmp_path
    forget()


def broken(folder, _monkeypatch):
    (folder / ".git/index").write_bytes(b"no index")


def lost(folder, _monkeypatch):
    # Such as a power cut leaves it.
    (branch,) = (folder / ".git/refs/heads").iterdir()
    branch.write_text("")


def refused(_folder, monkeypatch):
    # As on a mounted volume; git has this for its own tests.
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")


def absent(_folder, monkeypatch):
    monkeypatch.setenv("PATH", "")


FAULTS = {
    broken: "index",
    lost: "HEAD",
    refused: "dubious ownership",
    absent: "git cannot be started (No such file or directory)",
}


def stated_of_commit(made_by):
    """What a job states of the commit, written and read."""
    dependencies = (Artifact("repository", made_by.sha, kind=COMMIT),) if made_by.sha else ()
    made = Statement("count", (Artifact("x", "0" * 64, 1),), dependencies, {}, {}, NOON, NOON, {}, made_by.changes)
    written = made.as_json()
    return written, statements.parse(json.dumps(written).encode(), "x")


def found(statement):
    """What the audit finds about the commit of a statement."""
    tree = SimpleNamespace(statements=[SimpleNamespace(statement=statement)])
    return [what for _, what in code_origins.commit_is_known(SimpleNamespace(tree=tree))]


def test_a_clean_tree_a_changed_one_and_none_are_told(folder):
    clean = repository.commit()
    assert (len(clean.sha), clean.changes, clean.why) == (40, None, "")
    assert found(stated_of_commit(clean)[1]) == []
    repository.commit.cache_clear()
    (folder / "code.py").write_text("x = 2\n")
    changed = repository.commit()
    assert (changed.sha, len(changed.changes)) == (clean.sha, 64)
    assert found(stated_of_commit(changed)[1]) == []
    (folder / ".git").rename(folder / "gone")
    repository.commit.cache_clear()
    assert repository.commit() is None


def test_a_repository_without_a_commit_has_none(folder):
    shutil.rmtree(folder / ".git")
    subprocess.run(["git", "init"], cwd=folder, check=True, capture_output=True)
    assert repository.commit() is None


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_where_git_does_not_answer_the_changes_are_unknown_said_once_and_never_clean(
    fault, folder, monkeypatch, capsys
):
    with monkeypatch.context() as broken_here:
        fault(folder, broken_here)
        commit = repository.commit()
        assert (commit.changes, bool(commit.sha)) == (UNKNOWN, fault is broken)
        assert FAULTS[fault] in commit.why
        repository.refresh()
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("toolnoise: warning: git does not tell ")
        assert commit.why in line
        assert [one.sha256 for one in recorder._repository({}) if one.kind == COMMIT] == [commit.sha] * (
            fault is broken
        )
        written, read = stated_of_commit(commit)
        assert read.changes == UNKNOWN
        assert '"dirty": false' not in json.dumps(written)
        # The audit cannot look up other statements either.
        elsewhere = stated_of_commit(repository.Commit("0" * 40, None))[1]
        assert found(elsewhere) == [f"cannot be checked, because git does not answer here ({commit.why})"]
    # Where git answers, and where there is no repository at all.
    for here in (repository.Commit(commit.sha or "0" * 40, None), None):
        monkeypatch.setattr(repository, "commit", lambda here=here: here)
        (what,) = found(read)
        assert what.endswith("with unknown changes")


@pytest.mark.parametrize(
    ("notes", "changes"),
    [
        ({}, None),
        ({"dirty": False}, None),
        ({"dirty": True, "diff_sha256": "f" * 64}, "f" * 64),
        ({"dirty": True}, UNKNOWN),
        ({"dirty": True, "diff_sha256": None}, UNKNOWN),
        ({"dirty": UNKNOWN}, UNKNOWN),
        ({"dirty": 0}, UNKNOWN),
    ],
)
def test_only_what_is_said_to_be_unchanged_is(notes, changes):
    written, _ = stated_of_commit(repository.Commit("0" * 40, None))
    (commit,) = written["predicate"]["buildDefinition"]["resolvedDependencies"]
    commit["annotations"] = {"kind": COMMIT, **notes}
    assert statements.parse(json.dumps(written).encode(), "x").changes == changes


@pytest.mark.usefixtures("folder")
def test_a_git_that_is_killed_gives_no_answer_and_ends_the_job(tmp_path_factory, monkeypatch):
    tools = tmp_path_factory.mktemp("tools")
    (tools / "git").write_text("#!/bin/sh\nkill -TERM $$\n")
    (tools / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tools), prepend=":")
    with pytest.raises(BadInput, match="git was killed by SIGTERM; type the same command again"):
        repository.commit()
    assert repository.commit.cache_info().currsize == 0
