"""The crate of a study that was really run, held against its profile by roc-validator, with the network cut."""

import json
import shutil
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
DRIVER = Path(__file__).parent / "drivers/validate_crates.py"
KEPT = ("study.json", "data/digits.npz", "metrics/data/digits.csv", "runs/smallcnn/digits/cpu/impl/1/weights.npz")


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


def test_the_validator_sees_what_is_taken_away(copied, toolnoise, validated, tmp_path):
    """A part of the study: the validator takes its time over a large one."""
    results = copied / "results/small"
    for path in (results / "statements").rglob("*.json"):
        if path.relative_to(results / "statements").as_posix().removesuffix(".intoto.json") not in KEPT:
            path.unlink()
    done = toolnoise(copied, "crate", results, "--out", tmp_path / "whole")
    assert done.returncode == 0, done.stderr
    unnamed, incomplete = (shutil.copytree(tmp_path / "whole", tmp_path / name) for name in ("unnamed", "incomplete"))
    metadata = json.loads((unnamed / "ro-crate-metadata.json").read_text())
    (root,) = (one for one in metadata["@graph"] if one["@id"] == "./")
    root.pop("name")
    (unnamed / "ro-crate-metadata.json").write_text(json.dumps(metadata))
    (incomplete / "results/small/data/digits.npz").unlink()
    whole, unnamed, incomplete = validated(tmp_path / "whole", unnamed, incomplete)
    assert all(look["passed"] and look["issues"] == [] for look in whole.values())
    assert "MUST have a `name`" in str(unnamed["metadata"]["issues"]) and not unnamed["metadata"]["passed"]
    assert incomplete["metadata"]["passed"] and not incomplete["payload"]["passed"]
    assert "digits.npz" in str(incomplete["payload"]["issues"])
