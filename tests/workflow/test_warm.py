"""Warm starts: jobs that are forked from servers have the bits, the ends and the signals of cold ones."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import pytest

from toolnoise import cli
from toolnoise.base import scratch
from toolnoise.commands.run import cold_starts
from toolnoise.record import statements
from toolnoise_warm import FAILED, VARIABLE, client, dispatcher, messages, workflow

CELL = "smallcnn/digits/cpu"
# One thread, as Snakemake gives a job.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
COUNT = ("count", "--study", "results/small/study.json", "--dataset", "digits")


def how(output):
    """How the process of the job started that wrote this file first."""
    return statements.read(statements.path_for(output)).process


def says_to(process):
    """Return the file that is the standard error of a process, or none if it has ended."""
    try:
        return Path(f"/proc/{process.pid}/fd/2").readlink()
    except FileNotFoundError:
        return None


def catches(job, number):
    """Whether a process has a handler for a signal."""
    status = Path(f"/proc/{job.pid}/status").read_text()
    mask = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(mask, 16) >> (number - 1) & 1)


@pytest.fixture
def dispatched(monkeypatch):
    """The dispatcher of this process's jobs."""
    monkeypatch.delenv(VARIABLE, raising=False)
    # A shell may have started these tests in the background, where it ignores SIGINT.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    workflow.start()
    yield next(child for child in psutil.Process().children() if "toolnoise_warm.dispatcher" in child.cmdline())
    workflow.stop()
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def count(small_study, toolnoise, tmp_path):
    """Count the small study's data as a job; `how` it started stands in the statement beside the file."""

    def start(**variables):
        out = tmp_path / "counts.csv"
        done = toolnoise(
            small_study, *COUNT, "--data", "results/small/data/digits.npz", "--out", out, env=ONE_THREAD | variables
        )
        assert done.returncode == 0, done.stderr
        return how(out)

    return start


@pytest.fixture
def blocked(write_study, dispatched, tmp_path, until):
    """A job that waits for another one's download for ever: the process that Snakemake sees, the child, what they say.

    The job needs no framework, and its study is in the folder.
    """
    task = {"models": ["smallcnn"], "datasets": ["cifar10"], "recipe": "one", "hardware": ["cpu"]}
    block = task | {"variants": ["control"], "seeds": 2}
    recipe = {"epochs": 1, "batch_size": 64, "learning_rate": 0.01}
    write_study(tmp_path, {"study": "waiting", "grid": [block], "recipes": {"one": recipe}})
    toolnoise, said = Path(sys.executable).with_name("toolnoise"), tmp_path / "said"
    command = [toolnoise, "fetch", "--study", "study.yaml", "--dataset", "cifar10", "--out", "record.json"]

    def forked():
        """The children with the job's streams: a server that imports has others, such as git."""
        children = [child for server in dispatched.children() for child in server.children()]
        return [child for child in children if says_to(child) == said]

    downloaded = tmp_path / "data/cifar-10-binary.tar.gz"
    downloaded.parent.mkdir()
    with scratch.claim(downloaded):
        with said.open("w") as streams:
            job = subprocess.Popen(command, cwd=tmp_path, env=os.environ | ONE_THREAD, stderr=streams)
        until(lambda: forked() and catches(job, signal.SIGTSTP))
        yield job, forked()[0], said
        job.kill()
        job.wait()


def test_a_study_starts_warm_but_for_the_first_run_of_each_control_cell(small_study):
    found = {}
    for path in (small_study / "results/small/statements").rglob("*.json"):
        one = statements.read(path)
        found.setdefault(one.process.partition(":")[0], set()).add(str(path.relative_to(small_study)))
    assert set(found) == {"warm", "cold", ""}
    assert {Path(path).name for path in found[""]} == {"study.json.intoto.json"}
    first = {
        f"results/small/statements/runs/{cell}/control/1" for cell in (CELL, f"{CELL}-eigen", "smallcnn-bn/digits/cpu")
    }
    assert {str(Path(path).parent) for path in found["cold"]} == first
    assert cold_starts(small_study / "results/small", 0) == ""


def test_run_reports_jobs_that_a_broken_server_left_cold(copied, checkout, toolnoise, tmp_path):
    tree = shutil.copytree(checkout, tmp_path / "tree", symlinks=True)
    (tree / "workflow/toolnoise_warm/server.py").write_text("raise ImportError\n")
    (copied / "results/small/index.html").unlink()
    done = toolnoise(copied, "run", "--cores", "1", env={"PYTHONPATH": str(tree / "workflow")})
    assert done.returncode == 0, done.stderr
    reported = re.search(
        r"0 started warm and (\d+) cold though a warm server was asked for; the first: (.*)", done.stderr
    )
    assert int(reported[1]) >= 1
    # The server is still ending, or has ended.
    assert reported[2].startswith("no warm server answers (Connection")


