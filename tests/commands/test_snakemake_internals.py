"""What is asked of Snakemake beyond its documented language: the size of its report, and locks that nobody can hold."""

import json
import os
import re
import signal
import subprocess
import sys
from importlib import metadata

import pytest

from toolnoise.base import files
from toolnoise.base.errors import BadInput
from toolnoise.base.program import ROOT
from toolnoise.commands import session
from toolnoise.commands import snakemake_internals as internals
from toolnoise.figures import snakemake_report

# What the Snakefile asks of Snakemake beyond its documented language is there, in the version that is installed


LOCKED = re.compile(r"^snakemake==(\S+)", re.MULTILINE)
SNAKEFILE = """
import json
from pathlib import Path
from toolnoise.commands import snakemake_internals as internals

parsed = {
    "module": internals.is_module(workflow),
    "main": internals.is_main_process(workflow),
    "dry": internals.is_dry_run(workflow),
    "snakefile": internals.snakefile(workflow),
    "given": [list(map(str, part)) for part in internals.given(workflow)],
}
Path(f"parsed-{internals.is_main_process(workflow)}-{internals.is_dry_run(workflow)}.json").write_text(json.dumps(parsed))


onstart:
    internals.do_not_limit_rate(workflow)
    started = {
        "here": internals.runs_here(workflow),
        "to run": sorted(wildcards.name for wildcards in internals.to_run(workflow, "make")),
        "to make": internals.to_make(workflow),
    }
    Path("started.json").write_text(json.dumps(started))


rule all:
    input:
        "a.made",
        "b.made",


rule make:
    output:
        "{name}.made",
    # In a process of its own, which parses this file again.
    run:
        Path(output[0]).write_text("")


module part:
    snakefile:
        "part.smk"


use rule * from part as part_*
"""
PART = """
import json
from pathlib import Path
from toolnoise.commands import snakemake_internals as internals

Path("part.json").write_text(json.dumps(internals.is_module(workflow)))


rule nothing:
    output:
        "nothing",
"""


