"""A study as a research object: what is in the crate, what is only named, and what is refused."""

import base64
import json
import re
import zipfile
from datetime import datetime
from hashlib import sha256

import pytest

from toolnoise import cli
from toolnoise.base import files
from toolnoise.base.errors import BadInput
from toolnoise.provenance import crate
from toolnoise.provenance.crate import SMALL
from toolnoise.provenance.statements import INPUT, SOURCE, Artifact, Statement, path_for

WHEN = datetime(2026, 1, 31, 12, 0, 0, 123456)


class Study:
    """A study's results that are made up: jobs that write what they are told."""

    def __init__(self, folder):
        self.base, self.folder = folder, folder / "results/tiny"
        self.artifacts = {}
        self.job("configure", {"study.json": b"{}"})

    def job(self, verb, outputs, reads=(), further=(), parameters=None, day=31, **observed):
        inputs = [self.artifacts[name]._replace(role="data", kind=INPUT) for name in reads]
        made = []
        for name, content in outputs.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_bytes(content)
            made.append(Artifact(f"results/tiny/{name}", sha256(content).hexdigest(), len(content), "out"))
            self.artifacts[name] = made[-1]
        when = WHEN.replace(day=day)
        versions = {"toolnoise": "0.1.0", "snakemake": "9.0.0"}
        about = (parameters or {}, observed, when, when, versions)
        command = (verb, "--out", made[0].name)
        statement = Statement(verb, tuple(made), (*inputs, *further), *about, command=command)
        there = self.base / path_for(made[0].name)
        files.write_json(there, statement.as_json())
        return there

    def export(self, name="crate", embed=False):
        out = self.base / name
        crate.export(self.folder, out, embed)
        return out

    def described(self, name="crate", **options):
        return {one["@id"]: one for one in metadata(self.export(name, **options))["@graph"]}


def metadata(out):
    return json.loads((out / "ro-crate-metadata.json").read_text())


@pytest.fixture
def study(tmp_path):
    return Study(tmp_path)


def test_a_job_is_an_action_with_what_it_read_was_told_and_wrote(study):
    study.job("prepare", {"data/digits.npz": b"data"})
    told = {"spec": {"rate": 0.5, "order": ["b", "a"]}, "dataset": "digits", "epochs": 3, "deterministic": True}
    study.job("train", {"runs/1/weights.npz": b"w"}, ["data/digits.npz"], parameters=told, host="here")
    found = study.described()
    job = found["#job/runs/1/weights.npz"]
    assert job["@type"] == "CreateAction" and job["instrument"] == {"@id": "#verb/train"}
    assert job["description"] == "toolnoise train --out results/tiny/runs/1/weights.npz"
    assert job["startTime"] == job["endTime"] == "2026-01-31T12:00:00.123+00:00"
    assert job["result"] == {"@id": "results/tiny/runs/1/weights.npz"}
    objects = [found[one["@id"]] for one in job["object"]]
    assert objects[0]["@id"] == "results/tiny/data/digits.npz" and objects[0]["sha256"] == sha256(b"data").hexdigest()
    values = {one["name"]: one["value"] for one in objects[1:]}
    assert json.loads(values.pop("spec")) == told["spec"]
    assert values == {"dataset": "digits", "epochs": 3, "deterministic": True}
    own = found["results/tiny/statements/runs/1/weights.npz.intoto.json"]
    assert own["about"] == {"@id": job["@id"]}
    mentioned = {one["@id"] for one in found["./"]["mentions"]}
    assert mentioned == {"#run"} | {f"#job/{name}" for name in ("study.json", "data/digits.npz", "runs/1/weights.npz")}
    # What no job read.
    last = {one["@id"] for one in found["#run"]["result"]}
    assert last == {"results/tiny/study.json", "results/tiny/runs/1/weights.npz"}


def test_an_input_that_was_made_anew_since_is_told_of_beside_the_new_one(study):
    study.job("prepare", {"data/digits.npz": b"old"}, day=1)
    study.job("count", {"metrics/data/digits.csv": b"1\n"}, ["data/digits.npz"], day=2)
    study.job("prepare", {"data/digits.npz": b"new"}, day=3)
    found = study.described()
    read = found["#job/metrics/data/digits.csv"]["object"]["@id"]
    assert read.startswith("#file/") and found[read]["sha256"] == sha256(b"old").hexdigest()
    assert found["results/tiny/data/digits.npz"]["sha256"] == sha256(b"new").hexdigest()


def test_large_files_are_told_of_unless_they_are_embedded(study):
    study.job("train", {"runs/1/weights.npz": b"x" * (SMALL + 1), "runs/1/run.json": b"{}"})
    told, packed = study.described("told"), study.described("packed", embed=True)
    name = "results/tiny/runs/1/weights.npz"
    (large,) = [one for one in told.values() if one.get("name") == name]
    assert large["@id"].startswith("#file/") and large["contentSize"] == str(SMALL + 1)
    assert not (study.base / "told" / name).exists()
    assert (study.base / "packed" / name).stat().st_size == SMALL + 1
    assert {"@id": name} in packed["./"]["hasPart"] and {"@id": large["@id"]} not in told["./"]["hasPart"]


def test_data_from_outside_is_never_packed(study):
    (study.base / "data.npz").write_bytes(b"theirs")
    address = "https://example.org/data.npz"
    outside = Artifact("data.npz", sha256(b"theirs").hexdigest(), 6, kind=SOURCE, uri=address)
    study.job("prepare", {"data/x.npz": b"x"}, further=[outside])
    found = study.described(embed=True)
    (source,) = [one for one in found.values() if one.get("url") == address]
    assert source["@id"].startswith("#file/") and not (study.base / "crate/data.npz").exists()


