"""`toolnoise run` from a folder that is not the clone: Snakemake's results, exit code and signals, and the summary."""

import shlex
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest


def test_a_finished_study_is_summed_up_and_the_command_can_be_pasted(copied, toolnoise, run):
    done = toolnoise(copied, "run", "--cores", "1")
    assert done.returncode == 0, done.stderr
    assert "the page: results/small/index.html" in done.stdout
    assert "bit-equal" in done.stdout
    command = next(line for line in done.stderr.splitlines() if "--configfile study.yaml" in line)
    again = run(copied, *shlex.split(command))
    assert again.returncode == 0
    assert "Nothing to be done" in again.stdout + again.stderr


def test_a_dry_run_shows_what_is_planned_and_no_summary(copied, toolnoise):
    (copied / "results/small/index.html").unlink()
    done = toolnoise(copied, "run", "-n")
    assert done.returncode == 0, done.stderr
    assert "write_page" in done.stderr + done.stdout
    assert "the page:" not in done.stdout


def test_a_study_that_snakemake_refuses_ends_with_its_exit_code(copied, toolnoise, change_study):
    change_study(copied, lambda study: study["grid"][0].update(models=["smalcnn"]))
    done = toolnoise(copied, "run")
    assert done.returncode != 0
    assert "'smallcnn'?" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_verbs_that_read_a_study_find_that_of_the_folder(copied, toolnoise):
    for verb, word in (("summary", "bit-equal"), ("status", "runs are done"), ("estimate", "trainings")):
        done = toolnoise(copied, verb)
        assert done.returncode == 0, done.stderr
        assert word in done.stdout


LONG = {
    "study": "long",
    "grid": [
        {
            "models": ["smallcnn"],
            "datasets": ["digits"],
            "recipe": "long",
            "hardware": ["cpu"],
            "variants": ["algo"],
            "seeds": 1,
        }
    ],
    "recipes": {"long": {"epochs": 100_000, "batch_size": 256, "learning_rate": 0.01}},
    "figures": [],
}


@pytest.fixture
def training(tmp_path, write_study, until):
    """A long training that `toolnoise run` has started, in its first epochs."""
    write_study(tmp_path, LONG)
    command = [Path(sys.executable).with_name("toolnoise"), "run", "--cores", "1"]
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    log = tmp_path / "logs/long/train/smallcnn/digits/cpu/algo/1.log"
    # A shell may have started these tests in the background, where it ignores SIGINT.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(command, cwd=tmp_path, **pipe) as process:
        signal.signal(signal.SIGINT, before)
        try:
            until(lambda: process.poll() is not None or (log.exists() and "epoch 1 of" in log.read_text()))
            yield process
        finally:
            if process.poll() is None:
                process.terminate()


def test_ctrl_c_reaches_snakemake_and_its_jobs_and_says_what_goes_on(training, tmp_path):
    training.send_signal(signal.SIGINT)
    said, _ = training.communicate(timeout=120)
    assert training.returncode == 1, said
    assert "Traceback" not in said
    assert said.splitlines()[-1].endswith("the same command goes on: toolnoise run --cores 1")
    assert not list(tmp_path.glob(".snakemake/locks/*"))
    assert not [process for process in psutil.process_iter(["cwd"]) if process.info["cwd"] == str(tmp_path)]
