"""What a plan says before anything runs: of a study with a job of every kind, of a large one, and of each profile.

Profiles are named from a fresh clone with no data and no Slurm; each is planned once.
"""

import functools
import json
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
from snakemake import cli as snakemake_cli
from snakemake_executor_plugin_slurm import partitions

from toolnoise import cli
from toolnoise.base.program import ROOT
from toolnoise.checks.expected_jobs import expected_jobs
from toolnoise.commands import jobs as job_commands
from toolnoise.papers import paper_items
from toolnoise.provenance.statements import path_for
from toolnoise.study import grid, job_code
from toolnoise.study.expected import first_output

# Rules that write the same files, each for models, data sets or figures of its own.
TWINS = [
    ({"train_run", "run_program", "adopt_run"}, r"/weights\.npz$"),
    ({"prepare_data", "gather_labels"}, r"results/fuzz/data/[^/]+\.npz$"),
    ({"dump_predictions", "dump_outcomes"}, "results/fuzz/predictions/"),
    ({"check_control", "check_program"}, "results/fuzz/control/"),
    ({"measure_cell", "measure_program", "measure_outcomes"}, "results/fuzz/metrics/cells/"),
    ({"render_figure", "render_table"}, "results/fuzz/notebooks/"),
]
TARGETS = {"page", "all", "paper", "figures", "metrics", "speed"}
WITHOUT_RUNS = {"metrics/data.csv", "metrics/labels.csv", "metrics/overhead.csv", "metrics/kernels.csv"}


@pytest.fixture(scope="module")
def jobs(every_kind_of_job):
    return every_kind_of_job["jobs"]


@pytest.fixture(scope="module")
def rules(every_kind_of_job):
    return every_kind_of_job["rules"]


@pytest.fixture(scope="module")
def before(jobs):
    """All files that come before a file, at any distance."""
    inputs = {path: job["inputs"] for job in jobs for path in job["outputs"]}

    def collect(paths):
        known, waiting = set(), list(paths)
        while waiting:
            if (path := waiting.pop()) not in known:
                known.add(path)
                waiting += inputs.get(path, [])
        return known

    return collect


def gates_of(paths):
    return {path for path in paths if re.fullmatch(r"results/\w+/control/.*\.json", path)}


def test_no_metric_file_and_no_figure_of_runs_is_made_before_all_its_gates(jobs, before):
    # Dumps and gates lead to these, too; it is they themselves that wait.
    every = gates_of(path for job in jobs for path in job["outputs"])
    assert len(every) > 10
    for job in jobs:
        if job["rule"] == "collect_metrics":
            is_of_runs = not any(path.endswith(tuple(WITHOUT_RUNS)) for path in job["outputs"])
            assert gates_of(job["inputs"]) == (every if is_of_runs else set()), job["outputs"]
        if job["rule"].startswith("render_"):
            shown = {tuple(path.split("/")[4:7]) for path in job["inputs"] if "/metrics/cells/" in path}
            # Runs that were there before have no Control.
            gates = {f"results/fuzz/control/{'/'.join(place)}.json" for place in shown} & every
            assert gates <= gates_of(job["inputs"]), job["outputs"]
    (claims,) = (job for job in jobs if job["rule"] == "judge_claims")
    assert gates_of(before(claims["inputs"])) == every


def test_own_models_are_built_and_steps_are_timed_before_other_runs(jobs, rules):
    trained = [job for job in jobs if job["rule"] == "train_run"]
    checked = {job["outputs"][0] for job in trained if any("/models/" in path for path in job["inputs"])}
    assert checked == {path for path in (job["outputs"][0] for job in trained) if re.search("/runs/(own|text)/", path)}
    assert rules["profile_step"]["priority"] > rules["check_model"]["priority"] > rules["train_run"]["priority"] > 0
    assert rules["run_program"]["priority"] == rules["train_run"]["priority"]
    assert {rule["priority"] for name, rule in rules.items() if name.startswith(("measure_", "render_"))} == {0}


def test_no_file_has_two_jobs_and_twins_share_the_models_among_them(jobs):
    written = Counter(path for job in jobs for path in job["outputs"])
    assert {path for path, count in written.items() if count > 1} == set()
    for twins, part in TWINS:
        making = {job["rule"] for job in jobs if any(re.search(part, path) for path in job["outputs"])}
        assert making <= twins, part
        assert len(making) > 1, part


def test_every_target_writes_the_study_down(jobs, before):
    targets = {job["rule"]: job for job in jobs if not job["outputs"]}
    assert targets.keys() <= TARGETS
    (written,) = (job for job in jobs if job["rule"] == "write_study")
    assert written["outputs"][0] == "results/fuzz/study.json"
    for job in targets.values():
        assert "results/fuzz/study.json" in before(job["inputs"]), job["rule"]


