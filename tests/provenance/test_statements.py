"""Statements: written and read again, one line for what is none, a tree of them; the code and commit that they name."""

import errno
import hashlib
import json
import os
import subprocess
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from forging import GONE, change

from toolnoise.base import files
from toolnoise.base.errors import BadInput
from toolnoise.base.files import sha256
from toolnoise.base.printing import make_printable
from toolnoise.base.program import ROOT
from toolnoise.checks import rebuild
from toolnoise.provenance import audit, recorder, repository, statements, tree
from toolnoise.provenance.statements import (
    CODE,
    COMMIT,
    INPUT,
    RESOURCE,
    SOURCE,
    UNKNOWN,
    Artifact,
    Envelope,
    Statement,
)
from toolnoise.provenance.tree import Tree
from toolnoise.study import config

NOON = datetime(2026, 1, 31, 12)
STATEMENT = Statement(
    "count",
    (Artifact("results/s/metrics/data/d.csv", "a" * 64, 12, "out"),),
    (
        Artifact("results/s/data/d.npz", "b" * 64, 3, "data", INPUT),
        Artifact("data/d.tar", "c" * 64, 5, kind=SOURCE, uri="https://example.org/d.tar"),
        Artifact("workflow/toolnoise/base/files.py", "d" * 64, kind=CODE),
        Artifact("repository", "e" * 40, kind=COMMIT),
    ),
    {"dataset": "d"},
    {"host": "h", "versions": {"numpy": "2"}},
    datetime(2026, 1, 2, 3, 4, 5, 6),
    datetime(2026, 1, 2, 3, 4, 6),
    {"toolnoise": "0.1.0"},
    "f" * 64,
)


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "s.intoto.json"
    files.write_json(file, STATEMENT.as_json())
    return file


def test_what_is_written_is_read(path):
    assert statements.read_statement(path) == STATEMENT
    resumed = {"after_epochs": [3], "checkpoint_sha256": "a" * 64}
    chain = {"results/s/statements/study.json.intoto.json": "b" * 64}
    about = {"command": ("count", "--dataset", "d"), "unrepeatable": "it is a time", "counted": "c" * 64}
    statement = STATEMENT._replace(process="warm", resumed=resumed, chain=chain, **about)
    files.write_json(path, statement.as_json())
    assert statements.read_statement(path) == statement


