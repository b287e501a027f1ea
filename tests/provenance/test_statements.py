"""Statements: what a job says of itself, written and read again, one line for what is none, and a tree of them."""

import base64
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
        ("out.csv", "out.csv.intoto.json"),
        (".", "..intoto.json"),
        ("results/out.csv", "results/out.csv.intoto.json"),
    ],
)
def test_a_statement_lies_with_its_study_or_beside_the_file(output, place):
    assert statements.path_for(output) == Path(place)


def test_a_statement_is_read_out_of_a_signed_envelope(path):
    payload = base64.b64encode(path.read_bytes()).decode()
    path.write_text(json.dumps({"payload": payload, "payloadType": "application/vnd.in-toto+json", "signatures": []}))
    assert statements.read(path) == STATEMENT


DEFINITION, DETAILS = "predicate buildDefinition", "predicate runDetails"
DAMAGE = {
    "_type": ("_type", "https://in-toto.io/Statement/v0.1"),
    "predicateType": ("predicateType", "https://slsa.dev/provenance/v0.2"),
    "no predicate": ("predicate", GONE),
    "another builder's": (f"{DEFINITION} buildType", "https://example.org/make"),
    "no subject": ("subject", []),
    "subjects in a mapping": ("subject", {}),
    "no digest": ("subject 0 digest", GONE),
    "a short digest": ("subject 0 digest sha256", "abc"),
    "a digest in capitals": ("subject 0 digest sha256", "A" * 64),
    "a second digest of an output": ("subject 0 digest sha512", "0" * 128),
    "a second digest of an input": (f"{DEFINITION} resolvedDependencies 0 digest sha512", "0" * 128),
    "a second digest of a commit": (f"{DEFINITION} resolvedDependencies 3 digest sha256", "0" * 64),
    "a kind that is none": (f"{DEFINITION} resolvedDependencies 0 annotations kind", "magic"),
    "a name that is none": ("subject 0 name", 7),
    "a size below zero": ("subject 0 annotations size", -1),
    "a size that is none": ("subject 0 annotations size", "12"),
    "an output without a size": ("subject 0 annotations size", GONE),
    "no parameters": (f"{DEFINITION} externalParameters", GONE),
    "no times": (f"{DETAILS} metadata", GONE),
    "a time that is none": (f"{DETAILS} metadata finishedOn", "yesterday"),
    "an input without a digest": (f"{DEFINITION} resolvedDependencies 0 digest", GONE),
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


NO_OBJECTS = ["", "{", "[]", "7", "null", '"text"', "\x00", "[" * 100_000]
NO_OBJECTS += ['{"payload": "e30=", "payload": "e30="}', '{"payload": "%"}', '{"payload": 7}', '{"payload": "Ww=="}']
NO_OBJECTS += ['{"payload": "' + "W1tb" * 40_000 + '"}']


@pytest.mark.parametrize("text", NO_OBJECTS, ids=range(len(NO_OBJECTS)))
def test_what_is_no_json_object_is_one_line(path, refused, text):
    path.write_text(text)
    assert refused(statements.read, path).startswith(f"{path}: ")


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


def test_files_statements_and_study_are_found_from_the_study_or_from_all_results(root):
    one, of_all = tree.load_study(root), tree.load(root.parent)
    assert tree.load(root).trees == of_all.trees == (one,)
    assert list(one.artifacts) == ["metrics/data.csv", "study.json"]
    assert one.artifacts["metrics/data.csv"] == 2
    assert set(one.files) - set(one.artifacts) == {"statements/metrics/data.csv.intoto.json"}
    assert one.name == "tiny"
    stated = one.producer("results/tiny/metrics/data.csv")
    assert one.producers == {"metrics/data.csv": (stated,)}
    assert stated.path == "statements/metrics/data.csv.intoto.json"
    assert one.producer("results/tiny/study.json") is None
    assert one.producer("results/other/metrics/data.csv") is None
    assert one.named("study.json") == "results/tiny/study.json"


def test_checkpoints_are_no_artifacts_and_scratch_files_are_listed(root):
    files.write_text(root / "checkpoints/model/1.npz", "")
    files.write_text(root / "metrics/.data.csv.x1", "")
    assert list(tree.load_study(root).artifacts) == ["metrics/.data.csv.x1", "metrics/data.csv", "study.json"]


def test_a_folder_in_the_place_of_a_list_without_a_statement_hides_nothing(root):
    files.write_text(root / "left-out.json/more.csv", "")
    assert "left-out.json/more.csv" in tree.load_study(root).artifacts


NAMES = ["a\nb", "a b", "$(touch x)", "<script>", "\udcff", "é", "-rf", "x" * 255, "\x1b[31m"]


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


def test_a_statement_of_another_name_or_of_absurd_size_is_not_read(root):
    (root / "statements/note.txt").write_text("{}")
    with (root / "statements/large.intoto.json").open("wb") as file:
        file.truncate(tree.LARGEST_STATEMENT + 1)
    assert set(tree.load_study(root).unreadable) == {"statements/note.txt", "statements/large.intoto.json"}


def test_a_file_that_vanishes_meanwhile_is_listed_as_gone(root, monkeypatch):
    class Gone:
        name = "data.csv"

        def stat(self, **_):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))

    scandir = os.scandir
    monkeypatch.setattr(
        tree.os, "scandir", lambda folder: [Gone()] if Path(folder).name == "metrics" else scandir(folder)
    )
    one = tree.load_study(root)
    assert one.strange["metrics/data.csv"] == "cannot be examined (No such file or directory)"


def test_only_plain_files_are_opened(root):
    with files.open_plain(root / "metrics/data.csv") as file:
        assert file.read() == b"a\n"
    (root / "link").symlink_to("metrics/data.csv")
    os.mkfifo(root / "pipe")
    for name in ("link", "pipe", "metrics", "absent"):
        with pytest.raises(OSError):
            files.open_plain(root / name)


@pytest.mark.parametrize("folder", ["metrics", "statements", "."])
def test_a_folder_that_may_not_be_read_is_told(folder, root, monkeypatch):
    """As for another user than root."""
    closed, opened, listed = os.path.normpath(root / folder), Path.stat, os.scandir

    def refuse(path):
        if os.path.normpath(path) == closed:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))

    def stat(path, **options):
        refuse(path.parent)
        return opened(path, **options)

    def scandir(path):
        refuse(path)
        return listed(path)

    monkeypatch.setattr(Path, "stat", stat)
    monkeypatch.setattr(os, "scandir", scandir)
    (found,) = tree.load(root.parent).trees
    assert "is a folder that cannot be read (no permission)" in found.strange.values()
