"""A workflow that is ended or killed in the middle of a training: what goes on, and the same bits in the end."""

import os
import pty
import select
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from conftest import NAME, bits, run_folder, study_of

from toolnoise.base import program
from toolnoise.provenance.statements import path_for

SCRIPTS = Path(sys.executable).parent
RUN = [SCRIPTS / "toolnoise", "run"]
SNAKEMAKE = [
    *(SCRIPTS / "snakemake", "--workflow-profile", program.profile("default"), "--snakefile", program.snakefile()),
    *("--configfile", "study.yaml"),
]
# The first run of a Control cell starts cold, the second warm: its job is a process of a template's.
COLD, WARM = 1, 2
STUDY = f"results/{NAME}/study.json"
# Enough for a training to be in the middle for some seconds.
EPOCHS = 2000


def command(words, seed, *options):
    record = (run_folder(Path(), seed) / "run.json").as_posix()
    return [*map(str, words), "--cores", "1", *options, record]


@pytest.fixture(scope="module")
def undisturbed(once, prepared, write_study, run):
    """The study with longer trainings and both of its runs, by which nothing was ended."""

    def make(folder):
        shutil.copytree(prepared, folder, dirs_exist_ok=True)
        study = study_of(2)
        study["recipes"]["here"]["epochs"] = EPOCHS
        write_study(folder, study)
        # The study of the longer trainings takes the place of the prepared one.
        for seed, more in ((COLD, [STUDY]), (WARM, [])):
            done = run(folder, *command(SNAKEMAKE, seed), *more)
            assert done.returncode == 0, done.stdout + done.stderr

    return once("undisturbed", make)


@pytest.fixture
def folder(prepared, undisturbed, tmp_path):
    """The study before its first training."""
    place = shutil.copytree(prepared, tmp_path / "study")
    for name in ("study.yaml", STUDY, path_for(STUDY)):
        shutil.copy2(undisturbed / name, place / name)
    return place


@pytest.fixture
def here(folder):
    """What runs in the study's folder."""
    return lambda: [one for one in psutil.process_iter(["cwd"]) if one.info["cwd"] == str(folder)]


@pytest.fixture
def locks(folder):
    return lambda: sorted(path.name for path in folder.glob(".snakemake/locks/*"))


@pytest.fixture
def is_training(folder):
    """Whether a run has ended an epoch."""
    logs = folder / f"logs/{NAME}/train/linear/digits/cpu/control"

    def ask(seed):
        log = logs / f"{seed}.log"
        return log.exists() and "epoch 1 of" in log.read_text()

    return ask


@pytest.fixture
def start(folder, here, until, is_training):
    """Start a workflow; returns its process once a training has ended an epoch."""
    started = []

    def one(words, seed=COLD, *, nohup=False):
        # A shell may have started these tests in the background, where it ignores SIGINT, or under nohup.
        signals = "--ignore-signal=HUP" if nohup else "--default-signal=HUP"
        pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        with_signals = ["env", "--default-signal=INT", signals, *command(words, seed)]
        started.append(subprocess.Popen(with_signals, cwd=folder, **pipe))
        until(lambda: started[-1].poll() is not None or is_training(seed))
        assert started[-1].poll() is None, started[-1].communicate()
        return started[-1]

    yield one
    for process in here():
        process.kill()
    for process in started:
        process.communicate()


@pytest.fixture
def type_again(run, folder):
    """Type a command; its exit code and what it said."""

    def typed(words, seed, *options):
        done = run(folder, *command(words, seed, *options))
        return done.returncode, done.stdout + done.stderr

    return typed


@pytest.fixture
def require_equal_bits(undisturbed, folder, here, locks, findings):
    """The run is that of the undisturbed study, the audit finds nothing, and nothing is left."""

    def require(seed):
        assert bits(folder, seed) == bits(undisturbed, seed)
        assert findings(folder, complete=False) == []
        assert locks() == []
        assert not here()

    return require


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP, signal.SIGTERM], ids=lambda number: number.name)
def test_toolnoise_run_that_is_ended_unlocks_and_the_same_command_goes_on(
    number, start, here, locks, type_again, require_equal_bits
):
    ended = start(RUN)
    ended.send_signal(number)
    said, _ = ended.communicate(timeout=120)
    assert ended.returncode == 1, said
    assert "Traceback" not in said
    assert "the same command goes on: toolnoise run --cores 1" in said.splitlines()[-1]
    assert locks() == []
    assert not here()
    assert type_again(RUN, COLD)[0] == 0
    require_equal_bits(COLD)


