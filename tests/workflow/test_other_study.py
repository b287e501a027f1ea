"""A study of data from outside on two frameworks, with remedies, layers, growth, overhead and speed, to its page.

The numbers of each measure have tests of their own: here they come from real runs, and what is changed runs again.
"""

import json
import shutil

import numpy as np
import pytest

from toolnoise.base import metric_files
from toolnoise.dumps import stacks
from toolnoise.papers.frameworks.measure import FRAMEWORKS, PARTINGS
from toolnoise.papers.remedies import REMEDIES

pytest.importorskip("jax")

CELL, OTHER = "smallcnn/mine/cpu/control", "smallcnn/mine/cpu-jax/control"
REMEDIED = ["flip", "snapshots", "snapshots+flip"]


@pytest.fixture(scope="module")
def results(other_study):
    return other_study / "results/other"


def test_runs_are_predicted_elsewhere_within_rounding_and_not_by_the_framework_that_trained_them(results):
    rows = metric_files.read_metrics(results / "metrics/frameworks.csv", FRAMEWORKS)
    # Two replicates of equal bits are one run.
    assert set(zip(rows["interval"], rows["n_runs"], strict=True)) == {("examples", 1)}
    relative = rows[rows["metric"] == "logits_relative_difference"]
    assert list(relative["hardware"]) == ["cpu", "cpu-jax"]
    assert ((relative["value"] > 0) & (relative["value"] < 1e-5)).all()
    for own, other in ((CELL, "cpu-jax"), (OTHER, "cpu")):
        here = stacks.read_predictions(results / f"predictions/{own}.npy", results / f"predictions/{own}.json")
        away = f"exchanged/{own}/{other}"
        there = stacks.read_predictions(results / f"{away}.npy", results / f"{away}.json")
        assert there.seeds == here.seeds
        assert np.allclose(here.logits, there.logits, rtol=1e-3, atol=1e-4)
        index = json.loads((results / f"{away}.json").read_text())
        assert (index["trained_on"], index["spec"]["hardware"]["name"]) == (own.split("/")[2], other)


def test_where_and_when_they_part_is_told_of_every_tensor(results):
    rows = metric_files.read_metrics(results / "metrics/partings.csv", PARTINGS)
    parted = rows[rows["metric"] == "parted"].set_index("what")["value"]
    assert parted["any"] == 1
    assert {"conv1/kernel", "logits/bias", "train_loss", "test_accuracy"} <= set(parted.index)
    assert "TensorFlow ↔ JAX, Control" in (results / "figures/partings-smallcnn-mine.md").read_text()


def test_remedies_are_those_of_the_block_and_of_snapshots(other_study, results):
    assert json.loads((results / f"remedies/{CELL}.json").read_text())["remedies"] == REMEDIED
    rows = metric_files.read_metrics(results / "metrics/remedies.csv", REMEDIES)
    assert list(rows[rows["metric"] == "variability_reduction"]["remedy"]) == REMEDIED
    # A log has no bars.
    log = (other_study / f"logs/other/remedy/{CELL}.log").read_text()
    assert not {"\r", "%"} & set(log)


def test_a_finished_study_plans_nothing_and_its_dumps_and_measures_can_be_made_again(other_study, planned, toolnoise):
    assert planned(other_study, "all", "speed") == {}
    made = (
        f"exchanged/{CELL}/cpu-jax.npy",
        "metrics/partings.csv",
        f"remedies/{CELL}.npy",
        f"metrics/remedies/{CELL}.csv",
    )
    done = toolnoise(other_study, "rebuild", *(f"results/other/{name}" for name in made))
    assert done.stdout.splitlines()[-1] == "4 reproduced", done.stdout


def test_what_is_added_to_a_study_is_measured_alone_and_trains_nothing(other_study, planned, change_study, tmp_path):
    shutil.copytree(other_study, tmp_path / "copy", symlinks=True)
    change_study(tmp_path / "copy", lambda study: study["overhead"].update(repeats=2))
    change_study(tmp_path / "copy", lambda study: study["grid"][0].update(remedies=["flip", "crops9"]))
    jobs = planned(tmp_path / "copy", "all")
    assert (jobs["profile_step"], jobs["dump_remedies"], jobs["measure_remedies"]) == (2, 1, 1)
    assert not {"train_run", "dump_predictions", "measure_cell", "check_control"} & set(jobs)


@pytest.mark.long
def test_the_measured_speed_of_a_training_is_the_estimate_of_its_runs(other_study, change_study, toolnoise, tmp_path):
    folder = shutil.copytree(other_study, tmp_path / "copy")
    shutil.rmtree(folder / "results/other/runs")
    change_study(folder, lambda study: study.update(prices={"cpu": 2.5}))
    done = toolnoise(folder, "estimate", "--study", "study.yaml", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    seconds = json.loads((folder / "results/other/speed/smallcnn/mine/cpu/control.json").read_text())["seconds"]
    tasks = [task for task in found["tasks"] if task["measured"].startswith("steps timed: ")]
    a_run = seconds["start_up"] + seconds["compile"]
    a_run += 2 * (seconds["training"] + seconds["evaluation"] + seconds["digests"])
    assert any(task["seconds_a_run"] == pytest.approx(a_run) for task in tasks)
    (priced,) = (one for one in found["hardware"] if one["cost"] is not None)
    assert priced["cost"] == pytest.approx(2.5 * priced["hours"])
