"""A study of 1,000 runs in two parts: each site has a tooling. Combined, it is the study that one site would have made.

Nothing is trained: the runs and the dumps are invented, and what follows from them is computed and stated as usual.
"""

import shutil
import sys
from pathlib import Path

import pytest

DRIVER = Path(__file__).parent / "drivers/invent.py"
RESULTS = "results/invented"
# What has the time at which it was made, or the log of a notebook's execution.
TIMES = ("statements/", "page/statements.js", "page/audit.js", "notebooks/")


@pytest.fixture(scope="module")
def places(tmp_path_factory, run, snakemake, toolnoise):
    """The study made at one place, and the study of two sites, put together at the second."""
    folder = tmp_path_factory.mktemp("places")
    parts = [("one", "cpu"), ("one", "cpu-eigen"), ("first", "cpu", "only"), ("second", "cpu-eigen", "only")]
    for place, *tooling in parts:
        done = run(folder, sys.executable, DRIVER, folder / place, *tooling)
        assert done.returncode == 0, done.stdout + done.stderr
    done = toolnoise(folder / "first", "export", RESULTS, "--out", folder / "first.tar")
    assert done.stdout == "exported 500 runs, 2 dumps of predictions\n", done.stderr
    shutil.copyfile(folder / "one/study.yaml", folder / "second/study.yaml")
    done = toolnoise(folder / "second", "import", folder / "first.tar", "--study", "study.yaml")
    assert done.stdout == "imported 500 runs, 2 dumps of predictions\n", done.stderr
    for place in ("one", "second"):
        done = snakemake(folder / place)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "train_run" not in done.stdout + done.stderr
    return folder / "one" / RESULTS, folder / "second" / RESULTS


def contents(root):
    names = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in names.items() if not name.startswith(TIMES)}


def test_the_study_of_two_sites_has_the_bytes_of_the_study_of_one(places):
    one, together = map(contents, places)
    assert len([name for name in one if name.endswith("run.json")]) == 1_000
    assert {"metrics/stability.csv", "metrics/runs.csv", "figures/table2.csv", "study.json"} <= one.keys()
    assert one.keys() == together.keys()
    assert [name for name in one if one[name] != together[name]] == []


def test_the_study_of_two_sites_is_audited_as_one(places, toolnoise):
    for results in places:
        audit = toolnoise(results.parents[1], "audit", "--strict")
        assert audit.returncode == 0, audit.stdout + audit.stderr
        assert audit.stdout.splitlines()[-1] == "clean"
