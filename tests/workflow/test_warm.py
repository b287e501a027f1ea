"""Warm starts: jobs that are forked from templates have the bits and the ends of cold ones."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from toolnoise.base import scratch
from toolnoise.provenance import statements
from toolnoise.warm import template
from toolnoise.warm.client import FAILED, START, VARIABLE

pytestmark = pytest.mark.long

CELL = "smallcnn/digits/cpu"
COUNTS = "metrics/data/digits.csv"


def how(output):
    """How the process of the job started that wrote this file first."""
    return statements.read_statement(statements.path_for(output)).process


@pytest.fixture
def templates(monkeypatch):
    """The templates of this process's jobs."""
    monkeypatch.delenv(VARIABLE, raising=False)
    template.start({})
    yield psutil.Process().children()
    template.stop()


@pytest.fixture
def count(small_study, command_for, toolnoise, tmp_path):
    """Count the small study's data as a job; `how` it started stands in the statement beside the file."""

    def start(**variables):
        out = tmp_path / "counts.csv"
        done = toolnoise(small_study, *command_for(COUNTS, out=out), env=template.ONE_THREAD | variables)
        assert done.returncode == 0, done.stderr
        return how(out)

    return start


def test_a_study_starts_warm_but_for_the_first_run_of_each_control_cell(small_study):
    found = {}
    for path in (small_study / "results/small/statements").rglob("*.json"):
        one = statements.read_statement(path)
        found.setdefault(one.process, set()).add(str(path.parent.relative_to(small_study / "results/small/statements")))
    first = {f"runs/{cell}/control/1" for cell in (CELL, f"{CELL}-eigen", "smallcnn-bn/digits/cpu")}
    # The study itself is no job.
    assert {name: places for name, places in found.items() if name != "warm"} == {
        "cold: its rule asks for it": first,
        "": {"."},
    }


def test_a_job_is_cold_without_a_workflow_and_if_warm_starts_are_off(count, monkeypatch):
    monkeypatch.setenv(VARIABLE, "0")
    template.start({})
    assert os.environ[VARIABLE] == "0"
    assert count() == "cold"
    monkeypatch.delenv(VARIABLE)
    assert count() == "cold"
    assert count(**{VARIABLE: "/nobody/listens"}).startswith("cold: its tooling has no template")


@pytest.mark.usefixtures("templates")
def test_a_job_with_threads_or_that_is_to_be_is_cold_and_jobs_share_no_variables(count, tmp_path):
    assert count(OMP_NUM_THREADS="2") == "cold: it has several threads"
    assert count(**{START: "cold"}) == "cold: its rule asks for it"
    for variables in ({"SLURM_JOB_ID": "1"}, {"SLURM_JOB_PARTITION": "long"}, {}):
        assert count(**variables) == "warm"
        assert statements.read_statement(statements.path_for(tmp_path / "counts.csv")).observed["slurm"] == variables


@pytest.mark.parametrize("changed", ["workflow/toolnoise/datasets/label_tables.py", "resources/models.yaml"])
def test_a_template_whose_files_have_changed_forks_nothing(changed, checkout, count, monkeypatch, tmp_path):
    tree = shutil.copytree(checkout, tmp_path / "tree", symlinks=True)
    monkeypatch.setenv("PYTHONPATH", str(tree / "workflow"))
    monkeypatch.delenv(VARIABLE, raising=False)
    template.start({})
    try:
        assert count() == "warm"
        with (tree / changed).open("a") as file:
            file.write("# changed\n")
        assert count() == f"cold: {FAILED}code or packages have changed since the import"
    finally:
        template.stop()


@pytest.fixture(scope="module")
def fetching(tmp_path_factory, write_study, jobs_of):
    """What the rule calls that downloads a data set."""
    task = {"models": ["smallcnn"], "datasets": ["cifar10"], "recipe": "digits", "hardware": ["cpu"]}
    study = {"study": "waiting", "grid": [task | {"variants": ["control"], "seeds": 2}]}
    folder = write_study(tmp_path_factory.mktemp("waiting"), study)
    return next(job["words"] for job in jobs_of(folder, "metrics")["jobs"] if job["rule"] == "fetch_data")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_job_that_is_ended_takes_its_child_with_it(number, fetching, templates, tmp_path, until):
    command = [Path(sys.executable).with_name("toolnoise"), *fetching]
    downloaded = tmp_path / "data/cifar-10-binary.tar.gz"
    downloaded.parent.mkdir()
    # A shell may have started these tests in the background, where it ignores SIGINT.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    # The job waits for another one's download for ever.
    with scratch.claim(downloaded):
        job = subprocess.Popen(command, cwd=tmp_path, env=os.environ | template.ONE_THREAD)
        until(lambda: templates[0].children())
        (child,) = templates[0].children()
        job.send_signal(number)
        assert job.wait() == (130 if number == signal.SIGINT else -number)
        until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)
    signal.signal(signal.SIGINT, before)


def test_all_ends_with_the_workflow_even_if_that_is_killed(small_study, command_for, toolnoise, tmp_path, until):
    text = f"""
import os, time
from toolnoise.warm import template
template.start({{}})
print(os.environ["{VARIABLE}"], flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True) as parent:
        folder = parent.stdout.readline().strip()
        variables = template.ONE_THREAD | {VARIABLE: folder}
        words = command_for(COUNTS, out=tmp_path / "out.csv")
        assert toolnoise(small_study, *words, env=variables).returncode == 0
        assert how(tmp_path / "out.csv") == "warm"
        processes = psutil.Process(parent.pid).children(recursive=True)
        assert processes
        parent.kill()
    until(lambda: not any(process.is_running() for process in processes))
    assert not Path(folder).exists()