def test_warm_results_are_made_again_cold_with_the_same_bits(small_study, toolnoise):
    made = (
        f"runs/{CELL}/control/2/weights.npz",
        f"predictions/{CELL}/algo_impl.npy",
        f"metrics/cells/{CELL}/algo_impl.csv",
        "figures/noise_by_source-cpu.png",
    )
    jobs = [f"results/small/{name}" for name in made]
    done = toolnoise(small_study, "rebuild", *jobs)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_job_is_cold_without_a_workflow_and_if_warm_starts_are_off(count, monkeypatch):
    monkeypatch.setenv(VARIABLE, "0")
    workflow.start()
    assert os.environ[VARIABLE] == "0"
    assert count() == "cold"
    monkeypatch.delenv(VARIABLE)
    assert count() == "cold"
    assert count(**{VARIABLE: "/nobody/listens"}).startswith(f"cold: {FAILED}no warm server answers")


@pytest.mark.usefixtures("dispatched")
def test_a_server_with_threads_forks_nothing(count):
    assert count() == "warm"
    if len(os.sched_getaffinity(0)) > 1:
        assert count(OMP_NUM_THREADS="2", OPENBLAS_NUM_THREADS="2") == "cold: 2 threads run after the import"


@pytest.mark.parametrize("changed", ["workflow/toolnoise/datasets/counting.py", "resources/models.yaml"])
def test_a_server_whose_files_have_changed_forks_nothing(changed, checkout, count, monkeypatch, tmp_path):
    tree = shutil.copytree(checkout, tmp_path / "tree", symlinks=True)
    monkeypatch.setenv("PYTHONPATH", str(tree / "workflow"))
    monkeypatch.delenv(VARIABLE, raising=False)
    workflow.start()
    try:
        assert count() == "warm"
        with (tree / changed).open("a") as file:
            file.write("# changed\n")
        assert count() == f"cold: {FAILED}code or packages have changed since the import"
    finally:
        workflow.stop()


def test_a_job_has_its_own_streams_folder_and_exit_code(small_study, toolnoise, dispatched, refusal, tmp_path):
    given = ("--data", tmp_path / "absent.npz", "--out", tmp_path / "out.csv")
    done = toolnoise(small_study, *COUNT, *given, env=ONE_THREAD)
    assert "absent.npz" in refusal(done)
    assert dispatched.children(), "no server has performed it"


@pytest.mark.usefixtures("dispatched")
def test_jobs_of_one_server_share_no_variables(small_study, count, tmp_path):
    assert count() == "warm"
    address, out = Path(os.environ[VARIABLE]).with_name("0"), tmp_path / "counts.csv"
    given = ["--data", "results/small/data/digits.npz", "--out", str(out)]
    job = {"argv": ["toolnoise", *COUNT, *given], "cwd": str(small_study), "executable": sys.executable, "umask": 0o22}
    for variables in ({"SLURM_JOB_ID": "1"}, {"SLURM_JOB_PARTITION": "long"}, {}):
        # The dispatcher would start a server for each.
        with messages.connected(str(address), 60) as connection:
            assert messages.receive(connection)[0] == {"ready": True}
            messages.send(connection, job | {"environment": {**os.environ, **ONE_THREAD, **variables}}, (0, 1, 2))
            assert "started" in messages.receive(connection)[0]
            assert messages.receive(connection)[0] == {"status": 0}
        assert statements.read(statements.path_for(out)).observed["slurm"] == variables


def test_a_server_keeps_no_descriptor_and_no_process_of_its_jobs(count, dispatched):
    kept = []
    for _ in range(4):
        assert count() == "warm"
        (server,) = dispatched.children()
        kept.append([(one.num_fds(), len(one.children())) for one in (server, dispatched)])
    # The first job leaves what is imported with it.
    assert kept[1] == kept[3]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_signal_to_a_job_ends_its_child(number, blocked, until):
    job, child, said = blocked
    job.send_signal(number)
    until(lambda: not child.is_running())
    # A verb that meets Ctrl-C ends by itself.
    assert job.wait() == (130 if number == signal.SIGINT else -number)
    assert said.read_text() == ""


def test_a_stopped_job_stops_its_child_until_it_goes_on(blocked, until):
    job, child, _ = blocked
    for number, state in ((signal.SIGTSTP, True), (signal.SIGCONT, False)):
        job.send_signal(number)
        until(lambda state=state: (child.status() == psutil.STATUS_STOPPED) == state)
    assert job.poll() is None
    assert child.is_running()


def test_a_job_whose_server_is_killed_fails_and_its_child_ends(blocked, until):
    job, child, said = blocked
    child.parent().kill()
    assert job.wait() == 1
    assert "the warm server has ended" in said.read_text()
    until(lambda: not child.is_running())


