"""bench/gpu.py trial: each study that waits for a GPU runs small on CPUs to its end, and says so if it does not."""

import shlex
import sys
from pathlib import Path

import pytest
from scripts import loaded

from toolnoise.study import grid

ROOT = Path(__file__).parents[2]
gpu_queue = loaded(ROOT / "bench/gpu_queue.py")
COMMANDS = {item.needs: shlex.split(item.command) for item in gpu_queue.ITEMS if "--study" in item.command}


# What a study is for, beside the noise of each cell: a folder of metric files.
FOR = {"gpu-cost": "overhead", "gpu-growth": "growth", "gpu-language": "language"}


def parts(command):
    """The parts of a study that a command runs."""
    return command[command.index("--parts") + 1 : command.index("--jobs")]


@pytest.fixture
def trial(run, tmp_path):
    def start(study, *arguments):
        script = ROOT / "bench/gpu.py"
        return run(tmp_path, sys.executable, script, "trial", "--study", ROOT / study, *arguments)

    return start


@pytest.mark.in_turn
@pytest.mark.parametrize("study", COMMANDS)
def test_a_study_that_waits_for_a_gpu_runs_small_on_cpus_to_its_end(study, trial, skip_without, tmp_path):
    for tooling in grid.load(ROOT / study).config["hardware"].values():
        skip_without(tooling["engine"])
    done = trial(study, "--parts", *parts(COMMANDS[study]), "--jobs", "2", "--minutes", "30")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith(f"\n{Path(study).stem}-trial came to its end\n")
    assert "failed: " not in done.stdout
    measured = tmp_path / f"results/{Path(study).stem}-trial/metrics"
    assert any((measured / FOR.get(Path(study).stem, "cells")).rglob("*.csv"))


def test_a_trial_that_did_not_come_to_its_end_names_what_is_left(trial, skip_without):
    skip_without("jax")
    done = trial("workflow/studies/gpu-cost.yaml", "--parts", "cost", "--minutes", "0")
    assert done.returncode == 1
    assert done.stderr.startswith("gpu-cost-trial did not come to its end: measure-overhead "), done.stderr
    assert "mediumcnn-k1/cpu-jax" in done.stderr