def test_under_nohup_a_hangup_ends_nothing(start, here, require_equal_bits):
    goes_on = start(RUN, nohup=True)
    for process in here():
        process.send_signal(signal.SIGHUP)
    said, _ = goes_on.communicate(timeout=120)
    assert goes_on.returncode == 0, said
    require_equal_bits(COLD)


def test_a_terminal_that_is_lost_ends_toolnoise_run_in_order(
    folder, here, until, is_training, type_again, require_equal_bits
):
    terminal, other = pty.openpty()
    # The shell makes this terminal its own, as a login does.
    login = ["env", "--default-signal=HUP,INT", "setsid", "--ctty", "--wait", "bash", "--norc", "-i"]
    shell = subprocess.Popen(login, cwd=folder, start_new_session=True, stdin=other, stdout=other, stderr=other)
    os.close(other)
    os.write(terminal, f"{shlex.join(command(RUN, COLD))}\n".encode())

    def trains():
        while select.select([terminal], [], [], 0)[0]:
            os.read(terminal, 4096)
        return is_training(COLD)

    until(trains)
    os.close(terminal)
    shell.wait()
    until(lambda: not here())
    assert type_again(RUN, COLD)[0] == 0
    require_equal_bits(COLD)


def test_if_toolnoise_run_is_killed_snakemake_ends_its_jobs_and_unlocks(
    start, here, until, type_again, require_equal_bits
):
    start(RUN).kill()
    until(lambda: not here())
    assert type_again(RUN, COLD)[0] == 0
    require_equal_bits(COLD)


@pytest.mark.parametrize("seed", [COLD, WARM], ids=["cold", "warm"])
def test_after_a_kill_of_snakemake_no_output_has_two_writers_and_unlock_ends_in_equal_bits(
    seed, start, here, locks, until, type_again, require_equal_bits
):
    killed = start(SNAKEMAKE, seed)
    killed.kill()
    killed.wait()
    # Its jobs go on. Here they wait, to be in the middle of the training as long as this test needs that.
    for process in here():
        process.suspend()
    # One may have ended meanwhile.
    left = here()
    assert len(locks()) == 2
    code, said = type_again(SNAKEMAKE, seed)
    assert (code, "snakemake --unlock" in said) == (1, True), said
    assert type_again(SNAKEMAKE, seed, "--unlock")[0] == 0
    assert locks() == []
    code, said = type_again(SNAKEMAKE, seed)
    assert (code, "another process is making it" in said) == (1, True), said
    assert len(here()) == len(left)
    for process in left:
        process.resume()
    until(lambda: not here())
    code, said = type_again(SNAKEMAKE, seed, "--rerun-incomplete")
    assert code == 0, said
    require_equal_bits(seed)


def test_after_a_kill_of_snakemake_and_its_jobs_unlock_ends_in_equal_bits(start, here, type_again, require_equal_bits):
    killed = start(SNAKEMAKE)
    for process in here():
        process.kill()
    killed.wait()
    assert type_again(SNAKEMAKE, COLD, "--unlock")[0] == 0
    code, said = type_again(SNAKEMAKE, COLD, "--rerun-incomplete")
    assert code == 0, said
    require_equal_bits(COLD)


@pytest.mark.parametrize("of", ["toolnoise train", "warm.template"])
def test_after_a_kill_of_a_job_or_a_template_the_same_command_ends_in_equal_bits(
    of, start, here, type_again, require_equal_bits
):
    fails = start(SNAKEMAKE, WARM)
    for process in here():
        if of in " ".join(process.cmdline()).replace(f"{SCRIPTS}/", ""):
            process.kill()
    said, _ = fails.communicate(timeout=120)
    assert fails.returncode == 1, said
    code, said = type_again(SNAKEMAKE, WARM)
    assert code == 0, said
    require_equal_bits(WARM)
