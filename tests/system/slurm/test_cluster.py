"""A small study through the profiles we ship, on a real Slurm: what ran where, and what a cluster's accidents do to it.

The registry's GPU entries compute on the CPU here, and say so; the scheduler's name of their GPU stays, so that jobs
are routed as on a cluster that has them. `toolnoise init` and `run` are typed in a folder with nothing but a PyTorch
program.
"""

import itertools
import json
import re
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from toolnoise.base.program import ROOT

MODELS = {"p100": "p100", "v100": "v100", "rtx5000": "rtx5000", "rtx5000-tc": "rtx5000", "t4": "t4"}
ON_THE_CPU = {"accelerator": "cpu", "precision": "float32", "impl_noise": "reduction-order"}
TRAINING = {"epochs": 2, "batch_size": 64, "learning_rate": 0.01}


def block(model, *toolings, **more):
    task = {"models": [model], "datasets": ["digits"], "recipe": "quick", "hardware": list(toolings)}
    return task | {"variants": ["algo_impl"], "seeds": 1} | more


def study(name, *blocks, cpu=True):
    toolings = {tooling for block in blocks for tooling in block["hardware"]}
    waiting = {model for block in blocks for model in block["models"]} - {"smallcnn"}
    return {
        "study": name,
        "grid": list(blocks),
        "figures": ["table2"],
        "recipes": {"quick": TRAINING},
        "hardware": {tooling: ON_THE_CPU if cpu else {} for tooling in sorted(toolings)},
        "models": {name: {"builder": "waiting:waits", "options": {"note": f"{name}.txt"}} for name in waiting},
    }


# `cancelled`, `overdue` and `held` wait for ever when they are first tried.
SMALL = study(
    "small",
    block("smallcnn", "v100", seeds=2),
    block("smallcnn", "rtx5000", "rtx5000-tc"),
    block("cancelled", "p100"),
    block("overdue", "t4", minutes=1),
)
OVERHEAD = {"models": ["smallcnn"], "hardware": ["t4"], "image_size": 8, "batch_size": 4, "steps": 2, "repeats": 1}
REFUSED = study("refused", block("smallcnn", "v100"), cpu=False)
# Its first two runs wait, once each, until their jobs are ended (waiting.py); nothing happens to the third.
STRUCK = study("struck", block("stopped", "a100", variants=["control"], seeds=3, control_seeds=3))
STRUCK |= {
    "figures": [],
    "recipes": {"quick": TRAINING | {"epochs": 4}},
    "models": {"stopped": {"builder": "waiting:stops"}},
}
A100 = {"a100": {"max_gpu": 1, "available_gpu_models": ["a100"]}}
BROKEN = study("broken", block("held", "rtx5000", "rtx5000-tc"))
PACKED_VARIANTS = ["algo_impl", "algo"]
PACKED = 2 * len(PACKED_VARIANTS)
PACKED_STUDY = study("packed", block("smallcnn", "v100", variants=PACKED_VARIANTS, seeds=2))
HELD = "results/broken/runs/held/digits/rtx5000/algo_impl/1/run.json"


@pytest.fixture(scope="module")
def refused(start):
    """A study that asks for a V100 as the registry has it."""
    return start(REFUSED, "slurm-v100", "--retries", "0")


@pytest.fixture(scope="module")
def packed(start):
    """A study whose trainings take seconds, packed as docs/cluster.md says."""
    return start(PACKED_STUDY, "slurm-v100", "figures", "--groups", "train_run=runs-{hardware}")


@pytest.fixture(scope="module")
def struck(start, cluster):
    """A study of which one job loses its node and another its place; and the numbers of these jobs."""
    started = start(STRUCK, "slurm", "--config", "only=[a100]", partitions=A100)
    failed, preempted = (started.wait_for(f"stopped-{seed}.txt") for seed in (1, 2))
    node, other = (cluster.jobs()[job]["NodeList"] for job in (failed, preempted))
    # It comes back by itself (ReturnToService). Slurm starts a job that it has requeued after two minutes.
    cluster.call("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=lost")
    urgent = ("sbatch", "--partition", "urgent", "--nodelist", other, "--exclusive", "--output", "/dev/null")
    cluster.call(*urgent, "--wrap", "sleep 5")
    return started, failed, preempted


class Left(NamedTuple):
    """What a session that was killed left behind, the number of its job and how the study went on."""

    jobs: list[str]
    job: str
    unlocking: tuple[int, str]
    again: Any


