"""`toolnoise run` that is ended, killed or started twice: its jobs end too, and the same command goes on."""

import os
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import psutil
import pytest

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
def start(tmp_path, write_study, until):
    """Start a long training with `toolnoise run`; returns its process once the training has ended an epoch."""
    write_study(tmp_path, LONG)
    command = [Path(sys.executable).with_name("toolnoise"), "run", "--cores", "1"]
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    log = tmp_path / "logs/long/train/smallcnn/digits/cpu/algo/1.log"
    started = []

    def one(hangup=signal.SIG_DFL, **variables):
        log.unlink(missing_ok=True)
        # A shell may have started these tests in the background, where it ignores SIGINT.
        before = [(number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGHUP)]
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGHUP, hangup)
        started.append(subprocess.Popen(command, cwd=tmp_path, env=os.environ | variables, **pipe))
        for number, handler in before:
            signal.signal(number, handler)
        until(lambda: started[-1].poll() is not None or (log.exists() and "epoch 1 of" in log.read_text()))
        return started[-1]

    yield one
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)


@pytest.fixture
def training(start):
    return start()


@pytest.fixture
def here(tmp_path):
    """What runs in the folder of the study, without this test's own."""
    return lambda: [one for one in psutil.process_iter(["cwd"]) if one.info["cwd"] == str(tmp_path)]


@pytest.fixture
def locks(tmp_path):
    return lambda: sorted(path.name for path in tmp_path.glob(".snakemake/locks/*"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_ctrl_c_and_a_lost_terminal_end_snakemake_and_its_jobs_and_it_is_said_what_goes_on(
    number, training, here, locks
):
    training.send_signal(number)
    said, _ = training.communicate(timeout=120)
    assert training.returncode == 1, said
    assert "Traceback" not in said
    assert said.splitlines()[-1].endswith("the same command goes on: toolnoise run --cores 1")
    assert locks() == []
    assert not here()


def test_under_nohup_a_hangup_ends_nothing(start, here):
    training = start(signal.SIG_IGN)
    for process in here():
        process.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        training.wait(timeout=3)


def test_after_a_kill_the_same_command_goes_on_and_ends_the_jobs_that_were_left(start, here, locks):
    # Warm jobs end with Snakemake, cold ones do not.
    killed = start(TOOLNOISE_WARM="0")
    for process in here():
        if "snakemake" in " ".join(process.cmdline()) or process.pid == killed.pid:
            process.kill()
    killed.wait()
    # Another version may name them differently: then session.py has to know.
    assert version("snakemake").startswith("9.27."), version("snakemake")
    assert locks() == ["0.input.lock", "0.output.lock"]
    left = here()
    assert left
    again = start()
    assert again.poll() is None, again.communicate()
    assert not any(process.is_running() for process in left)
    again.send_signal(signal.SIGINT)
    said, _ = again.communicate(timeout=120)
    assert "jobs of a Snakemake that was killed here were still running; they are ended and made again" in said
    assert not here()


def test_a_living_snakemake_keeps_its_lock(training, locks, snakemake, toolnoise, tmp_path):
    before = locks()
    for done in (snakemake(tmp_path), toolnoise(tmp_path, "run", "--cores", "1")):
        assert done.returncode == 1
        assert "Directory cannot be locked" in done.stdout + done.stderr
    assert locks() == before
    assert training.poll() is None
