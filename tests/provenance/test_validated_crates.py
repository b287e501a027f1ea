"""The crate of a study that was really run, held against its profile by roc-validator, with the network cut."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from toolnoise.provenance.crate import WORKFLOW

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
DRIVER = Path(__file__).parent / "drivers/validate_crates.py"
KEPT = ("study.json", "data/digits.npz", "metrics/data/digits.csv", "runs/smallcnn/digits/cpu/impl/1/weights.npz")


@pytest.fixture(scope="module")
def validated(run, tmp_path_factory):
    """What the validator finds in crates, in a home of its own."""

    def look(*crates, cache="warm", looks="metadata,payload"):
        home = tmp_path_factory.mktemp("home")
        environment = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
        done = run(home, sys.executable, DRIVER, cache, looks, *crates, env=environment)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    return look


@pytest.fixture(scope="module")
def few_jobs(small_study, tmp_path_factory, toolnoise):
    """The crate of a part of the study: the validator takes its time over a large one."""
    folder = tmp_path_factory.mktemp("few") / "results/small"
    shutil.copytree(small_study / "results/small", folder, ignore=shutil.ignore_patterns("statements"))
    for name in KEPT:
        there = folder / f"statements/{name}.intoto.json"
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(small_study / f"results/small/statements/{name}.intoto.json", there)
    done = toolnoise(folder, "crate", folder, "--out", folder.parent.parent / "crate")
    assert done.returncode == 0, done.stderr
    return folder.parent.parent / "crate"


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


def test_results_of_earlier_versions_have_a_crate(validated, toolnoise, tmp_path):
    done = toolnoise(tmp_path, "crate", ROOT / "evidence/gpu-cost-h200.tar.xz", "--out", "crate")
    assert done.returncode == 0, done.stderr
    # A verb that this version does not have.
    assert "#verb/compare-cells" in (tmp_path / "crate/ro-crate-metadata.json").read_text()
    (found,) = validated(tmp_path / "crate")
    assert [look["issues"] for look in found.values()] == [[], []]
    assert all(look["passed"] for look in found.values())


def test_without_the_context_nothing_passes(few_jobs, validated):
    (found,) = validated(few_jobs, cache="cold")
    for look in found.values():
        assert not look["passed"]
        assert "Unable to retrieve the JSON-LD context" in str(look["issues"])


def at(identifier):
    return lambda graph: graph[identifier]


def job(graph):
    return next(one for one in graph.values() if one["@id"].startswith("#job/"))


def without(entity, key):
    return lambda graph: entity(graph).pop(key)


def unstated(graph):
    graph["./"]["conformsTo"] = [one for one in graph["./"]["conformsTo"] if "provenance" not in one["@id"]]


def nonsense(graph):
    graph["./"]["nonsense"] = "no term of any context"


# What is taken away, and what the validator says of it. Those of a crate do not hide each other.
REQUIRED = [
    (without(at("./"), "name"), "MUST have a `name`"),
    (without(at("./"), "license"), "must specify a license"),
    (without(at("./"), "datePublished"), "MUST have a `datePublished`"),
    (unstated, "versioned permalink of the Provenance Run Crate profile"),
    (without(at(WORKFLOW), "hasPart"), "MUST refer to orchestrated tools via hasPart"),
    (without(at(WORKFLOW), "programmingLanguage"), "must refer to its language"),
    (without(job, "instrument"), "The Action MUST have an instrument"),
]
MUTATED = {
    "required": REQUIRED,
    "main": [(without(at("./"), "mainEntity"), "Main Workflow must be specified")],
    "term": [(nonsense, '"nonsense" is not allowed')],
}


def test_what_the_profile_requires_is_missed_if_it_is_taken_away(few_jobs, validated, tmp_path):
    for name, mutations in MUTATED.items():
        crate = shutil.copytree(few_jobs, tmp_path / name)
        metadata = json.loads((crate / "ro-crate-metadata.json").read_text())
        for mutate, _ in mutations:
            mutate({one["@id"]: one for one in metadata["@graph"]})
        (crate / "ro-crate-metadata.json").write_text(json.dumps(metadata))
    incomplete = shutil.copytree(few_jobs, tmp_path / "incomplete")
    (incomplete / "results/small/data/digits.npz").unlink()
    whole, incomplete = validated(few_jobs, incomplete)
    # What is taken away is not missed in the payload, so one look is enough.
    mutated = validated(*(tmp_path / name for name in MUTATED), looks="metadata")
    assert all(look["passed"] and look["issues"] == [] for look in whole.values())
    overlooked = [
        (name, told)
        for (name, mutations), found in zip(MUTATED.items(), mutated, strict=True)
        for _, told in mutations
        if not any(severity == "REQUIRED" and told in message for severity, message in found["metadata"]["issues"])
    ]
    assert overlooked == []
    assert not any(look["passed"] for found in mutated for look in found.values())
    assert incomplete["metadata"]["passed"] and not incomplete["payload"]["passed"]
    assert "digits.npz" in str(incomplete["payload"]["issues"])


def test_a_crate_that_is_refused_says_so_in_one_line(copied, toolnoise, refusal):
    figure = copied / "results/small/figures/table2.csv"
    figure.write_bytes(figure.read_bytes().replace(b"0", b"1", 1))
    line = refusal(toolnoise(copied, "crate", "results/small", "--out", "crate"))
    assert "table2.csv: differs from its statement" in line and "audit" in line
    assert not (copied / "crate").exists()
    assert "already exists" in refusal(toolnoise(copied, "crate", "results/small", "--out", "logs"))