@pytest.fixture(scope="module")
def left(start, cluster):
    """A study whose Snakemake is killed while its job runs; then what docs/cluster.md says, word for word."""
    broken = start(BROKEN, "slurm-rtx5000", HELD)
    job = broken.wait_for("held.txt")
    broken.snakemake.kill()
    broken.snakemake.wait()
    jobs = cluster.call("squeue", "--me", "--format", "%.10i %.10P %.9T %j %k").splitlines()
    cluster.call("scancel", "--me", "--name", cluster.jobs()[job]["JobName"])
    unlocking = start(BROKEN, "slurm-rtx5000", "--unlock").ended()
    return Left(jobs, job, unlocking, start(BROKEN, "slurm-rtx5000", HELD, "--rerun-incomplete"))


@pytest.fixture(scope="module")
def small(start, cluster, request):
    """The small study in its clone, finished, with one of its jobs cancelled on the way by somebody."""
    started = start(SMALL | {"overhead": OVERHEAD}, "slurm", "figures", "--jobs", "8")
    # The other studies go on at the same time: waiting for Slurm takes longer than jobs do.
    for other in ("struck", "refused", "left", "packed"):
        request.getfixturevalue(other)
    cluster.call("scancel", started.wait_for("cancelled.txt"))
    code, said = started.ended()
    assert code == 0, said
    return started.clone


@pytest.fixture(scope="module")
def records(small):
    """What the study's checks, runs, dumps and profiles say of the machine that they ran on."""
    results = small / "results/small"
    paths = [path for folder in RULES for path in results.glob(f"{folder}/**/*.json")]
    return {path.relative_to(results): json.loads(path.read_text()) for path in paths}


def of(cluster, clone):
    """Slurm's records of the jobs of a clone."""
    return [job for job in cluster.jobs().values() if job["WorkDir"] == str(clone)]


# What runs on a tooling, by the folder that it writes to.
RULES = {
    "models": "check_model",
    "runs": "train_run",
    "predictions": "dump_predictions",
    "overhead": "profile_step",
}


def test_every_job_that_computes_on_a_tooling_ran_in_its_partition_with_its_gpu(records, cluster):
    jobs, ended = cluster.jobs(), cluster.finished()
    assert Counter(path.parts[0] for path in records) == {"models": 2, "runs": 6, "predictions": 5, "overhead": 2}
    for path, record in records.items():
        model = MODELS[record["spec"]["hardware"]["name"]]
        place = record["observed"]["slurm"]
        job = jobs[place["SLURM_JOB_ID"]]
        assert place["SLURM_JOB_PARTITION"] == job["Partition"] == ended[job["JobId"]]["Partition"] == model, path
        assert place["SLURMD_NODENAME"] == job["NodeList"] == ended[job["JobId"]]["NodeList"], path
        assert job["TresPerJob"].endswith(f"gpu:{model}:1"), path
        assert re.fullmatch("[0-3]", record["observed"]["variables"]["CUDA_VISIBLE_DEVICES"]), path
        assert job["Comment"].startswith(f"rule_{RULES[path.parts[0]]}_wildcards_"), path
        assert ended[job["JobId"]]["JobState"] == job["JobState"] == "COMPLETED", path


def test_metrics_figures_and_data_ask_for_no_gpu_and_stay_off_the_gpus_nodes(small, cluster):
    on_toolings = tuple(f"rule_{rule}_" for rule in RULES.values())
    rest = [job for job in of(cluster, small) if not job["Comment"].startswith(on_toolings)]
    rules = {re.match(r"rule_(.+?)(?:_wildcards_|$)", job["Comment"])[1] for job in rest}
    expected = {"prepare_data", "cells_measure_cell", "measure_overhead", "collect_metrics", "figures_render_table"}
    assert expected <= rules
    for job in rest:
        assert (job["Partition"], job["NodeList"]) == ("cpu", "cpu1"), job
        assert "gpu" not in job.get("TresPerJob", "") + job["TRES"], job


def started(clone, pattern):
    """The statements of jobs: how their processes started, and when they were at work."""
    found = [json.loads(path.read_text())["predicate"] for path in clone.glob(f"results/*/statements/{pattern}")]
    metadata = [one["runDetails"]["metadata"] for one in found]
    return [(one["toolnoise_process"], one["startedOn"], one["finishedOn"]) for one in metadata]


def test_trainings_share_a_job_of_slurm_if_asked_to_and_follow_one_another_each_in_its_process(packed, cluster):
    code, said = packed.ended()
    assert code == 0, said
    records = [json.loads(path.read_text()) for path in packed.clone.glob("results/packed/runs/**/run.json")]
    assert len(records) == PACKED
    (number,) = {record["observed"]["slurm"]["SLURM_JOB_ID"] for record in records}
    job = cluster.jobs()[number]
    assert job["TresPerJob"].endswith("gpu:v100:1")
    assert job["JobState"] == "COMPLETED"
    statements = sorted(started(packed.clone, "runs/**/*.json"), key=lambda one: one[1])
    assert [process for process, *_ in statements] == ["cold"] * PACKED
    for (_, _, ended), (_, began, _) in itertools.pairwise(statements):
        assert ended <= began


