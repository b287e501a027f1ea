"""A small study through the profile for Grid Engine, on a real one: what ran where, and what accidents do to it.

The registry's GPU entries compute on the CPU here; the scheduler's name of their GPU stays, so that jobs are routed as
on a cluster that has them.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

ON_THE_CPU = {"accelerator": "cpu", "precision": "float32", "impl_noise": "reduction-order"}
BLOCK = {"datasets": ["digits"], "recipe": "quick", "variants": ["algo_impl"]}
# `cancelled` waits for ever when it is first tried; `overdue`, too, and nobody cancels it.
STUDY = {
    "study": "small",
    "grid": [
        BLOCK | {"models": ["smallcnn"], "hardware": ["v100"], "variants": ["algo_impl", "control"], "seeds": 2},
        BLOCK | {"models": ["cancelled"], "hardware": ["p100"], "seeds": 1},
        BLOCK | {"models": ["overdue"], "hardware": ["t4"], "seeds": 1, "minutes": 1},
    ],
    "figures": ["table2"],
    "recipes": {"quick": {"epochs": 2, "batch_size": 64, "learning_rate": 0.01}},
    "hardware": dict.fromkeys(("v100", "p100", "t4"), ON_THE_CPU),
    "models": {
        name: {"builder": "waits_once:build", "options": {"note": f"{name}.txt"}} for name in ("cancelled", "overdue")
    },
}
# What the test's cluster calls memory.
SUBMIT = "python -m toolnoise_grid_engine.submit --memory room"
ON_TOOLINGS = ("check_model", "train_run", "dump_predictions")


@pytest.fixture(scope="module")
def small(cluster, checkout, tmp_path_factory):
    """The study in a clone, finished, with a job that was cancelled on the way by somebody."""
    clone = tmp_path_factory.mktemp("grid") / "clone"
    shutil.copytree(checkout, clone, symlinks=True)
    shutil.copy(Path(__file__).parents[1] / "slurm/waits_once.py", clone)
    (clone / "study.yaml").write_text(yaml.safe_dump(STUDY, sort_keys=False))
    command = [sys.executable, "-m", "snakemake", "--profile", "grid-engine", "--configfile", "study.yaml"]
    command += ["--config", "only=[v100, p100, t4]", "--cluster-generic-submit-cmd", SUBMIT, "--jobs", "8"]
    command += ["--latency-wait", "10"]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = os.environ | cluster.env | {"PYTHONPATH": str(clone / "workflow"), "PATH": path}
    with (clone / "said.txt").open("w") as said:
        snakemake = subprocess.Popen(command, cwd=clone, env=env, stdout=said, stderr=said)
    try:
        _wait_for(clone / "cancelled.txt", snakemake)
        cluster.call("qdel", (clone / "cancelled.txt").read_text())
        code = snakemake.wait(1200)
    finally:
        snakemake.kill()
        snakemake.wait()
    assert code == 0, (clone / "said.txt").read_text()
    return clone


def _wait_for(path, snakemake):
    deadline = time.monotonic() + 300
    while not (path.exists() and path.read_text()):
        said = (path.parent / "said.txt").read_text()
        assert snakemake.poll() is None, said
        assert time.monotonic() < deadline, said
        time.sleep(0.5)


def test_every_job_that_computes_on_a_tooling_ran_in_its_queue_with_its_gpu(small, cluster):
    ended = {job["jobnumber"]: job for job in cluster.ended()}
    paths = [
        path for folder in ("models", "runs", "predictions") for path in small.glob(f"results/small/{folder}/**/*.json")
    ]
    records = [json.loads(path.read_text()) for path in paths]
    assert len([path for path in paths if path.name == "run.json"]) == 6
    for record in records:
        queue = record["spec"]["hardware"]["name"]
        place = record["observed"]["grid_engine"]
        job = ended[place["JOB_ID"]]
        assert place["QUEUE"] == job["qname"] == queue
        assert "-l gpu=1" in job["category"]
        assert (job["failed"].split()[0], job["exit_status"]) == ("0", "0")


@pytest.mark.usefixtures("small")
def test_measures_and_figures_ask_for_no_gpu_and_run_on_the_queue_without_any(cluster):
    rest = [
        job
        for job in cluster.ended()
        if not job["jobname"].startswith(tuple(f"toolnoise_{one}" for one in ON_TOOLINGS))
    ]
    assert len(rest) >= 3
    for job in rest:
        assert job["qname"] == "cpu"
        assert "gpu" not in job["category"]


def attempts(cluster, queue):
    """Whether each attempt at the training in this queue ended well, and the seconds that it was given."""
    tried = [job for job in cluster.ended() if (job["jobname"], job["qname"]) == ("toolnoise_train_run", queue)]
    asked = [int(job["category"].partition("h_rt=")[2].partition(",")[0]) for job in tried]
    return [
        (job["failed"].split()[0] == job["exit_status"] == "0", seconds)
        for job, seconds in zip(tried, asked, strict=True)
    ]


@pytest.mark.usefixtures("small")
def test_a_cancelled_run_is_tried_again_with_more_time(cluster):
    (first, short), (last, long) = attempts(cluster, "p100")
    assert (first, last) == (False, True)
    assert long == 2 * short


@pytest.mark.usefixtures("small")
def test_a_run_past_its_time_is_tried_again_with_more(cluster):
    (first, short), *more = attempts(cluster, "t4")
    assert (first, short) == (False, 60)
    # A busy machine may need the third attempt, too.
    assert more in ([(True, 120)], [(False, 120), (True, 180)])


def test_control_is_bit_equal_and_the_audit_is_clean(small, toolnoise):
    (check,) = (json.loads(path.read_text()) for path in small.glob("results/small/control/**/*.json"))
    assert (check["bit_equal"], check["seeds"]) == (True, [1, 2])
    done = toolnoise(small, "audit", "results/small", env={"PYTHONPATH": str(small / "workflow")})
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-1].startswith("clean")
