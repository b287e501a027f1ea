"""`toolnoise init` and `toolnoise run` on a real Slurm, typed in a folder with nothing but a PyTorch program."""

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from toolnoise.base.program import ROOT

VARIANTS = ("control", "impl", "algo", "algo_impl")
SEEDS = 2
# A tooling that names the scheduler's model of GPU. The node has none, so the program computes on its CPU.
ON_A_GPU_S_NODE = """
  - { models: [mine], datasets: [outcome], hardware: [mine-v100], variants: [control], seeds: 2 }
hardware:
  mine-v100: { engine: command, accelerator: cpu, gpu_model: v100 }
"""


@pytest.fixture(scope="module")
def folder(cluster, toolnoise, skip_without, tmp_path_factory):
    """A folder outside the clone in which the two commands have been typed, and what they printed."""
    skip_without("torch")
    folder = tmp_path_factory.mktemp("mine")
    shutil.copy(ROOT / "examples/torch_digits.py", folder / "train.py")
    # The program's interpreter is the one that PATH names, as in an activated environment.
    env = cluster.env | {"PATH": f"{Path(sys.executable).parent}:{cluster.env['PATH']}"}
    made = toolnoise(folder, "init", env=env)
    assert made.returncode == 0, made.stderr
    study = folder / "study.yaml"
    text = study.read_text()
    assert "seeds: 5" in text
    study.write_text(text.replace("seeds: 5", f"seeds: {SEEDS}") + ON_A_GPU_S_NODE)
    # The profile first asks Slurm how jobs stand after 40 s, and waits a minute for files of another node.
    hurry = ("--slurm-init-seconds-before-status-checks", "3", "--latency-wait", "10")
    # This Slurm has no accounting.
    hurry += ("--slurm-status-command", "squeue")
    # A job for each training, but at most two at a time, as this machine has two cores.
    done = toolnoise(folder, "run", "--profile", "slurm", "--jobs", "2", *hurry, env=env)
    (folder / "said.txt").write_text(done.stdout + done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def results(folder):
    (results,) = (folder / "results").iterdir()
    return results


def records(results, tooling):
    """What each run on a tooling says of the machine, by the run's folder."""
    return {path.parent: json.loads(path.read_text()) for path in results.glob(f"runs/*/*/{tooling}/*/*/run.json")}


def test_every_training_was_a_job_of_slurm_of_its_own_on_a_node_without_gpus(results, cluster):
    runs = records(results, "command")
    assert {(path.parts[-2], path.parts[-1]) for path in runs} == {
        (variant, str(seed)) for variant in VARIANTS for seed in range(1, SEEDS + 1)
    }
    jobs = {record["observed"]["slurm"]["SLURM_JOB_ID"] for record in runs.values()}
    assert len(jobs) == len(runs)
    for job in jobs:
        told = cluster.finished()[job]
        assert (told["JobState"], told["Partition"], told["NodeList"]) == ("COMPLETED", "cpu", "cpu1")


def test_a_tooling_with_a_model_of_gpu_is_a_job_on_that_model_s_node_with_one_of_them(results, cluster):
    told = [
        cluster.jobs()[record["observed"]["slurm"]["SLURM_JOB_ID"]] for record in records(results, "mine-v100").values()
    ]
    assert [(job["Partition"], job["NodeList"]) for job in told] == [("v100", "gpu2")] * 2
    assert all(job["TresPerJob"].endswith("gpu:v100:1") for job in told)


def test_the_page_is_there_the_summary_was_printed_and_the_audit_is_clean(folder, results, toolnoise):
    linked = set(re.findall(r'href="(page/[^"#]+\.html)"', (results / "index.html").read_text()))
    written = {str(page.relative_to(results)) for page in results.glob("page/**/*.html")}
    assert linked == written and len(written) == len(VARIANTS) + 1
    said = (folder / "said.txt").read_text()
    assert f"the page: {results.relative_to(folder)}/index.html" in said
    assert "bit-equal" in said
    audit = toolnoise(folder, "audit", results.relative_to(folder))
    assert audit.returncode == 0, audit.stdout