def block(hardware, variant, seeds, **further):
    task = {"models": ["smallcnn"], "datasets": ["digits"], "recipe": "here", "hardware": [hardware]}
    return task | {"variants": [variant], "seeds": seeds} | further


PROGRAM = {"models": ["mine"], "datasets": ["outcome"], "hardware": ["command"], "seeds": 2}
PROGRAM["variants"] = ["algo", "control"]
LARGE = {
    "study": "large",
    "grid": [block("cpu", "algo", 100), block("cpu", "impl", 101), block("v100", "control", 2), PROGRAM],
    "models": {"mine": {"command": "train --seed {init} --out {out}", "sources": ["init"]}},
    "recipes": {"here": {"epochs": 1, "batch_size": 64, "learning_rate": 0.01}},
    "figures": ["table2", "noise_by_source"],
}


@pytest.fixture(scope="module")
def large(tmp_path_factory, write_study, jobs_of):
    return jobs_of(write_study(tmp_path_factory.mktemp("large"), LARGE), "all")["jobs"]


def test_small_cells_and_figures_share_jobs_of_a_cluster_and_a_large_cell_does_not(large):
    # While jobs share one, Snakemake looks at all their inputs whenever a run ends: quadratic in the runs of a cell.
    groups = {}
    for job in large:
        variant = re.search(r"/(algo|impl|control)\b", " ".join(job["outputs"]))
        if job["rule"] in ("measure_cell", "show_cell") and "/mine/" not in job["outputs"][0]:
            groups.setdefault(variant[1], set()).add(job["group"])
        elif job["rule"].startswith("render_"):
            groups.setdefault("figures", set()).add(job["group"])
    assert groups == {"algo": {"cells"}, "control": {"cells"}, "impl": {None}, "figures": {"figures"}}


def test_runs_of_a_program_wait_for_its_control(large):
    gates = {job["outputs"][0]: job["inputs"] for job in large if job["rule"] == "run_program"}
    runs = "results/large/runs/mine/outcome/command"
    gate = ["results/large/control/mine/outcome/command.json"]
    waiting = {f"{runs}/algo/{seed}/weights.npz": gate for seed in (1, 2)}
    assert gates == waiting | {f"{runs}/control/{seed}/weights.npz": [] for seed in (1, 2)}


def test_what_computes_on_a_gpu_or_runs_a_program_has_no_conda_environment(large):
    for job in large:
        computes = job["rule"] in ("train_run", "run_program", "dump_predictions")
        elsewhere = computes and not any("/cpu/" in path for path in job["outputs"])
        assert job["in conda"] == (bool(job["words"]) and not elsewhere), job["outputs"]


OUTSIDE = {
    "results/small/runs/smallcnn/digits/cpu/impl/999/run.json": ("smallcnn/digits/cpu/impl/999", "train"),
    "fig4": ("fig4: the study has no subgroups; it needs a data set with sub-groups: faces, celeba with groups",),
}


@pytest.mark.parametrize("target", OUTSIDE)
def test_a_target_outside_of_the_study_is_one_line(target, tmp_path, write_study, snakemake, refusal):
    small = LARGE | {"study": "small", "grid": [block("cpu", "impl", 2)]}
    line = refusal(snakemake(write_study(tmp_path, small), target, "--dry-run"))
    assert line.startswith(f"toolnoise: {tmp_path}/study.yaml: ")
    assert all(words in line for words in OUTSIDE[target])
    assert [path.name for path in tmp_path.iterdir() if path.name != ".snakemake"] == ["study.yaml"]


def test_what_no_rule_makes_is_refused_without_a_traceback(tmp_path, write_study, snakemake):
    done = snakemake(write_study(tmp_path, LARGE), "fig10", "--dry-run")
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert "No rule to produce fig10" in said
    assert "Traceback" not in said


# The rules of the workflow and the functions that do their jobs agree, in a study that has a job of every kind


# What only the order of jobs follows from, by verb: a part of each path. Jobs do not read it.
BEFORE = {
    "fetch": ("mine.npz", "text.npz", "folder"),
    "prepare": (".sources.json",),
    "train": ("/models/",),
    "collect": ("/control/",),
    "render": ("/control/",),
}


@pytest.fixture(scope="module")
def called(every_kind_of_job):
    """The jobs that call a verb: each with its verb, parameters and files, as the verb takes them from the command."""
    found = []
    for job in every_kind_of_job["jobs"]:
        if job["words"]:
            options = vars(cli.parse_options(job["words"]))
            function = job_code.function_of(options["verb"])
            files = {name: options[name] if options[name] is not None else () for name in function.files}
            found.append((job, options["verb"], job_commands.parameters_of(function, options), files))
    return found


