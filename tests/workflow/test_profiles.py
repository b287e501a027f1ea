"""The profiles we ship, by bare name from a fresh clone with no data and no Slurm: which runs they plan, and where."""

import functools
import itertools
import os
import re
import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml

from toolnoise.base.program import ROOT
from toolnoise.study import config

pytestmark = pytest.mark.long

PROFILES = ROOT / "workflow/profiles"
SLURM = ("slurm", "slurm-p100", "slurm-v100", "slurm-rtx5000", "slurm-t4")
VARIANTS = ("algo_impl", "algo", "impl", "control")
# The paper's cells: tasks by tooling, and the seeds of each. Its Control is never reported: we plan two runs of it.
SMALL, NORMED, R18, R18_100 = (
    ("smallcnn", "cifar10"),
    ("smallcnn-bn", "cifar10"),
    ("resnet18", "cifar10"),
    ("resnet18", "cifar100"),
)
FACES, IMAGENET = ("resnet18", "celeba"), ("resnet50-v15", "imagenet")
TASKS = {
    "p100": (SMALL, R18, R18_100),
    "v100": (SMALL, NORMED, R18, R18_100, FACES, IMAGENET),
    "rtx5000": (SMALL, R18, R18_100),
    "rtx5000-tc": (R18, R18_100),
}
PLANNED = {
    "slurm-p100": ("p100",),
    "slurm-v100": ("v100",),
    "slurm-rtx5000": ("rtx5000", "rtx5000-tc"),
    "slurm": tuple(TASKS),
}


def runs(*toolings):
    return {
        (*task, tooling, variant, str(seed))
        for tooling in toolings
        for task, variant in itertools.product(TASKS[tooling], VARIANTS)
        for seed in range(1, 3 if variant == "control" else 6 if task == IMAGENET else 11)
    }


@pytest.fixture(scope="module")
def dry_run(checkout, run):
    """What a dry run with a profile says, typed in the clone."""

    def dry(*arguments):
        command = [sys.executable, "-m", "snakemake", *arguments, "--dry-run"]
        return run(checkout, *command, env={"PYTHONPATH": str(checkout / "workflow")})

    return dry