@pytest.fixture
def snakemake(tmp_path):
    """Run a small workflow that writes down each answer; the answers of a file."""
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    (tmp_path / "part.smk").write_text(PART)
    (tmp_path / "own.yaml").write_text("a: 1\n")
    (tmp_path / "a.made").write_text("")

    def answers(file, *options):
        command = [
            sys.executable,
            "-m",
            "snakemake",
            "--cores",
            "1",
            "--configfile",
            "own.yaml",
            "--config",
            "own_key=2",
        ]
        done = subprocess.run([*command, *options], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads((tmp_path / file).read_text())

    return answers


def test_this_version_of_snakemake_has_been_tried():
    assert metadata.version("snakemake") in internals.TRIED
    locked = {
        line.split()[0] for file in ROOT.glob("requirements/*.txt") for line in file.read_text().splitlines() if line
    }
    assert {version.partition("==")[2] for version in locked if version.startswith("snakemake==")} <= set(
        internals.TRIED
    )


def test_a_dry_run_is_known_while_the_snakefile_is_parsed(snakemake, tmp_path):
    parsed = snakemake("parsed-True-True.json", "--dry-run")
    assert parsed["dry"]
    assert not (tmp_path / "started.json").exists()


def test_each_answer_is_right(snakemake, tmp_path):
    parsed = snakemake("parsed-True-False.json")
    given = [[str(tmp_path / "own.yaml")], ["own_key=2"]]
    expected = {"module": False, "main": True, "dry": False, "snakefile": str(tmp_path / "Snakefile"), "given": given}
    assert parsed == expected
    # A job of its own process is no main process.
    assert json.loads((tmp_path / "parsed-False-False.json").read_text())["main"] is False
    assert json.loads((tmp_path / "part.json").read_text()) is True
    started = {"here": True, "to run": ["b"], "to make": ["b.made"]}
    assert json.loads((tmp_path / "started.json").read_text()) == started


# Snakemake's report holds every figure in memory, encoded: what is too large is refused before it is asked for


@pytest.mark.parametrize("gib", [1, 4.2])
def test_a_huge_figure_is_one_line_with_the_limit(gib, tmp_path):
    figure = tmp_path / "figure.svg"
    with figure.open("wb") as file:
        file.truncate(int(gib * 2**30))
    with pytest.raises(BadInput) as refused:
        snakemake_report.write("study", [], [str(figure)], tmp_path / "report.html")
    assert str(refused.value) == f"{figure}: has {int(gib * 2**30)} bytes; at most {files.LARGEST_TEXT}"
    assert not (tmp_path / "report.html").exists()


# Writes a record and a lock as Snakemake does, and then lives on or is killed.
MAKER = """
import os, sys
from pathlib import Path
from toolnoise.commands import session
session.begin("results/mine")
print("begun", flush=True)
sys.stdin.readline()
session.LOCKS.mkdir(parents=True, exist_ok=True)
output = f"results/mine/{os.getpid()}.csv"
Path(session.LOCKS, f"{sys.argv[2]}.output.lock").write_text(f"results/mine/page.html\\n{output}\\n")
session.take_over([output], local=sys.argv[1] != "queue")
print("locked", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def maker(tmp_path, monkeypatch):
    """Start a process that locks the folder."""
    monkeypatch.chdir(tmp_path)
    started = []

    def start(jobs="here", number=0, *, lock=True):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        process = subprocess.Popen([sys.executable, "-c", MAKER, jobs, str(number)], **pipes)
        started.append(process)
        assert process.stdout.readline() == "begun\n"
        if lock:
            locked(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def locked(process):
    process.stdin.write("go\n")
    process.stdin.flush()
    assert process.stdout.readline() == "locked\n"


def killed(process):
    process.kill()
    process.wait()


@pytest.fixture
def begin(monkeypatch):
    """Begin as another Snakemake does; whether the folder is unlocked then."""
    monkeypatch.setattr(session, "_end_in_order_on_hangup", lambda: None)
    monkeypatch.setattr(session, "_end_without_a_word_on_interrupt", lambda: None)

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
    before, about = record.stat(), json.loads(record.read_text().splitlines()[0])
    record.write_text(json.dumps(about | {"host": "elsewhere", "boot": "another"}))
    os.utime(record, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert not begin()
    assert "on elsewhere locked this folder, and cannot be seen from here" in capsys.readouterr().err


@pytest.mark.parametrize("names", ["", "results/other/page.html\n"])
def test_a_lock_that_nobody_has_a_record_of_stays(names, maker, begin):
    killed(maker())
    (session.LOCKS / "0.output.lock").write_text(names)
    assert session.is_locked()
    assert not begin()


def test_the_lock_of_an_older_checkout_that_writes_no_record_is_not_taken_for_that_of_a_dead_process(maker, begin):
    killed(maker())
    (lock,) = session.LOCKS.iterdir()
    names = lock.read_text()
    lock.unlink()
    lock.write_text(names)
    assert session.is_locked()
    assert not begin()


def test_of_two_locks_at_once_that_of_the_dead_process_is_removed(maker, begin):
    # Both have a record before either has a lock.
    first, second = maker(number=0, lock=False), maker(number=1, lock=False)
    locked(first)
    locked(second)
    killed(first)
    assert not begin()
    assert [path.name for path in session.LOCKS.iterdir()] == ["1.output.lock"]
    killed(second)
    assert begin()


def test_a_lock_that_goes_while_it_is_read_is_nobodys(maker):
    maker()
    text = """
from toolnoise.commands import session
session._identity = lambda lock: lock[0].with_name("gone").stat()
session.begin("results/mine")
session.take_over(["results/mine/page.html"], local=True)
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


# Snakemake's own handler waits for a lock like this one.
HOLDER = """
import os, signal, sys, threading, time
from toolnoise.commands import session
ended, lock = threading.Event(), threading.Lock()
def end(*_):
    with lock:
        ended.set()
signal.signal(signal.SIGTERM, end)
session.begin("results/mine")
session.take_over([], local=True)
with lock:
    os.kill(os.getpid(), int(sys.argv[1]))
    time.sleep(0.1)
print(ended.wait(30))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_snakemake_holds_its_lock_ends_it_in_order(number, tmp_path):
    done = subprocess.run(
        ["env", "--default-signal=HUP", sys.executable, "-c", HOLDER, str(int(number))],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == ("True\n", "")


# Each passes Snakemake's own lock, as two do that look before either has written.
RIVAL = """
import sys
from toolnoise.commands import session
from toolnoise.base.errors import errors_in_one_line
with errors_in_one_line():
    session.begin("results/mine")
    print("begun", flush=True)
    sys.stdin.readline()
    session.take_over(sys.argv[1:], local=True)
    print("makes it", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def rivals(tmp_path):
    """Start several that make these files at the same moment; returns what each says then, and ends them."""

    def race(*several):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        processes = [
            subprocess.Popen([sys.executable, "-c", RIVAL, *files], cwd=tmp_path, **pipes) for files in several
        ]
        for process in processes:
            assert process.stdout.readline() == "begun\n"
        for process in processes:
            process.stdin.write("go\n")
            process.stdin.flush()
        said = [process.stdout.readline() for process in processes]
        return [
            (one, process.communicate()[1], process.returncode) for one, process in zip(said, processes, strict=True)
        ]

    return race


def test_of_several_that_start_at_once_one_makes_a_file(rivals):
    for _ in range(5):
        ended = rivals(*(["results/mine/page.html", f"results/mine/{number}.csv"] for number in range(3)))
        assert sorted(code for _, _, code in ended) == [0, 2, 2]
        for one, line, code in ended:
            assert one == ("makes it\n" if code == 0 else "")
            assert code == 0 or "is making results/mine/page.html; wait until it has ended" in line
        # The first to end must not free the way for others.
        assert not list(session.FOLDER.glob("*.json"))


def test_several_that_make_other_files_work_side_by_side(rivals):
    assert [code for _, _, code in rivals(["results/mine/one.csv"], ["results/mine/other.csv"])] == [0, 0]


@pytest.mark.parametrize(("error", "line"), [("KeyboardInterrupt", ""), ("ValueError", "ValueError")])
def test_ctrl_c_has_no_traceback_and_other_errors_have_theirs(error, line, tmp_path):
    text = f"from toolnoise.commands import session; session.begin('results/mine'); raise {error}"
    done = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0
    assert "".join(done.stderr.splitlines()[-1:]) == line
