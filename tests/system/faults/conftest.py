"""A study whose jobs are performed with faults: a run for each case, all with the same bits.

A driver forks a child for each case; a shim in C, preloaded, counts what the child does to files and strikes at one of
these operations. Nothing of the package knows of it.
"""

import itertools
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from toolnoise.study import grid, layout
from toolnoise.study.cells import Cell, Training

HERE = Path(__file__).parent
NAME = "faults"
# In a control cell nothing varies: every run must have the same bits.
CELL = Cell("linear", "digits", "cpu", "control")
# Enough for an operation each.
RUNS = 100
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def study_of(runs):
    """A study of one control cell, as cheap as there is."""
    block = {"models": ["linear"], "datasets": ["digits"], "recipe": "here", "hardware": ["cpu"]}
    return {
        "study": NAME,
        "grid": [block | {"variants": ["control"], "seeds": runs}],
        "recipes": {"here": {"epochs": 2, "batch_size": 512, "learning_rate": 0.01}},
        "figures": ["table2"],
    }


class Ended(NamedTuple):
    """How a case ended: its exit code or minus its signal, its operations as letters, and what it said."""

    code: int
    done: str
    said: str


class Driver:
    """The process that forks a child for each case."""

    def __init__(self, folder, shim, tooling):
        self.folder = folder
        imports = {"tooling": tooling, "deterministic": True}
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "driver.py"), json.dumps(imports)],
            cwd=folder,
            env=os.environ | ONE_THREAD | {"LD_PRELOAD": str(shim)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout.readline() == "ready\n"

    def perform(self, *several):
        """Perform cases at once: each a command line, and what its fault is."""
        logs = [self.folder / f"said-{number}.txt" for number in range(len(several))]
        whole = {"folder": str(self.folder), "fault": ""}
        cases = [
            whole | fault | {"argv": argv, "log": str(log)} for (argv, fault), log in zip(several, logs, strict=True)
        ]
        self.process.stdin.write(json.dumps(cases) + "\n")
        self.process.stdin.flush()
        ended = json.loads(self.process.stdout.readline())
        return [Ended(code, done, log.read_text()) for (code, done), log in zip(ended, logs, strict=True)]

    def do(self, argv, **fault):
        """Perform one verb."""
        (ended,) = self.perform((argv, fault))
        return ended


def run_folder(folder, seed):
    """Where a run's files are."""
    return Path(folder, layout.RECORD.format(study=NAME, **Training(*CELL, seed)._asdict())).parent


def bits(folder, seed):
    """All of a run that must be the same in each: its weights, and its history without times."""
    where = run_folder(folder, seed)
    rows = [line.split(",") for line in (where / "history.csv").read_text().splitlines()]
    times = rows[0].index("seconds")
    record = json.loads((where / "run.json").read_text())
    kept = {key: record[key] for key in ("initial_sha256", "status", "epochs", "data_sha256")}
    return (where / "weights.npz").read_bytes(), [row[:times] + row[times + 1 :] for row in rows], kept


def files_of(folder):
    """Every file below a folder, with its bytes."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def pytest_addoption(parser):
    """All of them: `pytest tests/system/faults --sweep`."""
    parser.addoption("--sweep", action="store_true", help="a fault at every operation, not at a sample of them")


def pytest_terminal_summary(terminalreporter):
    """How many kills were survived: each ended with the same bits."""
    for report in terminalreporter.getreports("passed"):
        for name, count in report.user_properties:
            terminalreporter.write_line(f"{report.head_line}: {count} {name}")


@pytest.fixture(scope="session")
def drawn(request):
    """Numbers from 1 to the last: all in a sweep, else a sample, which is the same each time."""

    def draw(last, most):
        numbers = range(1, last + 1)
        if request.config.getoption("--sweep", False):
            return list(numbers)
        return sorted(random.Random(18).sample(numbers, min(most, last)))

    return draw


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    """The compiled shim."""
    compiler = shutil.which("cc") or pytest.skip("no C compiler is installed")
    built = tmp_path_factory.mktemp("shim") / "shim.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", built, HERE / "shim.c", "-ldl"], check=True)
    return built


@pytest.fixture(scope="session")
def prepared(once, write_study, snakemake):
    """The study, with its data prepared; read-only."""

    def make(folder):
        write_study(folder, study_of(RUNS))
        done = snakemake(folder, "--until", "write_study", "prepare_data")
        assert done.returncode == 0, done.stdout + done.stderr

    return once("faults", make)


@pytest.fixture(scope="session")
def commands(snakemake):
    """The command lines of a study's jobs as Snakemake would run them, by verb and seed or figure."""

    def planned(folder):
        done = snakemake(folder, "--dry-run", "--forceall", "--printshellcmds")
        found = {}
        for line in re.findall(r"toolnoise (.*?) >\S+ 2>&1$", done.stdout + done.stderr, re.MULTILINE):
            words = shlex.split(line)
            about = dict(itertools.pairwise(words))
            seed = about.get("--seed", "").split(" ")[0].removeprefix("seed=")
            found[words[0], seed if words[0] == "train" else about.get("--figure", "")] = words
        return found

    return planned


@pytest.fixture(scope="session")
def planned(prepared, commands):
    """Those of the prepared study."""
    return commands(prepared)


@pytest.fixture(scope="session")
def drive(shim):
    """Start a driver in a prepared folder."""
    started = []

    def start(folder):
        study = grid.load_study(folder / f"results/{NAME}/study.json")
        started.append(Driver(folder, shim, dict(study.spec(CELL, 1).hardware.json)))
        return started[-1]

    yield start
    for driver in started:
        driver.process.kill()
        driver.process.communicate()


@pytest.fixture(scope="session")
def findings(toolnoise):
    """What an audit finds; without `complete`, apart from what is not made yet."""

    def audit(folder, *options, complete=True):
        done = toolnoise(folder, "audit", f"results/{NAME}", "--json", *options)
        found = json.loads(done.stdout)["findings"]
        return [one for one in found if complete or one["rule"] != "complete"]

    return audit
