"""A study as a research object: what is in the crate, what is only named, and what is refused."""

import json
import re
import sys
import zipfile
from pathlib import Path

import pytest
from forging import asked, definition, sha256

from toolnoise import cli
from toolnoise.base.errors import BadInput
from toolnoise.provenance import crate

WEIGHTS, DATA, COUNTS = "runs/smallcnn/digits/cpu/impl/1/weights.npz", "data/digits.npz", "metrics/data/digits.csv"


@pytest.fixture
def export(small, tmp_path):
    """Write the crate of the small study; returns its place."""

    def write(name="crate", embed=False):
        crate.export(small.root, tmp_path / name, embed)
        return tmp_path / name

    return write


def described(out):
    return {one["@id"]: one for one in json.loads((out / "ro-crate-metadata.json").read_text())["@graph"]}


def made_of(small, artifact, name, **about):
    """State that a job was made of another file, too."""
    one = {"name": name, "digest": {"sha256": sha256(b"x")}, **about}
    small.restate(artifact, lambda made: definition(made)["resolvedDependencies"].append(one))


def test_a_job_is_an_action_with_what_it_read_was_told_and_wrote(small, export):
    found, stated = described(export()), json.loads(small.original[small.stated[WEIGHTS]])
    job = found[f"#job/{WEIGHTS}"]
    assert (job["@type"], job["instrument"]) == ("CreateAction", {"@id": "#verb/train"})
    assert job["description"].startswith("toolnoise train --model ")
    assert job["startTime"] == f"{stated['predicate']['runDetails']['metadata']['startedOn'][:23]}+00:00"
    assert {one["@id"] for one in job["result"]} == {one["name"] for one in stated["subject"]}
    objects = [found[one["@id"]] for one in job["object"]]
    (data,) = [one for one in objects if one["name"] == small.name(DATA)]
    assert data["sha256"] == sha256(small.original[DATA])
    values = {one["name"]: one["value"] for one in objects if one["@type"] == "PropertyValue"}
    assert json.loads(values["spec"]) == asked(stated)["spec"]
    assert found[small.name(small.stated[WEIGHTS])]["about"] == {"@id": job["@id"]}
    mentioned = [one["@id"] for one in found["./"]["mentions"]]
    assert (mentioned[0], len(mentioned)) == ("#run", 1 + len(small.statements))
    last = {one["@id"] for one in found["#run"]["result"]}
    assert small.name("index.html") in last
    assert small.name(DATA) not in last, "jobs read it"


def test_large_files_are_referenced_unless_they_are_embedded(small, export, monkeypatch):
    monkeypatch.setattr(crate, "SMALL", len(small.original[WEIGHTS]) - 1)
    told, packed, name = export("told"), export("packed", embed=True), small.name(WEIGHTS)
    (large,) = [one for one in described(told).values() if one.get("name") == name]
    assert large["@id"].startswith("#file/")
    assert large["contentSize"] == str(len(small.original[WEIGHTS]))
    assert not (told / name).exists()
    assert (packed / name).read_bytes() == small.original[WEIGHTS]
    parts = [described(out)["./"]["hasPart"] for out in (told, packed)]
    assert ({"@id": large["@id"]} in parts[0], {"@id": name} in parts[1]) == (False, True)


def test_what_lies_outside_of_the_study_is_referenced_and_never_packed_or_written(small, export):
    address, climbing = "https://example.org/data.npz", "results/small/../../../out.csv"
    made_of(small, DATA, "data.npz", uri=address, annotations={"kind": "source"})
    made_of(small, COUNTS, climbing, annotations={"kind": "input"})
    out = export(embed=True)
    (source,) = [one for one in described(out).values() if one.get("url") == address]
    (other,) = [one for one in described(out).values() if one.get("name") == climbing]
    assert source["@id"].startswith("#file/")
    assert other["@id"].startswith("#file/")
    assert not [path for path in out.parent.rglob("*") if path.name in ("data.npz", "out.csv")]