@pytest.mark.parametrize("name", ["a b#c?.csv", "ü%41.csv", "<script>\"'.csv", "line\nbreak.csv", "x:y.csv"])
def test_odd_names_are_percent_encoded(study, name):
    study.job("count", {f"metrics/data/{name}": b"odd"})
    for out in (study.export("crate"), study.export("crate.zip")):
        if out.suffix == ".zip":
            with zipfile.ZipFile(out) as archive:
                assert archive.read(f"results/tiny/metrics/data/{name}") == b"odd"
        else:
            assert (out / "results/tiny/metrics/data" / name).read_bytes() == b"odd"
            file = next(one for one in metadata(out)["@graph"] if one.get("name", "").endswith(f"data/{name}"))
            assert re.fullmatch(r"results/tiny/metrics/data/[A-Za-z0-9._~%-]+", file["@id"])


def test_a_name_that_climbs_is_told_of_and_never_written(study):
    climbing = Artifact("results/tiny/../../../out.csv", sha256(b"x").hexdigest(), 1, kind=INPUT)
    study.job("count", {"metrics/data/x.csv": b"1\n"}, further=[climbing])
    found = study.described()
    assert next(one["@id"] for one in found.values() if one.get("name") == climbing.name).startswith("#file/")
    assert not (study.base.parent / "out.csv").exists()


def test_the_same_study_gives_the_same_bytes(study):
    study.job("count", {"metrics/data/x.csv": b"1\n"})
    one, other = study.export("one.zip"), study.export("other.zip")
    assert one.read_bytes() == other.read_bytes()
    assert zipfile.ZipFile(one).testzip() is None


@pytest.mark.parametrize("name", ["crate", "crate.zip"])
def test_a_file_that_is_not_what_its_statement_says_is_refused_and_nothing_is_left(study, name):
    study.job("count", {"metrics/data/x.csv": b"1\n"})
    (study.folder / "metrics/data/x.csv").write_bytes(b"2\n")
    before = sorted(study.base.iterdir())
    with pytest.raises(BadInput, match=r"x\.csv: differs from its statement"):
        study.export(name)
    assert sorted(study.base.iterdir()) == before


@pytest.mark.parametrize("is_link", [False, True])
def test_a_file_that_is_gone_or_a_link_is_told_of_and_cannot_be_embedded(is_link, study):
    study.job("count", {"metrics/data/x.csv": b"1\n"})
    secret = (study.folder / "metrics/data/x.csv").rename(study.base / "secret")
    if is_link:
        (study.folder / "metrics/data/x.csv").symlink_to(secret)
    assert "results/tiny/metrics/data/x.csv" not in study.described("told")
    with pytest.raises(BadInput, match="symbolic link" if is_link else "no such file"):
        study.export("packed", embed=True)


@pytest.mark.parametrize(
    ("out", "told"),
    [("results/tiny/crate", "lies among the results"), ("full", "already exists"), ("study.zip", "already exists")],
)
def test_nothing_is_written_over_or_among_results(study, out, told):
    (study.base / "full").mkdir()
    (study.base / "full/mine").touch()
    (study.base / "study.zip").mkdir()
    (study.base / "study.zip/mine").touch()
    with pytest.raises(BadInput, match=told):
        study.export(out)
    assert (study.base / "full/mine").exists()


def test_an_archive_is_written_anew_and_an_empty_folder_filled(study):
    (study.base / "crate").mkdir()
    (study.base / "crate.zip").write_bytes(b"before")
    assert study.described("crate")
    assert zipfile.is_zipfile(study.export("crate.zip"))


def test_what_is_no_study_with_readable_statements_is_refused(study, tmp_path):
    (tmp_path / "none").mkdir()
    with pytest.raises(BadInput, match="has no statements"):
        crate.export(tmp_path / "none", tmp_path / "crate", embed=False)
    stated = study.job("count", {"metrics/data/x.csv": b"1\n"}, parameters={"dataset": "\ud800"})
    with pytest.raises(BadInput, match="invalid Unicode"):
        study.export()
    stated.write_text("{")
    with pytest.raises(BadInput, match=r"x\.csv\.intoto\.json"):
        study.export()


def test_a_signed_statement_is_read_and_packed_as_it_is(study):
    there = study.job("count", {"metrics/data/x.csv": b"1\n"})
    payload = base64.b64encode(there.read_bytes()).decode()
    there.write_text(json.dumps({"payload": payload, "payloadType": "application/vnd.in-toto+json", "signatures": []}))
    found = study.described()
    name = "results/tiny/statements/metrics/data/x.csv.intoto.json"
    assert found[name]["about"] == {"@id": "#job/metrics/data/x.csv"}
    assert (study.base / "crate" / name).read_bytes() == there.read_bytes()


def test_the_licence_is_the_one_that_is_given_or_none_is_stated(study):
    assert study.described()["#licence"]["name"] == "no licence is stated"
    words = ["crate", str(study.folder), "--out", str(study.base / "given"), "--licence"]
    cli.main([*words, "CC-BY-4.0"])
    (root,) = [one for one in metadata(study.base / "given")["@graph"] if one["@id"] == "./"]
    assert root["license"] == {"@id": "https://spdx.org/licenses/CC-BY-4.0"}