@pytest.fixture(scope="module")
def jobs(dry_run):
    """The jobs that a dry run with a profile lists: the rule, its output files and its resources."""

    @functools.cache
    def listed(*arguments):
        done = dry_run(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        found = []
        # The jobs of a group are indented.
        parts = re.split(r"^ *(?:local)?rule (\w+):$", done.stdout, flags=re.MULTILINE)[1:]
        for rule, block in zip(parts[::2], parts[1::2], strict=True):
            told = dict(re.findall(r"^ +(\w+): (.*)$", block, re.MULTILINE))
            resources = dict(re.findall(r"(\w+)=([^,\s]+)", told.get("resources", "")))
            found.append((rule, told.get("output", "").split(", "), resources))
        return found

    return listed


@pytest.mark.parametrize("profile", PLANNED)
def test_a_profile_plans_the_papers_runs_on_its_gpus(profile, jobs):
    planned = Counter(
        tuple(output[0].split("/")[3:8]) for rule, output, _ in jobs("--profile", profile) if rule == "train_run"
    )
    assert set(planned) == runs(*PLANNED[profile])
    assert set(planned.values()) == {1}
    if profile == "slurm-v100":
        assert planned.total() == 5 * (3 * 10 + 2) + (3 * 5 + 2)


NETWORKS = 10 + 4  # of figures 9a and 9b


@pytest.mark.parametrize(("profile", "gpus"), [("slurm-t4", ["t4"]), ("slurm", ["p100", "t4", "v100"])])
def test_a_profile_measures_the_papers_overhead_on_its_gpus_and_t4_does_nothing_else(profile, gpus, jobs):
    listed = jobs("--profile", profile)
    measured = Counter(tuple(output[0].split("/")[3:6]) for rule, output, _ in listed if rule == "profile_step")
    assert len({model for model, _, _ in measured}) == NETWORKS
    assert sorted({hardware for _, hardware, _ in measured}) == gpus
    assert len(measured) == NETWORKS * len(gpus) * 2
    assert set(measured.values()) == {5}
    assert ("train_run" in {rule for rule, _, _ in listed}) == (profile == "slurm")


# Where the tooling stands in the path of the first output.
ON_TOOLINGS = {"train_run": 5, "dump_predictions": 5, "profile_step": 4}


def test_only_what_runs_on_a_tooling_asks_for_its_gpu(jobs):
    listed = jobs("--profile", "slurm")
    for rule, output, resources in listed:
        if rule in ON_TOOLINGS:
            tooling = output[0].split("/")[ON_TOOLINGS[rule]]
            assert (resources["gpu"], resources["gpu_model"]) == ("1", tooling.removesuffix("-tc")), output
        else:
            assert not {"gpu", "gpu_model", "gres"} & set(resources), rule
    assert {rule for rule, _, _ in listed} >= {*ON_TOOLINGS, "prepare_data", "measure_cell", "render_table2"}


def test_so_does_what_measures_the_speed_of_a_tooling(jobs):
    for rule, _, resources in jobs("speed", "--profile", "slurm-p100"):
        assert resources.get("gpu_model") == ("p100" if rule == "measure_speed" else None), rule


def test_deterministic_runs_get_twice_the_time(jobs):
    minutes = {
        tuple(output[0].split("/")[3:7]): int(resources["runtime"])
        for rule, output, resources in jobs("--profile", "slurm-v100")
        if rule == "train_run"
    }
    for (*task, variant), given in minutes.items():
        assert given == minutes[*task, "impl"] * (1 if variant in ("impl", "algo_impl") else 2)
    assert len(set(minutes.values())) > 2, "not every task gets the same"


def test_a_run_on_the_cpu_asks_for_no_gpu(jobs):
    only = "only=[cpu-portable]"
    listed = [
        resources for _, _, resources in jobs("--profile", "slurm", "--configfile", "config.yaml", "--config", only)
    ]
    assert {resources.get("gpu", "0") for resources in listed} == {"0"}


def test_only_on_the_command_line_takes_the_place_of_the_profiles(jobs):
    listed = jobs("--profile", "slurm-v100", "--config", "only=[p100]")
    assert {output[0].split("/")[5] for rule, output, _ in listed if rule == "train_run"} == {"p100"}


@pytest.mark.parametrize(
    ("profile", "only", "words"),
    [
        ("slurm", "only=[h100]", ["only: no tooling 'h100' in the study", "allowed: v100, p100"]),
        ("slurm", "only=[]", ["only", "[]", "at least one name"]),
        ("slurm", "only=v100", ["only", '"v100"', "a list"]),
    ],
)
def test_an_only_that_leaves_nothing_or_names_no_tooling_of_the_grid_is_one_line(
    profile, only, words, dry_run, refusal
):
    line = refusal(dry_run("--profile", profile, "--config", only))
    for word in ("paper.yaml", *words):
        assert word in line


# Slurm's programs, to be seen by the executor plugin: the last job had another account, and no job is taken.
STAND_INS = {
    "sacct": 'case "$*" in *Account*) echo guessed;; esac',
    "sacctmgr": "echo guessed; echo mine",
    "sbatch": 'printf "%s\\n" "$@" >submitted; exit 1',
    **dict.fromkeys(("scancel", "scontrol", "sinfo", "squeue"), ""),
}


@pytest.fixture(scope="module")
def submitted(checkout, run, tmp_path_factory):
    """The words that sbatch gets with SBATCH_ACCOUNT, and with the lines of the profile that are comments."""
    tree = shutil.copytree(checkout, tmp_path_factory.mktemp("slurm") / "tree", symlinks=True)
    path = tree / "workflow/profiles/slurm/config.yaml"
    path.write_text(re.sub(r"^# (?=slurm-)", "", path.read_text(), flags=re.MULTILINE))
    programs = tree.parent / "programs"
    programs.mkdir()
    for name, text in STAND_INS.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    command = [sys.executable, "-m", "snakemake", "--profile", "slurm", "--configfile", "config.yaml", "--config"]
    command += ["only=[cpu-portable]", "--retries", "0", "--slurm-init-seconds-before-status-checks", "1"]
    env = {"PATH": f"{programs}:{os.environ['PATH']}", "SBATCH_ACCOUNT": "mine", "PYTHONPATH": tree / "workflow"}
    done = run(tree, *command, "results/demo/data/digits.npz", env=env)
    assert done.returncode == 1, done.stdout + done.stderr
    return (tree / "submitted").read_text().splitlines()


def test_the_named_account_pays_and_not_that_of_the_last_job(submitted):
    assert submitted[submitted.index("-A") + 1] == "mine"


def test_the_lines_that_a_site_may_need_are_options_of_the_executor(submitted):
    assert {"--qos=NAME", "--reservation=NAME"} <= set(submitted)
    assert "/FOLDER/" in submitted[submitted.index("--output") + 1]


def profile(folder):
    return yaml.safe_load((folder / "config.yaml").read_text())


def test_the_slurm_profiles_differ_by_what_they_run_and_nothing_else():
    texts = [profile(PROFILES / name) for name in SLURM]
    assert [text.pop("config").keys() for text in texts] == [{"only"}] * len(SLURM)
    assert texts == [texts[0]] * len(SLURM)


def test_with_every_profile_the_same_command_goes_on_after_an_interruption():
    assert all(profile(path.parent)["rerun-incomplete"] for path in PROFILES.glob("*/config.yaml"))


def test_every_slurm_profile_is_linked_by_its_name_and_none_is_implied():
    assert set(SLURM) == {path.name for path in PROFILES.glob("slurm*")}
    for name in SLURM:
        assert (ROOT / name).readlink() == Path("workflow/profiles") / name
    # Snakemake would take these unasked, and lay them over the profile that was asked for.
    assert not (ROOT / "default").exists()
    assert not (ROOT / "profiles").exists()


def test_there_is_a_partition_for_every_gpu_that_a_profile_runs_on():
    partitions = yaml.safe_load((PROFILES / "partitions.yaml").read_text())["partitions"]
    served = [model for partition in partitions.values() for model in partition.get("available_gpu_models", [])]
    toolings = {name for profile_name in SLURM for name in profile(PROFILES / profile_name)["config"]["only"]}
    registry = config.read_yaml(ROOT / "resources/hardware.yaml")
    assert {registry[tooling]["gpu_model"] for tooling in toolings} <= set(served)
    assert len(served) == len(set(served)), "a model in two partitions: which one would a job go to?"
    assert [name for name, partition in partitions.items() if not partition.get("max_gpu")], (
        "none for jobs without a GPU"
    )
