"""Jobs performed again: which ones, on which code, and what Git says of that code."""

import json
import subprocess
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from toolnoise.base.errors import BadInput
from toolnoise.base.files import sha256
from toolnoise.base.program import ROOT
from toolnoise.checks import rebuild
from toolnoise.provenance import audit, recorder, repository, statements
from toolnoise.provenance.statements import CODE, COMMIT, RESOURCE, UNKNOWN, Artifact, Envelope, Statement
from toolnoise.provenance.tree import Stated, Tree

NOON = datetime(2026, 1, 31, 12)
TREE = Tree("tiny", Path("/results/tiny"), {}, {}, (), {}, {})


def made(verb, number=1, varying=(), unrepeatable=""):
    parameters = {"spec": {"variant": {"varying": list(varying)}}}
    output = Artifact(f"results/tiny/{verb}/{number}.csv", "0" * 64)
    about = {"unrepeatable": unrepeatable}
    return rebuild.Job(TREE, Statement(verb, (output,), (), parameters, {}, NOON, NOON, {}, **about))


@pytest.fixture
def jobs():
    """Jobs of every kind, with many trainings."""
    return [
        *(made("train", number, ("impl",)) for number in range(40)),
        *(made("train", number) for number in range(40, 80)),
        *(made("measure", number) for number in range(3)),
        *(made(verb) for verb in ("render", "predict", "count", "prepare")),
        made("report", unrepeatable="it says when it was written"),
    ]


def test_a_sample_takes_each_stage_then_goes_on_in_turns_without_what_cannot_be_repeated(jobs):
    found = [job.kind for job in rebuild.sampled(jobs, 11, 0)]
    assert found[:7] == ["train with noise", "render", "measure", "predict", "train", "prepare", "count"]
    assert found[7:] == ["train with noise", "measure", "train", "train with noise"]
    assert sorted(rebuild.sampled(jobs, 1000, 0)) == sorted(jobs[:-1])


def test_the_same_number_gives_the_same_sample_whatever_the_order_of_the_jobs(jobs):
    one = rebuild.sampled(jobs, 9, 4)
    assert rebuild.sampled(jobs[::-1], 9, 4) == one
    assert rebuild.sampled(jobs, 9, 5) != one


GATE, RUNS, OWN = (
    "workflow/toolnoise/measures/control_gate.py",
    "workflow/toolnoise/study/runs.py",
    "examples/own-model/my_model.py",
)


def stated(*names, commit="", **digests):
    """A statement of a job made by these files, with the digests that are given or those here."""
    made_by = [
        Artifact(name, digests.get(name) or sha256(ROOT / name), kind=CODE if name.endswith(".py") else RESOURCE)
        for name in names
    ]
    made_by += [Artifact("repository", commit, kind=COMMIT)] if commit else []
    return Statement("train", (), tuple(made_by), {}, {}, NOON, NOON, {})


@pytest.mark.parametrize("commit", ["", "f" * 40])
def test_code_that_is_nowhere_is_named_file_by_file(commit, tmp_path):
    gone = "workflow/toolnoise/gone.py"
    statement = stated(GATE, gone, RUNS, commit=commit, **{GATE: "0" * 64, gone: "1" * 64})
    with pytest.raises(BadInput, match=f"nor at its commit: {GATE}, {gone}$"):
        rebuild.package_of(statement, tmp_path)


def test_a_module_of_ones_own_lies_where_its_builder_is_imported_from(tmp_path):
    for user, places in (("examples/own-model", ["my_model.py"]), ("examples", ["own-model/my_model.py"])):
        folder = tmp_path / Path(user).name
        rebuild.lay_out_own(stated(OWN), ROOT / user, folder)
        assert [path.relative_to(folder).as_posix() for path in folder.rglob("*.py")] == places
    # Results that were moved.
    rebuild.lay_out_own(stated(OWN), tmp_path / "elsewhere", tmp_path / "moved")
    assert {sha256(tmp_path / "moved" / place) for place in ("my_model.py", OWN)} == {sha256(ROOT / OWN)}


# Git says no, fails or refuses: three answers, and only the first is one on what has changed


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
    return written, statements.opened(Envelope(json.dumps(written).encode()), "x")


def found(statement):
    """What the audit finds about the commit of a statement."""
    tree = SimpleNamespace(statements=[Stated("x", statement)])
    return [what for _, what in audit.commit(SimpleNamespace(tree=tree))]


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
        assert [one.sha256 for one in recorder._repository("") if one.kind == COMMIT] == [commit.sha] * (
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
        ({"dirty": True, "diff_sha256": None}, UNKNOWN),
        ({"dirty": UNKNOWN}, UNKNOWN),
        ({"dirty": 0}, UNKNOWN),
    ],
)
def test_only_what_is_said_to_be_unchanged_is(notes, changes):
    written, _ = stated_of_commit(repository.Commit("0" * 40, None))
    (commit,) = written["predicate"]["buildDefinition"]["resolvedDependencies"]
    commit["annotations"] = {"kind": COMMIT, **notes}
    assert statements.opened(Envelope(json.dumps(written).encode()), "x").changes == changes


@pytest.mark.usefixtures("folder")
def test_a_git_that_is_killed_gives_no_answer_and_ends_the_job(tmp_path_factory, monkeypatch):
    tools = tmp_path_factory.mktemp("tools")
    (tools / "git").write_text("#!/bin/sh\nkill -TERM $$\n")
    (tools / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tools), prepend=":")
    with pytest.raises(BadInput, match="git was killed by SIGTERM; type the same command again"):
        repository.commit()
    assert repository.commit.cache_info().currsize == 0
