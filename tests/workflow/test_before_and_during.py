"""What a person asks before a study is run and while it runs: speed, estimate, and what a machine lacks."""

import json
import shutil
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long


def one_cell(*hardware):
    block = {"models": ["smallcnn"], "datasets": ["digits"], "recipe": "here", "hardware": list(hardware)}
    return {
        "study": "one",
        "grid": [block | {"variants": ["control"], "seeds": 2}],
        "recipes": {"here": {"epochs": 50, "batch_size": 64, "learning_rate": 0.01}},
    }


def test_an_estimate_before_anything_was_measured_runs_nothing_and_says_unknown(write_study, toolnoise, tmp_path):
    folder = write_study(tmp_path, one_cell("cpu"))
    done = toolnoise(folder, "estimate", "--study", "study.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "cpu: 2 runs left, core-hours and cost unknown" in done.stdout
    assert [path.name for path in folder.iterdir()] == ["study.yaml"]


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


def test_measuring_by_hand_prepares_the_data_and_times_what_this_machine_serves(write_study, toolnoise, tmp_path):
    folder = write_study(tmp_path, one_cell("cpu", "tpu-v2-8"))
    done = toolnoise(folder, "estimate", "--study", "study.yaml", "--measure")
    assert done.returncode == 0, done.stderr
    assert "timing smallcnn/digits/cpu/control" in done.stderr
    assert "not timed: smallcnn/digits/tpu-v2-8/control: device: no TPU is visible on this machine" in done.stderr
    assert "tpu-v2-8: 2 runs left, TPU-hours and cost unknown" in done.stdout
    assert "steps timed: " in done.stdout


def test_a_finished_study_has_nothing_left(small_study, toolnoise):
    done = toolnoise(small_study, "estimate", "--study", "results/small/study.json", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {(task["left"], task["seconds_left"]) for task in found["tasks"]} == {(0, 0)}
    assert all(task["measured"].startswith("finished runs: ") for task in found["tasks"])
    assert found["disk_bytes"]["unknown"] == []


def test_a_run_on_a_machine_without_its_device_fails_and_its_log_says_why(write_study, snakemake, tmp_path):
    folder = write_study(tmp_path, one_cell("v100"))
    run = "smallcnn/digits/v100/control/1"
    done = snakemake(folder, f"results/one/runs/{run}/run.json", env={"CUDA_VISIBLE_DEVICES": "-1"})
    assert done.returncode == 1
    wanted = "toolnoise: hardware v100: device: no GPU is visible on this machine; wanted: V100; "
    assert (folder / f"logs/one/train/{run}.log").read_text().startswith(wanted)


def test_what_programs_get_can_be_cut_short_without_a_traceback(small_study, run):
    script = Path(sys.executable).with_name("toolnoise")
    done = run(small_study, "bash", "-c", f"set -o pipefail; {script} summary --json | true")
    assert "Traceback" not in done.stderr