@pytest.mark.parametrize(("resumed_after", "stated"), [([2, 5], [2, 5]), ([], None)], ids=["resumed", "refused"])
def test_a_run_states_the_checkpoint_that_it_resumed_from_and_none_that_it_refused(
    resumed_after, stated, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("1.npz").write_bytes(b"weights")
    files.write_json("run.json", {"resumed_after": resumed_after})
    recorder.record_job(
        recorder.Job(
            "train",
            {},
            ("train", "--record", "out.json"),
            (),
            (recorder.JobFile("out.json", "record"),),
            perform=lambda: files.write_json("out.json", {}),
            code=dict,
            counted=str,
            resumed=lambda: files.read_json("run.json")["resumed_after"],
            checkpoint="1.npz",
        ),
        "cold",
    )
    made = statements.read_statement("out.json.intoto.json")
    digest = hashlib.sha256(b"weights").hexdigest()
    assert made.resumed == (stated and {"after_epochs": stated, "checkpoint_sha256": digest})
    assert made.command == ("train", "--record", "out.json")


def test_the_standards_own_fields_are_used(path):
    value = json.loads(path.read_text())
    assert value["_type"] == "https://in-toto.io/Statement/v1"
    assert value["predicateType"] == "https://slsa.dev/provenance/v1"
    assert value["subject"][0]["digest"] == {"sha256": "a" * 64}
    definition, details = value["predicate"]["buildDefinition"], value["predicate"]["runDetails"]
    assert definition["externalParameters"] == {"dataset": "d"}
    assert [one["name"] for one in definition["resolvedDependencies"]][:2] == ["results/s/data/d.npz", "data/d.tar"]
    assert definition["resolvedDependencies"][3]["digest"] == {"gitCommit": "e" * 40}
    assert definition["resolvedDependencies"][3]["annotations"]["diff_sha256"] == "f" * 64
    assert details["metadata"] == {
        "startedOn": "2026-01-02T03:04:05.000006Z",
        "finishedOn": "2026-01-02T03:04:06.000000Z",
    }


@pytest.mark.parametrize(
    ("output", "place"),
    [
        ("results/s/study.json", "results/s/statements/study.json.intoto.json"),
        ("results/s/runs/m/d/h/v/1/weights.npz", "results/s/statements/runs/m/d/h/v/1/weights.npz.intoto.json"),
        ("results/results/results/b.csv", "results/results/statements/results/b.csv.intoto.json"),
        ("/x/results/s/report.html", "/x/results/s/report.html.intoto.json"),
        ("results/out.csv", "results/out.csv.intoto.json"),
    ],
)
def test_a_statement_lies_with_its_study_or_beside_the_file(output, place):
    assert statements.path_for(output) == Path(place)


DEFINITION, DETAILS = "predicate buildDefinition", "predicate runDetails"
DAMAGE = {
    "_type": ("_type", "https://in-toto.io/Statement/v0.1"),
    "predicateType": ("predicateType", "https://slsa.dev/provenance/v0.2"),
    "no predicate": ("predicate", GONE),
    "another builder's": (f"{DEFINITION} buildType", "https://example.org/make"),
    "no subject": ("subject", []),
    "no digest": ("subject 0 digest", GONE),
    "a short digest": ("subject 0 digest sha256", "abc"),
    "a second digest of an output": ("subject 0 digest sha512", "0" * 128),
    "a second digest of a commit": (f"{DEFINITION} resolvedDependencies 3 digest sha256", "0" * 64),
    "a kind that is none": (f"{DEFINITION} resolvedDependencies 0 annotations kind", "magic"),
    "a name that is none": ("subject 0 name", 7),
    "a size below zero": ("subject 0 annotations size", -1),
    "an output without a size": ("subject 0 annotations size", GONE),
    "no parameters": (f"{DEFINITION} externalParameters", GONE),
    "a time that is none": (f"{DETAILS} metadata finishedOn", "yesterday"),
}


@pytest.mark.parametrize(("way", "value"), DAMAGE.values(), ids=DAMAGE)
def test_what_is_no_statement_is_one_line(way, value, path, refused):
    about = json.loads(path.read_text())
    change(about, way.split(), value)
    path.write_text(json.dumps(about))
    assert refused(statements.read_statement, path).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("before", "after"),
    [('"_type": ', '"_type": "none", "_type": '), ('"size": 12', '"size": NaN'), ('"size": 12', '"size": 1e999')],
)
@pytest.mark.parametrize("signed", [False, True])
def test_a_statement_that_two_readers_could_understand_differently_is_one_line(signed, before, after, path, refused):
    assert before in path.read_text()
    text = path.read_text().replace(before, after, 1)
    if signed:
        text = json.dumps(Envelope(text.encode()).as_json())
    path.write_text(text)
    assert refused(statements.read_statement, path).startswith(f"{path}: damaged or truncated (")


# The statements of a study's results, read as a tree


def statement(*outputs, inputs=()):
    """A statement of these outputs, with digests of nothing."""
    return Statement(
        "collect",
        tuple(Artifact(name, "0" * 64, 1) for name in outputs),
        tuple(Artifact(name, "0" * 64, 1, kind=INPUT) for name in inputs),
        {},
        {},
        NOON,
        NOON,
        {},
    ).as_json()


@pytest.fixture
def root(tmp_path, written):
    """A study's results: study.json, one artifact and its statement."""
    folder = tmp_path / "results" / "tiny"
    files.write_json(folder / "study.json", config.resolve(written, "tiny"))
    files.write_text(folder / "metrics/data.csv", "a\n")
    made = statement("results/tiny/metrics/data.csv", inputs=["results/tiny/study.json"])
    files.write_json(folder / "statements/metrics/data.csv.intoto.json", made)
    return folder


NAMES = ["a\nb", "$(touch x)", "\udcff", "-rf", "x" * 255, "\x1b[31m"]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_any_name_is_only_a_name(name, root):
    (root / "metrics" / name).write_text("")
    made = statement(f"results/tiny/metrics/{name}")
    (root / "statements/odd.intoto.json").write_text(json.dumps(made))
    one = tree.load_study(root)
    assert one.artifacts[f"metrics/{name}"] == 0
    assert one.producer(f"results/tiny/metrics/{name}").path == "statements/odd.intoto.json"
    line = make_printable(name)
    assert line.splitlines() == [line]
    assert line.encode()
    assert line.isprintable()


