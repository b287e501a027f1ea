"""The profiles we ship, by bare name from a fresh clone with no data and no Slurm: which runs they plan, and where.

Each profile is planned once: its study to the page, and the speed of its toolings.
"""

import functools
import itertools
import logging
import os
import re
import runpy
import shutil
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from snakemake import cli
from snakemake_executor_plugin_slurm import partitions

from toolnoise.base.program import ROOT
from toolnoise.papers import paper_items

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

# The paper's tables and figures that each can make; figure 7 needs a TPU.
ON_ALL = {"table1", "table2", "table4", "paper_vs_ours", "claims"}
COSTS = {"fig9", "fig9a", "fig9b"}
ITEMS = {
    "slurm-p100": ON_ALL | COSTS | {"fig11"},
    "slurm-v100": ON_ALL | COSTS | {"table3", "table5", "fig2", "fig3", "fig4", "fig5", "fig8"},
    "slurm-rtx5000": ON_ALL | {"fig6", "fig13"},
    "slurm-t4": COSTS | {"paper_vs_ours", "claims"},
    "slurm": paper_items.TARGETS.keys() - {"fig7"},
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
    """What a dry run says, typed in the clone."""

    def dry(*arguments):
        command = [sys.executable, "-m", "snakemake", *arguments, "--dry-run"]
        return run(checkout, *command, env={"PYTHONPATH": str(checkout / "workflow")})

    return dry


@pytest.fixture(scope="module")
def jobs(dry_run):
    """The jobs that a dry run with a profile lists: the rule, its output files and its resources."""

    @functools.cache
    def listed(profile):
        done = dry_run("--profile", profile, "page", "speed")
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
    planned = Counter(tuple(output[0].split("/")[3:8]) for rule, output, _ in jobs(profile) if rule == "train_run")
    assert set(planned) == runs(*PLANNED[profile])
    assert set(planned.values()) == {1}
    if profile == "slurm-v100":
        assert planned.total() == 5 * (3 * 10 + 2) + (3 * 5 + 2)


@pytest.mark.parametrize("profile", SLURM)
def test_a_profile_plans_the_papers_items_that_its_gpus_can_make(profile, jobs):
    drawn = {Path(name).name.partition(".")[0] for _, output, _ in jobs(profile) for name in output}
    assert {item for item, figures in paper_items.TARGETS.items() if drawn >= set(figures)} == ITEMS[profile]


NETWORKS = 10 + 4  # of figures 9a and 9b


@pytest.mark.parametrize(("profile", "gpus"), [("slurm-t4", ["t4"]), ("slurm", ["p100", "t4", "v100"])])
def test_a_profile_measures_the_papers_overhead_on_its_gpus_and_t4_does_nothing_else(profile, gpus, jobs):
    listed = jobs(profile)
    measured = Counter(tuple(output[0].split("/")[3:6]) for rule, output, _ in listed if rule == "profile_step")
    assert len({model for model, _, _ in measured}) == NETWORKS
    assert sorted({hardware for _, hardware, _ in measured}) == gpus
    assert len(measured) == NETWORKS * len(gpus) * 2
    assert set(measured.values()) == {5}
    assert ("train_run" in {rule for rule, _, _ in listed}) == (profile == "slurm")


# The rules that compute on a tooling, which is named in the paths of their outputs.
ON_TOOLINGS = {"train_run", "dump_predictions", "profile_step", "measure_speed"}
GPUS = {"p100": "p100", "v100": "v100", "rtx5000": "rtx5000", "rtx5000-tc": "rtx5000", "t4": "t4"}


@pytest.mark.parametrize("profile", SLURM)
def test_each_job_goes_to_the_partition_of_its_gpu_and_all_others_to_the_one_without(profile, jobs):
    """As the executor plugin chooses, by the profile's own table."""
    table = partitions.read_partition_file(PROFILES / profile / "../partitions.yaml")
    seen = set()
    for rule, output, resources in jobs(profile):
        numbers = {name: int(value) if value.isdigit() else value for name, value in resources.items()}
        job = SimpleNamespace(name=rule, resources=numbers, threads=1, is_group=lambda: False)
        (tooling,) = set(output[0].split("/")) & GPUS.keys() if rule in ON_TOOLINGS else ("",)
        expected = GPUS.get(tooling, "cpu")
        assert partitions.get_best_partition(table, job, logging.getLogger("partitions")) == expected, output
        assert (numbers.get("gpu", 0), numbers.get("gpu_model")) == ((1, expected) if tooling else (0, None)), output
        seen.add(rule)
    assert seen >= {"measure_cell", "profile_step"} if profile == "slurm" else seen


def test_deterministic_runs_get_twice_the_time(jobs):
    minutes = {
        tuple(output[0].split("/")[3:7]): int(resources["runtime"])
        for rule, output, resources in jobs("slurm-v100")
        if rule == "train_run"
    }
    for (*task, variant), given in minutes.items():
        assert given == minutes[*task, "impl"] * (1 if variant in ("impl", "algo_impl") else 2)
    assert len(set(minutes.values())) > 2, "not every task gets the same"


@pytest.mark.parametrize(
    ("profile", "only", "words"),
    [
        ("slurm", "only=[h100]", ["only: no tooling 'h100' in the study", "allowed: v100, p100"]),
        ("slurm", "only=[]", ["only", "[]", "leave it out"]),
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


def test_the_slurm_profiles_are_what_the_command_writes_from_their_template():
    write = runpy.run_path(str(PROFILES / "write.py"))
    assert set(write["PROFILES"]) == set(SLURM) == {path.parent.name for path in PROFILES.glob("slurm*/config.yaml")}
    for name in SLURM:
        assert (PROFILES / name / "config.yaml").read_text() == write["text_of"](name)


@pytest.fixture
def understood(checkout, monkeypatch):
    """The options that Snakemake understands in the clone, by its own reading of profiles."""
    monkeypatch.chdir(checkout)

    def read(*words):
        monkeypatch.setattr(sys, "argv", ["snakemake", *words])
        _, options = cli.parse_args(list(words))
        # Objects of Snakemake's own are printed with their addresses.
        return {name: re.sub(r" at 0x\w+", "", repr(value)) for name, value in vars(options).items()}

    return read


def test_what_is_typed_alone_runs_on_all_cores_and_goes_on_after_an_interruption(understood):
    for words in (["fig5"], ["-n"], []):
        options = understood(*words)
        assert options["cores"] == str(os.cpu_count())
        assert (options["logger"], options["rerun_incomplete"]) == ("['toolnoise']", "True")


@pytest.mark.parametrize("name", SLURM)
def test_the_profile_that_is_taken_unasked_changes_nothing_of_one_that_is_asked_for(name, understood, monkeypatch):
    plain = understood("--profile", name, "--workflow-profile", "none") | {"workflow_profile": "None"}
    assert plain["rerun_incomplete"] == "True"
    assert understood("--profile", name) == plain
    monkeypatch.setenv("SNAKEMAKE_PROFILE", name)
    assert understood() == plain
