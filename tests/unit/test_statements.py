"""Statements: what a job says of itself, written and read again, and one line for what is none."""

import base64
import hashlib
import json
import os
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from toolnoise.base import files
from toolnoise.record import recorder, starts, statements
from toolnoise.record.envelope import Envelope
from toolnoise.record.statements import CODE, COMMIT, INPUT, SOURCE, Artifact, Statement

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


def test_how_a_job_started_and_what_the_root_names_are_written_and_read(path):
    resumed = {"after_epochs": [3], "checkpoint_sha256": "a" * 64}
    chain = {"results/s/statements/study.json.intoto.json": "b" * 64}
    statement = STATEMENT._replace(process="warm", resumed=resumed, chain=chain)
    files.write_json(path, statement.as_json())
    assert statements.read(path) == statement
    assert json.loads(path.read_text())["predicate"]["runDetails"]["metadata"]["toolnoise_resumed"] == resumed


def test_warm_starts_that_failed_are_counted_in_the_newest_statements_or_since_a_time(tmp_path):
    failed = "cold: the warm start failed: "
    processes = ("warm", f"{failed}a", f"{failed}b", "cold: a GPU", "cold", "warm", "warm")
    for place, process in enumerate(processes):
        job = STATEMENT._replace(process=process, started=STATEMENT.started + timedelta(seconds=place))
        file = tmp_path / f"statements/runs/{place}.intoto.json"
        files.write_json(file, job.as_json())
        os.utime(file, (place, place))
    files.write_text(tmp_path / "statements/damaged.intoto.json", "{")
    (tmp_path / "statements/gone.intoto.json").symlink_to("nowhere")
    said = "cold though a warm server was asked for; the first:"
    assert starts.in_one_line(tmp_path) == f"3 started warm and 2 {said} a"
    assert starts.in_one_line(tmp_path, since=2) == f"2 started warm and 1 {said} b"
    # The damaged file is the newest.
    assert starts.in_one_line(tmp_path, most=6) == f"of the last 6 jobs, 2 started warm and 1 {said} b"
    assert starts.in_one_line(tmp_path, most=5) == ""
    assert starts.in_one_line(tmp_path / "nowhere") == ""


def test_a_run_states_the_checkpoint_that_it_resumed_from_and_none_that_it_refused(tmp_path):
    named = {"checkpoint": str(tmp_path / "1.npz"), "record": str(tmp_path / "run.json")}
    assert recorder._kept(named) == ""
    Path(named["checkpoint"]).write_bytes(b"weights")
    kept = recorder._kept(named)
    files.write_json(named["record"], {"resumed_after": [2, 5]})
    assert recorder._resumed(named, "") is None
    assert recorder._resumed(named, kept) == {
        "after_epochs": [2, 5],
        "checkpoint_sha256": hashlib.sha256(b"weights").hexdigest(),
    }
    files.write_json(named["record"], {"resumed_after": []})
    assert recorder._resumed(named, kept) is None


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


def test_inputs_are_what_other_jobs_made():
    assert [one.name for one in STATEMENT.inputs] == ["results/s/data/d.npz"]


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


def without(*keys):
    def change(value):
        for key in keys[:-1]:
            value = value[key]
        del value[keys[-1]]

    return change


def put(new, *keys):
    def change(value):
        for key in keys[:-1]:
            value = value[key]
        value[keys[-1]] = new

    return change


DAMAGE = {
    "_type": put("https://in-toto.io/Statement/v0.1", "_type"),
    "predicateType": put("https://slsa.dev/provenance/v0.2", "predicateType"),
    "no predicate": without("predicate"),
    "another builder's": put("https://example.org/make", "predicate", "buildDefinition", "buildType"),
    "no subject": put([], "subject"),
    "subjects in a mapping": put({}, "subject"),
    "no digest": without("subject", 0, "digest"),
    "a short digest": put("abc", "subject", 0, "digest", "sha256"),
    "a digest in capitals": put("A" * 64, "subject", 0, "digest", "sha256"),
    "a second digest of an output": put("0" * 128, "subject", 0, "digest", "sha512"),
    "a second digest of an input": put(
        "0" * 128, "predicate", "buildDefinition", "resolvedDependencies", 0, "digest", "sha512"
    ),
    "a second digest of a commit": put(
        "0" * 64, "predicate", "buildDefinition", "resolvedDependencies", 3, "digest", "sha256"
    ),
    "a name that is none": put(7, "subject", 0, "name"),
    "a size below zero": put(-1, "subject", 0, "annotations", "size"),
    "a size that is none": put("12", "subject", 0, "annotations", "size"),
    "no parameters": without("predicate", "buildDefinition", "externalParameters"),
    "no times": without("predicate", "runDetails", "metadata"),
    "a time that is none": put("yesterday", "predicate", "runDetails", "metadata", "finishedOn"),
    "an input without a digest": without("predicate", "buildDefinition", "resolvedDependencies", 0, "digest"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_is_no_statement_is_one_line(path, refused, damage):
    value = json.loads(path.read_text())
    DAMAGE[damage](value)
    path.write_text(json.dumps(value))
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


def test_an_envelope_that_two_readers_could_understand_differently_is_one_line(path, refused):
    text = json.dumps(Envelope(path.read_bytes()).as_json())
    path.write_text(text.replace("{", '{"payload": "e30=", ', 1))
    assert "key 'payload' is repeated" in refused(statements.read, path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "7",
        "null",
        '"text"',
        "\x00",
        "[" * 100_000,
        '{"payload": "%"}',
        '{"payload": 7}',
        '{"payload": "Ww=="}',
    ],
)
def test_what_is_no_json_object_is_one_line(path, refused, text):
    path.write_text(text)
    assert refused(statements.read, path).startswith(f"{path}: ")