def test_cells_are_measured_in_one_job_of_slurm(packed, cluster):
    packed.ended()
    groups = [job for job in of(cluster, packed.clone) if job["Comment"].startswith("rule_cells_")]
    assert len(started(packed.clone, "metrics/cells/**/*.json")) == len(PACKED_VARIANTS)
    assert [(job["Partition"], job["JobState"]) for job in groups] == [("cpu", "COMPLETED")]


def test_a_cancelled_run_is_tried_again_and_one_past_its_time_with_more(small, cluster):
    ended = {"cancelled": [], "overdue": []}
    for job in sorted(of(cluster, small), key=lambda job: int(job["JobId"])):
        if found := re.match("rule_train_run_wildcards_(cancelled|overdue)_", job["Comment"]):
            record = cluster.finished()[job["JobId"]]
            ended[found[1]].append((record["JobState"], int(record["TimeLimit"])))
    assert ended["cancelled"] == [("CANCELLED", 240), ("COMPLETED", 480)]
    # A busy machine may need the third attempt, too.
    first, *more = ended["overdue"]
    assert first == ("TIMEOUT", 1)
    assert more in ([("COMPLETED", 2)], [("TIMEOUT", 2), ("COMPLETED", 3)])


def test_a_registry_entry_as_it_is_fails_in_one_line_on_a_node_without_its_gpu(refused):
    code, said = refused.ended()
    assert code == 1, said
    log = (refused.clone / "logs/refused/train/smallcnn/digits/v100/algo_impl/1.log").read_text()
    line, *more = [line for line in log.splitlines() if line.startswith("toolnoise: ")]
    assert more == []
    assert line.startswith("toolnoise: hardware v100: device: ")
    assert "V100" in line
    assert "Traceback" not in log
    # Who watches Snakemake is told, too.
    assert line in said
    assert not list(refused.clone.glob("results/refused/runs/**/*.json"))


def test_jobs_left_by_a_killed_session_are_found_by_name_cancelled_and_made_again(left, cluster):
    found = {words[0]: words[1:] for words in map(str.split, left.jobs)}[left.job]
    assert found[:2] == ["rtx5000", "RUNNING"]
    assert found[2].startswith("toolnoise_")
    assert found[3] == "rule_train_run_wildcards_held_digits_rtx5000_algo_impl_1"
    assert cluster.finished()[left.job]["JobState"] == "CANCELLED"
    for code, said in (left.unlocking, left.again.ended()):
        assert code == 0, said
    assert json.loads((left.again.clone / HELD).read_text())["observed"]["slurm"]["SLURM_JOB_ID"] != left.job


def test_jobs_that_lost_their_node_or_their_place_are_requeued_and_not_submitted_again(struck, cluster):
    started, *numbers = struck
    code, said = started.ended()
    assert code == 0, said
    jobs = {job["JobId"]: job for job in of(cluster, started.clone)}
    assert [(jobs[number]["Restarts"], jobs[number]["JobState"]) for number in numbers] == [("1", "COMPLETED")] * 2
    trainings = [job for job in jobs.values() if job["Comment"].startswith("rule_train_run_")]
    assert sorted(job["Restarts"] for job in trainings) == ["0", "1", "1"]


def test_their_runs_resume_to_the_bits_of_a_run_that_nothing_happened_to(struck, toolnoise):
    started, *_ = struck
    started.ended()
    results = started.clone / "results/struck"
    runs = {path.parent.name: json.loads(path.read_text()) for path in results.glob("runs/**/run.json")}
    assert {seed: run["resumed_after"] for seed, run in runs.items()} == {"1": [2], "2": [2], "3": []}
    (gate,) = results.glob("control/**/*.json")
    assert json.loads(gate.read_text())["bit_equal"] is True
    env = {"PYTHONPATH": str(started.clone / "workflow")}
    audit = toolnoise(started.clone, "audit", "results/struck", env=env)
    assert audit.returncode == 0, audit.stdout + audit.stderr
    assert audit.stdout.splitlines()[-1].startswith("clean")


# `toolnoise init` and `toolnoise run`, typed in a folder with nothing but a PyTorch program


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


def records_on(results, tooling):
    """What each run on a tooling says of the machine, by the run's folder."""
    return {path.parent: json.loads(path.read_text()) for path in results.glob(f"runs/*/*/{tooling}/*/*/run.json")}


def test_every_training_was_a_job_of_slurm_of_its_own_on_a_node_without_gpus(results, cluster):
    runs = records_on(results, "command")
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
        cluster.jobs()[record["observed"]["slurm"]["SLURM_JOB_ID"]]
        for record in records_on(results, "mine-v100").values()
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