@pytest.mark.parametrize("name", ["results/tiny/../../secret", "/etc/passwd", "results/tiny", "", "results/tiny/"])
def test_a_name_that_leads_elsewhere_names_no_file(name, root):
    files.write_json(root / "statements/odd.intoto.json", statement(name))
    one = tree.load_study(root)
    assert len(one.statements) == 2
    assert one.inside(name) not in one.files


@pytest.mark.parametrize("folder", ["metrics", "statements", "."])
def test_a_folder_that_may_not_be_read_is_told(folder, root, monkeypatch):
    """As for another user than root."""
    closed, listed = os.path.normpath(root / folder), os.scandir

    def scandir(path):
        if os.path.normpath(path) == closed:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    (found,) = tree.load_results(root.parent).trees
    assert "is a folder that cannot be read (no permission)" in found.strange.values()


# Jobs performed again: which ones, on which code, and what git says of that code
# ----------------------------------------------------------------------------

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
    found = [job.kind for job in rebuild.sample_jobs(jobs, 11, 0)]
    assert found[:7] == ["train with noise", "render", "measure", "predict", "train", "prepare", "count"]
    assert found[7:] == ["train with noise", "measure", "train", "train with noise"]
    assert sorted(rebuild.sample_jobs(jobs, 1000, 0)) == sorted(jobs[:-1])


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
    forget = repository.head_commit.cache_clear
    forget()
    yield tmp_path
    forget()


def broken(folder, _monkeypatch):
    (folder / ".git/index").write_bytes(b"no index")


def lost(folder, _monkeypatch):
    # Such as a power cut leaves it.
    (branch,) = (folder / ".git/refs/heads").iterdir()
    branch.write_text("")


def forbidden(_folder, monkeypatch):
    # As on a mounted volume; git has this for its own tests.
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")


def absent(_folder, monkeypatch):
    monkeypatch.setenv("PATH", "")


FAULTS = {
    broken: "index",
    lost: "HEAD",
    forbidden: "dubious ownership",
    absent: "git cannot be started (No such file or directory)",
}


def stated_of_commit(made_by):
    """What a job states of the commit, written and read."""
    dependencies = (Artifact("repository", made_by.sha, kind=COMMIT),) if made_by.sha else ()
    made = Statement("count", (Artifact("x", "0" * 64, 1),), dependencies, {}, {}, NOON, NOON, {}, made_by.changes)
    written = made.as_json()
    return written, statements.open_statement(Envelope(json.dumps(written).encode()), "x")


def found(statement):
    """What the audit finds about the commit of a statement."""
    return [what for _, what in audit.commit(SimpleNamespace(statements=[statement]))]


def test_a_clean_tree_a_changed_one_and_none_are_told(folder):
    clean = repository.head_commit()
    assert (len(clean.sha), clean.changes, clean.why) == (40, None, "")
    assert found(stated_of_commit(clean)[1]) == []
    repository.head_commit.cache_clear()
    (folder / "code.py").write_text("x = 2\n")
    changed = repository.head_commit()
    assert (changed.sha, len(changed.changes)) == (clean.sha, 64)
    assert found(stated_of_commit(changed)[1]) == []
    (folder / ".git").rename(folder / "gone")
    repository.head_commit.cache_clear()
    assert repository.head_commit() is None


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_where_git_does_not_answer_the_changes_are_unknown_said_once_and_never_clean(
    fault, folder, monkeypatch, capsys
):
    with monkeypatch.context() as broken_here:
        fault(folder, broken_here)
        commit = repository.head_commit()
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
        monkeypatch.setattr(repository, "head_commit", lambda here=here: here)
        (what,) = found(read)
        assert what.endswith("with unknown changes")


@pytest.mark.usefixtures("folder")
def test_a_git_that_is_killed_gives_no_answer_and_ends_the_job(tmp_path_factory, monkeypatch):
    tools = tmp_path_factory.mktemp("tools")
    (tools / "git").write_text("#!/bin/sh\nkill -TERM $$\n")
    (tools / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tools), prepend=":")
    with pytest.raises(BadInput, match="git was killed by SIGTERM; type the same command again"):
        repository.head_commit()
    assert repository.head_commit.cache_info().currsize == 0
