"""Git says no, fails or refuses: three answers, and only the first is one on what has changed."""

import json
import shutil
import subprocess
from datetime import datetime
from types import SimpleNamespace

import pytest

from toolnoise.base.errors import BadInput
from toolnoise.record import recorder, repository, statements
from toolnoise.record.statements import COMMIT, UNKNOWN, Artifact, Statement
from toolnoise.verify.audit.rules import code_origins

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


def stated(made_by):
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
    assert found(stated(clean)[1]) == []
    repository.commit.cache_clear()
    (folder / "code.py").write_text("x = 2\n")
    changed = repository.commit()
    assert (changed.sha, len(changed.changes)) == (clean.sha, 64)
    assert found(stated(changed)[1]) == []
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
        written, read = stated(commit)
        assert read.changes == UNKNOWN
        assert '"dirty": false' not in json.dumps(written)
        # The audit cannot look up other statements either.
        elsewhere = stated(repository.Commit("0" * 40, None))[1]
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
    written, _ = stated(repository.Commit("0" * 40, None))
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
