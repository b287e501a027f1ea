"""Slim copies, without weights, dumps and data: audited by digest, and what is left out can be made again."""

import json
import shutil

import pytest


@pytest.fixture(scope="module")
def slim(small_study, toolnoise, tmp_path_factory):
    """A folder with a slim copy of the small study in `evidence`."""
    folder = tmp_path_factory.mktemp("slim")
    done = toolnoise(small_study, "slim", "results/small", "--out", folder / "evidence/small")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def changed(slim, tmp_path):
    return shutil.copytree(slim, tmp_path / "copy")


def audited(toolnoise, folder):
    done = toolnoise(folder, "audit", "evidence", "--json")
    return done.returncode, json.loads(done.stdout)


def test_a_slim_copy_is_summarised_where_it_lies(slim, small_study, toolnoise):
    told = toolnoise(small_study, "summary", "--study", "results/small/study.json")
    done = toolnoise(slim, "summary", "--study", "evidence/small/study.json")
    assert done.returncode == 0, done.stderr
    assert "smallcnn" in done.stdout
    assert done.stdout == told.stdout.replace("results/small", "evidence/small")


def test_a_slim_copy_has_no_arrays_and_its_audit_is_clean_and_says_so(slim, toolnoise):
    left_out = json.loads((slim / "evidence/small/left-out.json").read_text())
    assert {path.rpartition(".")[2] for path in left_out} == {"npy", "npz", "ipynb"}
    assert not list(slim.rglob("*.np[yz]"))
    code, found = audited(toolnoise, slim)
    assert (code, found["clean"], found["findings"]) == (0, True, [])
    assert any(f"{len(left_out)} files are left out of this copy" in note for note in found["notes"])


def test_what_is_left_out_has_the_stated_digest_and_nothing_else_may_be_missing(changed, toolnoise):
    path = changed / "evidence/small/left-out.json"
    left_out = json.loads(path.read_text())
    forged, lost = list(left_out)[:2]
    path.write_text(json.dumps({name: "0" * 64 if name == forged else digest for name, digest in left_out.items()}))
    (changed / "evidence/small/metrics/stability.csv").unlink()
    code, found = audited(toolnoise, changed)
    of = {(one["rule"], one["artifact"]) for one in found["findings"]}
    assert code == 1
    assert ("every-output-is-there", f"results/small/{forged}") in of
    assert ("study-is-complete", "results/small/metrics/stability.csv") in of
    path.write_text(json.dumps({name: digest for name, digest in left_out.items() if name != lost}))
    assert ("study-is-complete", f"results/small/{lost}") in {
        (one["rule"], one["artifact"]) for one in audited(toolnoise, changed)[1]["findings"]
    }
    path.write_text("[]")
    assert ("only-plain-files", "results/small/left-out.json") in {
        (one["rule"], one["artifact"]) for one in audited(toolnoise, changed)[1]["findings"]
    }


def test_a_run_is_made_again_from_a_slim_copy_after_its_data(slim, toolnoise):
    done = toolnoise(slim, "rebuild", "evidence/small/runs/smallcnn/digits/cpu/control/2")
    assert done.returncode == 0, done.stderr
    assert "first prepare results/small/data/digits.npz, which is left out here" in done.stderr
    assert done.stdout.splitlines()[-1] == "1 reproduced"


def test_a_slim_copy_is_of_unchanged_results_in_a_new_folder(copied, toolnoise, refusal):
    stability = copied / "results/small/metrics/stability.csv"
    stability.write_text(stability.read_text() + " ")
    line = refusal(toolnoise(copied, "slim", "results/small", "--out", "evidence"))
    assert "metrics/stability.csv: differs from its statement" in line
    assert not (copied / "evidence").exists()
    line = refusal(toolnoise(copied, "slim", "results/small", "--out", "results"))
    assert line == "toolnoise: command line: --out: results exists; expected: a new folder"