@pytest.mark.parametrize("name", ["a b#c?.csv", "ü%41.csv", "line\nbreak.csv"])
def test_odd_names_are_percent_encoded(name, small, export):
    small.put(f"metrics/data/{name}", b"odd")
    small.state_as(f"metrics/data/{name}", COUNTS)
    out = export()
    assert (out / small.name(f"metrics/data/{name}")).read_bytes() == b"odd"
    (file,) = [one for one in described(out).values() if one.get("name") == small.name(f"metrics/data/{name}")]
    assert re.fullmatch(r"results/small/metrics/data/[A-Za-z0-9._~%-]+", file["@id"])


def test_the_same_study_gives_the_same_bytes(export):
    one, other = export("one.zip"), export("other.zip")
    assert one.read_bytes() == other.read_bytes()
    assert zipfile.ZipFile(one).testzip() is None


@pytest.mark.parametrize("name", ["crate", "crate.zip"])
def test_a_file_that_is_not_what_its_statement_says_is_refused_and_nothing_is_left(name, small, export, tmp_path):
    small.put(COUNTS, b"2\n")
    with pytest.raises(BadInput, match=r"digits\.csv: differs from its statement"):
        export(name)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_gone_or_a_link_is_referenced_and_cannot_be_embedded(small, export, tmp_path):
    small.delete(COUNTS)
    assert small.name(COUNTS) not in described(export("told"))
    with pytest.raises(BadInput, match="no such file"):
        export("packed", embed=True)
    (tmp_path / "secret").write_bytes(small.original[COUNTS])
    small.path(COUNTS).symlink_to(tmp_path / "secret")
    with pytest.raises(BadInput, match="symbolic link"):
        export("packed", embed=True)


def test_nothing_is_written_over_or_among_results(small, export, tmp_path):
    with pytest.raises(BadInput, match="lies among the results"):
        export(small.root / "crate")
    for name in ("full", "study.zip"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine").touch()
        with pytest.raises(BadInput, match="already exists"):
            export(name)
        assert (tmp_path / name / "mine").exists()


def test_what_is_no_study_with_readable_statements_is_refused(small, export, tmp_path):
    with pytest.raises(BadInput, match="has no statements"):
        crate.export(tmp_path, tmp_path.with_name("crate"), embed=False)
    small.restate(COUNTS, lambda made: asked(made).update(dataset="\ud800"))
    with pytest.raises(BadInput, match="invalid Unicode"):
        export()
    small.put(small.stated[COUNTS], b"{")
    with pytest.raises(BadInput, match=r"digits\.csv\.intoto\.json"):
        export()


def test_the_licence_is_the_one_that_is_given_or_none_is_stated(small, export, tmp_path):
    assert described(export())["#licence"]["name"] == "no licence is stated"
    cli.main(["crate", str(small.root), "--out", str(tmp_path / "given"), "--licence", "CC-BY-4.0"])
    assert described(tmp_path / "given")["./"]["license"] == {"@id": "https://spdx.org/licenses/CC-BY-4.0"}


# The crate of a study that was really run, held against its profile by roc-validator, with the network cut


DRIVER = Path(__file__).parent / "drivers/validate_crates.py"


@pytest.fixture(scope="module")
def validated(run, tmp_path_factory):
    """What the validator finds in crates, in a home of its own."""

    def look(*crates):
        home = tmp_path_factory.mktemp("home")
        environment = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
        done = run(home, sys.executable, DRIVER, *crates, env=environment)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    return look


@pytest.mark.long
def test_a_study_is_a_provenance_run_crate(copied, toolnoise, validated):
    done = toolnoise(copied, "crate", "results/small", "--out", "crate.zip")
    assert done.returncode == 0, done.stdout + done.stderr
    jobs = list((copied / "results/small/statements").rglob("*.intoto.json"))
    assert f"{len(jobs)} jobs" in done.stdout
    (found,) = validated(copied / "crate.zip")
    for look in ("metadata", "payload"):
        assert found[look]["issues"] == [] and found[look]["passed"]
    # What one look left out, the other saw.
    assert set(found["metadata"]["skipped"]) <= set(found["payload"]["run"])
    assert set(found["payload"]["skipped"]) <= set(found["metadata"]["run"])
    assert any(check.startswith("provenance-run-crate-0.5") for check in found["metadata"]["run"])
