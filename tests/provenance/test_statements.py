"""Statements: what a job says of itself, written and read again, one line for what is none, and a tree of them."""

import errno
import hashlib
import json
import os
from datetime import datetime
from pathlib import Path

import pytest
from forging import GONE, change

from toolnoise.base import files
from toolnoise.base.printing import escaped
from toolnoise.provenance import recorder, statements, tree
from toolnoise.provenance.statements import CODE, COMMIT, INPUT, SOURCE, Artifact, Envelope, Statement
from toolnoise.study import config

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
    assert statements.read(path) == STATEMENT
    resumed = {"after_epochs": [3], "checkpoint_sha256": "a" * 64}
    chain = {"results/s/statements/study.json.intoto.json": "b" * 64}
    about = {"command": ("count", "--dataset", "d"), "unrepeatable": "it is a time", "counted": "c" * 64}
    statement = STATEMENT._replace(process="warm", resumed=resumed, chain=chain, **about)
    files.write_json(path, statement.as_json())
    assert statements.read(path) == statement


@pytest.mark.parametrize(("resumed_after", "stated"), [([2, 5], [2, 5]), ([], None)], ids=["resumed", "refused"])
def test_a_run_states_the_checkpoint_that_it_resumed_from_and_none_that_it_refused(
    resumed_after, stated, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("1.npz").write_bytes(b"weights")
    files.write_json("run.json", {"resumed_after": resumed_after})
    recorder.run(
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
    made = statements.read("out.json.intoto.json")
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
    assert refused(statements.read, path).startswith(f"{path}: ")


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
    assert refused(statements.read, path).startswith(f"{path}: damaged or truncated (")


# The statements of a study's results, read as a tree


NOON = datetime(2026, 1, 31, 12)


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
    line = escaped(name)
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
    (found,) = tree.load(root.parent).trees
    assert "is a folder that cannot be read (no permission)" in found.strange.values()