def test_all_ends_with_the_workflow_even_if_that_is_killed(small_study, toolnoise, tmp_path, until):
    text = f"""
import os, time
from toolnoise_warm.workflow import start
start()
print(os.environ["{VARIABLE}"], flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True) as parent:
        address = parent.stdout.readline().strip()
        given = ("--data", "results/small/data/digits.npz", "--out", tmp_path / "out.csv")
        assert toolnoise(small_study, *COUNT, *given, env=ONE_THREAD | {VARIABLE: address}).returncode == 0
        assert how(tmp_path / "out.csv") == "warm"
        processes = psutil.Process(parent.pid).children(recursive=True)
        assert len(processes) == 2
        parent.kill()
    until(lambda: not any(process.is_running() for process in processes))
    assert not Path(address).parent.exists()


def test_a_server_that_is_frozen_costs_a_wait_and_then_its_jobs_start_cold(
    small_study, count, dispatched, run, tmp_path
):
    assert count() == "warm"
    (server,) = dispatched.children()
    impatient = "import sys; from toolnoise_warm import client; client.PATIENCE = 1.0; client.main()"
    given = ("--data", "results/small/data/digits.npz", "--out", tmp_path / "cold.csv")
    for frozen in (server, dispatched):
        frozen.suspend()
        done = run(small_study, sys.executable, "-c", impatient, *COUNT, *given, env=ONE_THREAD)
        assert done.returncode == 0, done.stderr
        assert done.stderr.splitlines().count(f"toolnoise: {client.SILENT}; this job starts cold") == 1
        assert how(tmp_path / "cold.csv") == f"cold: {FAILED}{client.SILENT}"
        # The next one need not wait.
        assert count().startswith(f"cold: {FAILED}no warm server answers")
        frozen.resume()
    # Nor does the end of the workflow wait for it.
    server.suspend()
    workflow.stop()
    assert not server.is_running()


def test_a_job_signals_its_child_while_the_server_is_frozen(blocked, until):
    job, child, _ = blocked
    child.parent().suspend()
    job.send_signal(signal.SIGTERM)
    until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)
    assert job.wait(timeout=60) == -signal.SIGTERM


def test_what_a_killed_dispatcher_left_goes_at_the_next_start_unless_its_owner_lives(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv(VARIABLE, raising=False)
    text = "import time; from toolnoise_warm.workflow import start; start(); print(flush=True); time.sleep(600)"
    owners = []
    for _ in "12":
        owner = subprocess.Popen(
            [sys.executable, "-c", text], stdout=subprocess.PIPE, env=os.environ | {"TMPDIR": str(tmp_path)}
        )
        owner.stdout.readline()
        owners.append(owner)
    for owner in owners:
        for dispatcher_process in psutil.Process(owner.pid).children():
            dispatcher_process.kill()
    before = set(tmp_path.iterdir())
    assert len(before) == 2
    (tmp_path / f"{workflow.PREFIX}of-a-person").mkdir()
    owners[0].kill()
    owners[0].communicate()
    workflow.start()
    workflow.stop()
    left = set(tmp_path.iterdir()) - {tmp_path / f"{workflow.PREFIX}of-a-person"}
    owners[1].kill()
    owners[1].communicate()
    assert len(left) == 1
    assert left < before
    assert (tmp_path / f"{workflow.PREFIX}of-a-person").exists()


REFUSED = {
    ("v100", "algo"): "accelerator",
    ("cpu-jax", "algo"): "jax",
    ("native", "impl"): "not emulated",
    ("cpu", "control"): "Control",
}


@pytest.mark.parametrize(("hardware", "variant"), REFUSED)
def test_what_is_not_safe_or_measures_processes_is_refused(hardware, variant, write_study, tmp_path):
    task = {"models": ["smallcnn"], "datasets": ["digits"], "recipe": "short", "seeds": 2}
    write_study(
        tmp_path,
        {
            "study": "refused",
            "grid": [task | {"hardware": [hardware], "variants": [variant]}],
            "hardware": {"native": {"accelerator": "cpu", "impl_noise": "native"}},
            "recipes": {"short": {"epochs": 1, "batch_size": 64, "learning_rate": 0.01}},
        },
    )
    place = ("--model", "smallcnn", "--dataset", "digits", "--hardware", hardware, "--variant", variant)
    files = [part for name in ("data", "weights", "history", "record", "checkpoint") for part in (f"--{name}", "x")]
    asked = ("train", "--study", str(tmp_path / "study.yaml"), *place, "--seed", "1", *files)
    with pytest.raises(dispatcher.Refused, match=REFUSED[hardware, variant]):
        dispatcher._imports(cli.parsed(asked))