def as_json(value):
    """Whatever differs as JSON differs: 1 and 1.0, too."""
    return json.dumps(value, sort_keys=True)


def test_every_verb_of_a_job_has_one_rule_and_every_rule_says_what_it_does(every_kind_of_job):
    calling = {
        name: rule for name, rule in every_kind_of_job["rules"].items() if "toolnoise " in (rule["command"] or "")
    }
    verbs = Counter(re.search(r"toolnoise ([\w-]+)", rule["command"])[1] for rule in calling.values())
    # Figures and tables.
    assert verbs.pop("render") == 2
    assert verbs == dict.fromkeys(job_code.JOBS.keys() - {"render"}, 1)
    assert [name for name, rule in calling.items() if not (rule["log"] and rule["conda"])] == []
    assert [name for name, rule in every_kind_of_job["rules"].items() if not rule["docstring"]] == []
    # Not a wildcard: a plan of many runs looks for the rule of each file by what its path begins with.
    assert {log.split("/")[1] for rule in calling.values() for log in rule["log"]} == {"fuzz"}


def test_a_rule_gives_every_option_of_its_verb(every_kind_of_job):
    lacking = set()
    for rule in every_kind_of_job["rules"].values():
        for verb in re.findall(r"toolnoise ([\w-]+)", rule["command"] or ""):
            if verb in job_code.JOBS:
                given = set(re.findall(r" (--[\w-]+) ", rule["command"]))
                lacking |= {(verb, option) for option in job_commands.verb_of_job(verb).arguments.keys() - given}
    # Only profiles are of images and steps, and of no data set; only what is exchanged was trained elsewhere.
    assert {option for _, option in lacking} == {"--dataset", "--images", "--steps", "--trained-on"}
    assert {verb for verb, option in lacking if option == "--dataset"} == {"profile"}
    assert {verb for verb, option in lacking if option == "--trained-on"} == {"predict"}


def test_the_command_of_a_job_has_its_parameters_and_its_rule_their_code(called, every_kind_of_job, monkeypatch):
    """What is pasted from `snakemake --printshellcmds` is what the audit expects statements to say."""
    # Where the module of an own model lies.
    monkeypatch.chdir(every_kind_of_job["folder"])
    expected = {job.outputs[0]: job for job in expected_jobs(grid.load_study("study.yaml"))}
    assert {job.verb for job in expected.values()} == {*job_code.JOBS, "configure"}
    for job, verb, parameters, _ in called:
        wanted = expected.pop(job["outputs"][0])
        assert (verb, as_json(parameters)) == (wanted.verb, as_json(wanted.parameters)), job["words"]
        assert job["code"] == job_code.digest_of_job(verb, parameters), job["words"]
        assert sorted(job["outputs"][:-1]) == sorted(wanted.outputs), job["words"]
        for path in wanted.outputs:
            # A notebook that was executed is nobody's input.
            assert first_output(path) == job["outputs"][0] or path.endswith(".ipynb"), path
    assert {job.verb for job in expected.values()} <= {"configure", "measure-speed"}


def test_a_rule_has_the_files_of_its_function(called):
    for job, verb, _, files in called:
        function = job_code.function_of(verb)
        read = {path for path, _ in function.read(files)}
        written = [path for path, _ in function.written(files)]
        assert read <= set(job["inputs"]), job["words"]
        assert all(any(part in path for part in BEFORE[verb]) for path in set(job["inputs"]) - read), job["words"]
        assert job["outputs"] == [*written, str(path_for(written[0]))], job["words"]


# The profiles that we ship: which runs they plan, and where


