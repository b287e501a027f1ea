"""bench/gpu.py: each study that waits for a GPU runs small on CPUs to its end."""

import shlex
import sys
from pathlib import Path

import pytest
import yaml
from scripts import loaded

from toolnoise.study import config, grid

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "bench/gpu.py"
# What makes a study long, and how much of it a trial has at most.
FEW = {"seeds": 2, "draws": 2, "control_seeds": 2}
TIMED = {"batch_size": 8, "image_size": 64, "warmup": 1, "steps": 3, "repeats": 2}


@pytest.fixture(scope="module")
def gpu():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [*sys.path])
        return loaded(SCRIPT)


def small_version(whole):
    """The content of a trial's study file: every block and variant of a study, in few runs of embedded data."""
    recipes, hardware = (config.registered(name) | {**whole.get(name, {})} for name in ("recipes", "hardware"))

    def few(block, most):
        on_cpu = sorted({f"cpu-{hardware[name]['engine']}" for name in block["hardware"]})
        return {**block, **{key: min(block[key], most[key]) for key in most.keys() & block.keys()}, "hardware": on_cpu}

    made = {**whole, "study": f"{whole['study']}-trial", "datasets": {}}
    made["grid"] = [few(block, FEW) | {"datasets": ["digits"]} for block in whole["grid"]]
    made["recipes"] = {name: {**recipes[name], "epochs": 2} for name in whole.get("recipes", {})}
    if "overhead" in whole:
        made["overhead"] = few(whole["overhead"], {}) | TIMED | {"models": whole["overhead"]["models"][:2]}
    return made


@pytest.fixture
def trial(run, tmp_path):
    def start(study, *options):
        small = small_version(config.read_yaml(ROOT / f"workflow/studies/{study}.yaml"))
        (tmp_path / "small.yaml").write_text(yaml.safe_dump(small))
        done = run(tmp_path, sys.executable, SCRIPT, "run", "--study", "small.yaml", *options)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return start


@pytest.mark.parametrize("number", range(3))
def test_a_study_that_waits_for_a_gpu_runs_small_on_cpus_to_its_end(number, gpu, trial, skip_without, tmp_path):
    study, options, _ = gpu.ITEMS[number]
    words = shlex.split(options)
    for framework in ("jax", "torch"):
        if "--frameworks" not in words or framework in words:
            skip_without(framework)
    said = trial(study, *words, "--jobs", "2", "--minutes", "30")
    assert "failed: " not in said
    here = grid.load(tmp_path / f"results/{study}-trial/study.json")
    frameworks = [name for name in ("jax", "torch") if name in words] or ["jax", "torch"]
    for verb in (gpu.PARTS[part] for part in words if part in gpu.PARTS):
        jobs = [job for job in gpu.Work(here).jobs if job.verb == verb]
        ours = [job for job in jobs if here.tooling(job.place.hardware)["engine"] in frameworks]
        assert f"{verb}: {len(ours)} of {len(jobs)} done" in said
        assert ours


def test_a_piece_without_time_runs_nothing_and_says_what_is_left(trial, skip_without):
    skip_without("jax")
    said = trial("gpu-cost", "--parts", "cost", "--minutes", "0")
    assert "measure-overhead: 0 of " in said
