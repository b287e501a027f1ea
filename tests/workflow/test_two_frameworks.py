"""Two frameworks train the same network from the same bits, and predict what the other has trained."""

import shutil

import numpy as np
import pytest

from toolnoise.base import metric_files
from toolnoise.dumps import stacks
from toolnoise.formulas.stability import STABILITY
from toolnoise.papers.frameworks.cross_tooling import CROSS_TOOLING
from toolnoise.papers.frameworks.metric import FRAMEWORKS, PARTINGS

pytest.importorskip("jax")

CELL, OTHER = "smallcnn/mine/cpu/control", "smallcnn/mine/cpu-jax/control"


@pytest.fixture(scope="module")
def two(other_study):
    """The study's folder, run to its page; read-only."""
    return other_study


@pytest.fixture(scope="module")
def results(two):
    return two / "results/other"


def test_each_framework_repeats_itself_exactly_and_the_two_differ(results):
    within = metric_files.read(results / "metrics/stability.csv", STABILITY)
    within = within[within["variant"] == "control"]
    for metric in ("churn", "l2_unit"):
        mine = within[within["metric"] == metric]
        assert dict(zip(mine["hardware"], mine["value"], strict=True)) == {"cpu": 0, "cpu-jax": 0}
    rows = metric_files.read(results / "metrics/cross_tooling.csv", CROSS_TOOLING).set_index("metric")["value"]
    assert rows["l2_unit"] > 0


def test_runs_are_predicted_elsewhere_within_rounding_and_not_by_the_framework_that_trained_them(results):
    rows = metric_files.read(results / "metrics/frameworks.csv", FRAMEWORKS)
    # Two replicates of equal bits are one run.
    assert set(zip(rows["interval"], rows["n_runs"], strict=True)) == {("examples", 1)}
    relative = rows[rows["metric"] == "logits_relative_difference"]
    assert list(relative["hardware"]) == ["cpu", "cpu-jax"]
    assert ((relative["value"] > 0) & (relative["value"] < 1e-5)).all()
    for trained, own, other in (("cpu", CELL, "cpu-jax"), ("cpu-jax", OTHER, "cpu")):
        here = stacks.read_predictions(results / f"predictions/{own}.npy", results / f"predictions/{own}.json")
        away = f"exchanged/{own}/{other}"
        there = stacks.read_predictions(results / f"{away}.npy", results / f"{away}.json")
        assert there.seeds == here.seeds
        assert np.allclose(here.logits, there.logits, rtol=1e-3, atol=1e-4)
        index = (results / f"{away}.json").read_text()
        assert f'"trained_on": "{trained}"' in index


def test_where_and_when_they_part_is_told_of_every_tensor(results):
    rows = metric_files.read(results / "metrics/partings.csv", PARTINGS)
    parted = rows[rows["metric"] == "parted"].set_index("what")["value"]
    assert parted["any"] == 1
    assert {"conv1/kernel", "logits/bias", "train_loss", "test_accuracy"} <= set(parted.index)
    text = (results / "figures/partings-smallcnn-mine.md").read_text()
    assert "TensorFlow ↔ JAX, Control" in text
    identical = (results / "figures/identical_runs.md").read_text()
    for name in (", TensorFlow 2.", ", JAX 0."):
        assert name in identical


def test_a_finished_study_plans_nothing_is_clean_and_an_exchange_can_be_made_again(two, planned, toolnoise):
    assert planned(two) == {}
    done = toolnoise(two, "audit")
    assert done.returncode == 0, done.stdout
    done = toolnoise(
        two, "rebuild", f"results/other/exchanged/{CELL}/cpu-jax.npy", "results/other/metrics/partings.csv"
    )
    assert done.stdout.splitlines()[-1] == "2 reproduced", done.stdout


def test_changed_code_of_one_framework_trains_with_that_one_and_exchanges_anew(two, checkout, planned, tmp_path):
    tree = shutil.copytree(checkout, tmp_path / "changed")
    with (tree / "workflow/toolnoise/engines/jax.py").open("a") as file:
        file.write("\nchanged = True\n")
    jobs = planned(two, source=tree)
    assert (jobs["train_run"], jobs["dump_predictions"], jobs["exchange_predictions"]) == (2, 1, 2)


def test_an_exchange_with_the_same_framework_is_one_line(two, toolnoise, refusal):
    options = ["--model", "smallcnn", "--dataset", "mine", "--hardware", "cpu", "--other-hardware", "cpu"]
    options += ["--variant", "control", "--data", "x", "--records", "x", "--logits", "x", "--index", "x"]
    line = refusal(toolnoise(two, "predict-elsewhere", "--study", "results/other/study.json", *options))
    assert "grid: no predict-elsewhere of smallcnn/mine/cpu/cpu/control" in line
