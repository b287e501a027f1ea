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
    *(
        SCRIPTS / "snakemake",
        "--workflow-profile",
        program.path_of_profile("default"),
        "--snakefile",
        program.path_of_snakefile(),
    ),
    *("--configfile", "study.yaml"),
]
# The first run of a Control cell starts cold, the second warm: its job is a process of a template's.
COLD, WARM = 1, 2
STUDY = f"results/{NAME}/study.json"
# Enough for a training to be in the middle for some seconds; and seconds for a workflow to end on a busy machine.
EPOCHS, PATIENCE = 1500, 600


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


class Study:
    """The study in a folder, before its first training, and what is done with it."""

    def __init__(self, folder, undisturbed, until, findings):
        self.folder, self.undisturbed, self.until, self.findings = folder, undisturbed, until, findings
        self.started = []

    def here(self):
        """What runs in the folder."""
        return [one for one in psutil.process_iter(["cwd"]) if one.info["cwd"] == str(self.folder)]

    def locks(self):
        return sorted(path.name for path in self.folder.glob(".snakemake/locks/*"))

    def is_training(self, seed):
        """Whether a run has ended an epoch."""
        log = self.folder / f"logs/{NAME}/train/linear/digits/cpu/control/{seed}.log"
        return log.exists() and "epoch 1 of" in log.read_text()

    def start(self, words, seed=COLD, *, nohup=False):
        """Start a workflow; returns its process once a training has ended an epoch."""
        # A shell may have started these tests in the background, where it ignores SIGINT, or under nohup.
        signals = "--ignore-signal=HUP" if nohup else "--default-signal=HUP"
        pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        with_signals = ["env", "--default-signal=INT", signals, *command(words, seed)]
        process = subprocess.Popen(with_signals, cwd=self.folder, **pipe)
        self.started.append(process)
        self.until(lambda: process.poll() is not None or self.is_training(seed))
        assert process.poll() is None, process.communicate()
        return process

    def end(self):
        """Kill whatever still runs."""
        for process in self.here():
            process.kill()
        for process in self.started:
            process.communicate()

    def says(self, code, words, seed, *options):
        """What a command says that is typed again, and ends with this code."""
        done = subprocess.run(command(words, seed, *options), cwd=self.folder, capture_output=True, text=True)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def what_is_wrong(self, seed=COLD):
        """Nothing, if the run has the bits of the undisturbed study, the audit finds nothing, and nothing is left."""
        differ = [] if bits(self.folder, seed) == bits(self.undisturbed, seed) else ["other bits"]
        return [*differ, *self.findings(self.folder, complete=False), *self.locks(), *self.here()]


@pytest.fixture
def study(prepared, undisturbed, until, findings, tmp_path):
    folder = shutil.copytree(prepared, tmp_path / "study")
    for name in ("study.yaml", STUDY, path_for(STUDY)):
        shutil.copy2(undisturbed / name, folder / name)
    study = Study(folder, undisturbed, until, findings)
    yield study
    study.end()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP, signal.SIGTERM], ids=lambda number: number.name)
def test_toolnoise_run_that_is_ended_unlocks_and_the_same_command_goes_on(number, study):
    ended = study.start(RUN)
    ended.send_signal(number)
    said, _ = ended.communicate(timeout=PATIENCE)
    assert ended.returncode == 1, said
    assert "Traceback" not in said
    assert "the same command goes on: toolnoise run --cores 1" in said.splitlines()[-1]
    assert (study.locks(), study.here()) == ([], [])
    study.says(0, RUN, COLD)
    assert study.what_is_wrong() == []


def test_under_nohup_a_hangup_ends_nothing(study):
    goes_on = study.start(RUN, nohup=True)
    for process in study.here():
        process.send_signal(signal.SIGHUP)
    said, _ = goes_on.communicate(timeout=PATIENCE)
    assert goes_on.returncode == 0, said
    assert study.what_is_wrong() == []


def test_a_terminal_that_is_lost_ends_toolnoise_run_in_order(study):
    terminal, other = pty.openpty()
    # The shell makes this terminal its own, as a login does.
    login = ["env", "--default-signal=HUP,INT", "setsid", "--ctty", "--wait", "bash", "--norc", "-i"]
    shell = subprocess.Popen(login, cwd=study.folder, start_new_session=True, stdin=other, stdout=other, stderr=other)
    os.close(other)
    os.write(terminal, f"{shlex.join(command(RUN, COLD))}\n".encode())

    def trains():
        while select.select([terminal], [], [], 0)[0]:
            os.read(terminal, 4096)
        return study.is_training(COLD)

    study.until(trains)
    os.close(terminal)
    shell.wait()
    study.until(lambda: not study.here())
    study.says(0, RUN, COLD)
    assert study.what_is_wrong() == []


def test_if_toolnoise_run_is_killed_snakemake_ends_its_jobs_and_unlocks(study):
    study.start(RUN).kill()
    study.until(lambda: not study.here())
    study.says(0, RUN, COLD)
    assert study.what_is_wrong() == []


@pytest.mark.parametrize("seed", [COLD, WARM], ids=["cold", "warm"])
def test_after_a_kill_of_snakemake_no_output_has_two_writers_and_unlock_ends_in_equal_bits(seed, study):
    killed = study.start(SNAKEMAKE, seed)
    killed.kill()
    killed.wait()
    # Its jobs go on. Here they wait, to be in the middle of the training as long as this test needs that.
    for process in study.here():
        process.suspend()
    # One may have ended meanwhile.
    left = study.here()
    assert len(study.locks()) == 2
    assert "snakemake --unlock" in study.says(1, SNAKEMAKE, seed)
    study.says(0, SNAKEMAKE, seed, "--unlock")
    assert study.locks() == []
    assert "another process is making it" in study.says(1, SNAKEMAKE, seed)
    assert len(study.here()) == len(left)
    for process in left:
        process.resume()
    study.until(lambda: not study.here())
    study.says(0, SNAKEMAKE, seed, "--rerun-incomplete")
    assert study.what_is_wrong(seed) == []


def test_after_a_kill_of_snakemake_and_its_jobs_unlock_ends_in_equal_bits(study):
    killed = study.start(SNAKEMAKE)
    for process in study.here():
        process.kill()
    killed.wait()
    study.says(0, SNAKEMAKE, COLD, "--unlock")
    study.says(0, SNAKEMAKE, COLD, "--rerun-incomplete")
    assert study.what_is_wrong() == []


@pytest.mark.parametrize("of", ["toolnoise train", "warm.template"])
def test_after_a_kill_of_a_job_or_a_template_the_same_command_ends_in_equal_bits(of, study):
    fails = study.start(SNAKEMAKE, WARM)
    for process in study.here():
        if of in " ".join(process.cmdline()).replace(f"{SCRIPTS}/", ""):
            process.kill()
    said, _ = fails.communicate(timeout=PATIENCE)
    assert fails.returncode == 1, said
    study.says(0, SNAKEMAKE, WARM)
    assert study.what_is_wrong(WARM) == []
