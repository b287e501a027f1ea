"""What the workflow's tests share: plans of what would run, and the commands of jobs."""

import importlib
import json
import shutil
import sys

import pytest

from toolnoise.base.program import ROOT

EVERY_TARGET = ("all", "paper", "speed", "results/fuzz/report.html")


@pytest.fixture(scope="session")
def jobs_of(run):
    """The rules, and all jobs that the study file in a folder has for some targets, finished or not."""

    def plan(folder, *targets):
        program = ROOT / "tests/planned_jobs.py"
        done = run(folder, sys.executable, program, ROOT / "Snakefile", "study.yaml", *targets)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return plan


@pytest.fixture(scope="session")
def every_kind_of_job(once, jobs_of):
    """A study that has a job of every kind, in a folder with its inputs: its rules and its jobs."""

    def make(folder):
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(ROOT / "tests/fuzz")
            importlib.import_module("fuzz_base").write_inputs(folder)
        (folder / "planned.json").write_text(json.dumps(jobs_of(folder, *EVERY_TARGET)))

    folder = once("every-kind-of-job", make)
    return json.loads((folder / "planned.json").read_text()) | {"folder": folder}


@pytest.fixture(scope="session")
def command_for(once, small_study, jobs_of):
    """What the rule calls that makes a file of the small study, with other values for some options."""

    def make(folder):
        shutil.copyfile(small_study / "study.yaml", folder / "study.yaml")
        (folder / "planned.json").write_text(json.dumps(jobs_of(folder, "all")))

    jobs = json.loads((once("commands", make) / "planned.json").read_text())["jobs"]

    def words(output, **changed):
        (found,) = (job["words"] for job in jobs if f"results/small/{output}" in job["outputs"])
        for option, value in changed.items():
            place = found.index(f"--{option}") + 1
            found = [*found[:place], str(value), *found[place + 1 :]]
        return found

    return words