PROFILES = ROOT / "workflow/profiles"
SLURM = ("slurm", "slurm-p100", "slurm-v100", "slurm-rtx5000", "slurm-t4")
# Of the study of the paper, whose cells tests/study/test_grid.py has by hand.
PLANNED = {
    "slurm-p100": ("p100",),
    "slurm-v100": ("v100",),
    "slurm-rtx5000": ("rtx5000", "rtx5000-tc"),
    "slurm": ("p100", "v100", "rtx5000", "rtx5000-tc"),
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


@pytest.fixture(scope="module")
def dry_run(checkout, run):
    """What a dry run says, typed in the clone."""

    def dry(*arguments):
        command = [sys.executable, "-m", "snakemake", *arguments, "--dry-run"]
        return run(checkout, *command, env={"PYTHONPATH": str(checkout / "workflow")})

    return dry


@pytest.fixture(scope="module")
def planned_with(dry_run):
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


@pytest.mark.parametrize("profile", SLURM)
def test_a_profile_plans_the_papers_runs_on_its_gpus_and_the_items_that_these_can_make(profile, planned_with):
    listed = planned_with(profile)
    trained = Counter(tuple(output[0].split("/")[3:8]) for rule, output, _ in listed if rule == "train_run")
    seeds = grid.load_study(ROOT / "workflow/studies/paper.yaml").seeds
    here = {cell: runs for cell, runs in seeds.items() if cell.hardware in PLANNED.get(profile, ())}
    assert set(trained) == {(*cell, str(seed)) for cell, runs in here.items() for seed in runs}
    assert set(trained.values()) <= {1}
    if profile == "slurm-v100":
        assert trained.total() == 5 * (3 * 10 + 2) + (3 * 5 + 2)
    drawn = {Path(name).name.partition(".")[0] for _, output, _ in listed for name in output}
    assert {item for item, figures in paper_items.TARGETS.items() if drawn >= set(figures)} == ITEMS[profile]


NETWORKS = 10 + 4  # of figures 9a and 9b


@pytest.mark.parametrize(("profile", "gpus"), [("slurm-t4", ["t4"]), ("slurm", ["p100", "t4", "v100"])])
def test_a_profile_measures_the_papers_overhead_on_its_gpus(profile, gpus, planned_with):
    listed = planned_with(profile)
    measured = Counter(tuple(output[0].split("/")[3:6]) for rule, output, _ in listed if rule == "profile_step")
    assert len({model for model, _, _ in measured}) == NETWORKS
    assert sorted({hardware for _, hardware, _ in measured}) == gpus
    assert len(measured) == NETWORKS * len(gpus) * 2
    assert set(measured.values()) == {5}


# The rules that compute on a tooling, which is named in the paths of their outputs.
ON_TOOLINGS = {"train_run", "dump_predictions", "profile_step", "measure_speed"}
GPUS = {"p100": "p100", "v100": "v100", "rtx5000": "rtx5000", "rtx5000-tc": "rtx5000", "t4": "t4"}


@pytest.mark.parametrize("profile", SLURM)
def test_each_job_goes_to_the_partition_of_its_gpu_and_all_others_to_the_one_without(profile, planned_with):
    """As the executor plugin chooses, by the profile's own table."""
    table = partitions.read_partition_file(PROFILES / profile / "../partitions.yaml")
    seen = set()
    for rule, output, resources in planned_with(profile):
        numbers = {name: int(value) if value.isdigit() else value for name, value in resources.items()}
        job = SimpleNamespace(name=rule, resources=numbers, threads=1, is_group=lambda: False)
        (tooling,) = set(output[0].split("/")) & GPUS.keys() if rule in ON_TOOLINGS else ("",)
        expected = GPUS.get(tooling, "cpu")
        assert partitions.get_best_partition(table, job, logging.getLogger("partitions")) == expected, output
        assert (numbers.get("gpu", 0), numbers.get("gpu_model")) == ((1, expected) if tooling else (0, None)), output
        seen.add(rule)
    assert seen >= {"measure_cell", "profile_step"} if profile == "slurm" else seen


def test_deterministic_runs_get_twice_the_time(planned_with):
    minutes = {
        tuple(output[0].split("/")[3:7]): int(resources["runtime"])
        for rule, output, resources in planned_with("slurm-v100")
        if rule == "train_run"
    }
    for (*task, variant), given in minutes.items():
        assert given == minutes[*task, "impl"] * (1 if variant in ("impl", "algo_impl") else 2)
    assert len(set(minutes.values())) > 2, "not every task gets the same"


def test_an_only_that_names_no_tooling_of_the_grid_is_one_line(dry_run, refusal):
    line = refusal(dry_run("--profile", "slurm", "--config", "only=[h100]"))
    for words in ("paper.yaml", "only: no tooling 'h100' in the study", "allowed: v100, p100"):
        assert words in line


# Slurm's programs, to be seen by the executor plugin: the last job had another account, and no job is taken.
STAND_INS = {
    "sacct": 'case "$*" in *Account*) echo guessed;; esac',
    "sacctmgr": "echo guessed; echo mine",
    "sbatch": 'printf "%s\\n" "$@" >submitted; exit 1',
    **dict.fromkeys(("scancel", "scontrol", "sinfo", "squeue"), ""),
}


def test_the_named_account_pays_and_lines_that_a_site_may_need_are_options_of_the_executor(checkout, run, tmp_path):
    """With SBATCH_ACCOUNT, and with the lines of the profile that are comments."""
    tree = shutil.copytree(checkout, tmp_path / "tree", symlinks=True)
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
    submitted = (tree / "submitted").read_text().splitlines()
    # Not the account of the last job.
    assert submitted[submitted.index("-A") + 1] == "mine"
    assert {"--qos=NAME", "--reservation=NAME"} <= set(submitted)
    assert "/FOLDER/" in submitted[submitted.index("--output") + 1]


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
        _, options = snakemake_cli.parse_args(list(words))
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
