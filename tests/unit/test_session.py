"""Which of Snakemake's locks are removed: those that nobody can hold any more."""

import json
import os
import subprocess
import sys

import pytest

from toolnoise.base import session

# Writes a record and a lock as Snakemake does, and then lives on or is killed.
MAKER = """
import os, sys
from pathlib import Path
from toolnoise.base import session
session.begin("results/mine")
session.LOCKS.mkdir(parents=True, exist_ok=True)
Path(session.LOCKS, "0.output.lock").write_text("results/mine/page.html\\n")
session.take_over(local=sys.argv[1] != "queue")
print("locked", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def maker(tmp_path, monkeypatch):
    """Start a process that locks the folder."""
    monkeypatch.chdir(tmp_path)
    started = []

    def start(jobs="here"):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        process = subprocess.Popen([sys.executable, "-c", MAKER, jobs], **pipes)
        started.append(process)
        assert process.stdout.readline() == "locked\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def killed(process):
    process.kill()
    process.wait()


@pytest.fixture
def begin(monkeypatch):
    """Begin as another Snakemake does; whether the folder is unlocked then."""
    monkeypatch.setattr(session, "_end_in_order_on_hangup", lambda: None)

    def unlocked():
        session.begin("results/mine")
        # Before any lock of its own.
        return not list(session.LOCKS.iterdir())

    yield unlocked
    for path in session._own:
        path.unlink(missing_ok=True)


def test_the_lock_of_a_killed_process_is_removed(maker, begin):
    killed(maker())
    assert not session.is_locked()
    assert begin()


def test_the_lock_of_a_living_process_stays(maker, begin):
    maker()
    assert session.is_locked()
    assert not begin()


def test_one_that_lives_keeps_the_lock_beside_one_that_was_killed(maker, begin):
    first = maker()
    maker()
    killed(first)
    assert not begin()


def test_the_lock_of_a_process_whose_jobs_are_in_a_queue_stays(maker, begin, capsys):
    process = maker("queue")
    killed(process)
    assert not begin()
    wanted = f"toolnoise: process {process.pid} was killed here, and its jobs may still be in the queue; "
    assert capsys.readouterr().err == wanted + "once they have ended: snakemake --unlock\n"


def test_the_lock_of_another_machine_stays(maker, begin, capsys):
    killed(maker())
    (record,) = session.FOLDER.glob("*.json")
    text = record.read_text()
    about = json.loads(text) | {"host": "elsewhere", "boot": "another"}
    before = record.stat()
    record.write_text(json.dumps(about))
    os.utime(record, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert not begin()
    assert "on elsewhere locked this folder, and cannot be seen from here" in capsys.readouterr().err


@pytest.mark.parametrize("names", ["", "results/other/page.html\n"])
def test_a_lock_that_nobody_has_a_record_of_stays(names, maker, begin):
    killed(maker())
    (session.LOCKS / "0.output.lock").write_text(names)
    assert session.is_locked()
    assert not begin()
