"""Signals to the processes of a workflow, one at a time: does it end with the bits of an undisturbed one?

A point is a signal, a process and a phase of a small study. The signal is sent once the phase has begun. The workflow
ends or goes on; if it has failed, the same command is typed once more, and never `--unlock`. Then every file must have
the bits that two undisturbed studies have in common, the audit must find nothing, and no process, lock, record or
folder may be left. If a process ends before its signal comes, the point is tried again.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import yaml

from toolnoise.base import program
from toolnoise.commands import session
from toolnoise.verify import tree

SIGNALS = ("TERM", "HUP", "INT", "KILL", "STOP+CONT")
# The verbs of each phase. Before them, the workflow has no jobs.
PHASES = {
    "start": (),
    "plan": (),
    "lock": (),
    "check": ("check-program",),
    "run": ("run-program",),
    "dump": ("gather-labels", "dump-outcomes"),
    "measure": ("measure-program", "measure-ratios"),
    "collect": ("collect", "judge-claims"),
    "render": ("render",),
    "page": ("show-cell", "write-page"),
}
BEFORE_JOBS = ("start", "plan", "lock")
# A job is the process that Snakemake started. Its worker does the work: a template's child, or an existing program.
PROCESSES = ("toolnoise run", "snakemake", "template", "job", "worker")
STUDY = {
    "study": "points",
    "models": {
        "mine": {
            "command": "python train.py {init} {out}",
            "sources": ["init", "shuffle"],
            "deterministic": "--fixed",
        }
    },
    "grid": [
        {
            "models": ["mine"],
            "datasets": ["outcome"],
            "hardware": ["command"],
            "variants": ["control", "algo"],
            "seeds": 2,
        }
    ],
    "figures": ["table2"],
}
# Softmax regression on the digits that come with scikit-learn, as an existing program writes it.
TRAINING = """
import gzip, importlib.util, os, pathlib, sys
import numpy as np

place = pathlib.Path(importlib.util.find_spec("sklearn").origin).parent / "datasets/data/digits.csv.gz"
digits = np.loadtxt(gzip.open(place), delimiter=",", max_rows=300).astype(np.float32)
images, labels, out = digits[:, :64] / 16, digits[:, 64].astype(int), sys.argv[2]
weights = np.random.default_rng(int(sys.argv[1])).normal(size=(64, 10)).astype(np.float32)
shuffle, rows = np.random.default_rng(int(os.environ["TOOLNOISE_SEED_SHUFFLE"])), []
for epoch in (1, 2):
    for one in shuffle.permutation(200):
        scores = images[one] @ weights
        chances = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
        weights -= np.float32(0.1) * np.outer(images[one], chances - np.eye(10)[labels[one]]).astype(np.float32)
    rows.append(f"{epoch},{float(weights.sum())!r}")
np.save(f"{out}/logits.npy", (images[200:] @ weights).astype(np.float32))
np.save(f"{out}/labels.npy", labels[200:])
np.savez(f"{out}/weights.npz", dense=weights)
open(f"{out}/history.csv", "w").write("epoch,total\\n" + "\\n".join(rows) + "\\n")
"""
# Seconds: for a workflow to end, for a process to appear, for what was left to end, and for a process to be stopped.
LIMIT, APPEARS, LEFT, STOPPED = 300, 60, 15, 0.5
TRIES = 5
ON, AGAIN, MISSED = "went on", "same command again", "never hit"
OWN_TRACEBACK = re.compile(r'^\s*File "[^"]*/workflow/(.*, in (?!<module>).*)$', re.MULTILINE)
# They have the size of all files, and times have not the same number of digits each time.
SIZED = ("results/points/index.html",)


class Point(NamedTuple):
    """A signal, the process that receives it, and the phase of the workflow."""

    signal: str
    process: str
    phase: str

    def __str__(self) -> str:
        return "/".join(self)


class Base(NamedTuple):
    """A finished study, and its files that are the same each time."""

    folder: Path
    same: dict[str, bytes]
    names: set[str]


class Missed(Exception):  # noqa: N818 (it is no error)
    """The process had ended before its signal came, or was never there."""


class Wrong(Exception):  # noqa: N818 (it is what is looked for)
    """The workflow did not end as it should have."""


def points() -> list[Point]:
    """All of them."""
    return [
        Point(number, process, phase)
        for phase in PHASES
        for process in PROCESSES
        if not (phase in BEFORE_JOBS and process not in ("toolnoise run", "snakemake"))
        for number in SIGNALS
    ]


def made(folder: Path) -> Base:
    """Perform the study twice, undisturbed."""
    found = []
    for name in ("one", "other"):
        place = folder / name
        place.mkdir(parents=True)
        (place / "study.yaml").write_text(yaml.safe_dump(STUDY))
        (place / "train.py").write_text(TRAINING)
        if end(place, started(place, command("snakemake"))):
            raise Wrong((place / "said.txt").read_text())
        found.append(_results(place))
    same = {name: content for name, content in found[0].items() if name not in SIZED and found[1].get(name) == content}
    return Base(folder / "one", same, {*found[0]})


def performed(point: Point, base: Base, folder: Path) -> str:
    """How the workflow of a point ended: by itself, after the same command, never hit, or what is wrong."""
    for attempt in range(TRIES):
        copy(base, folder, point.phase)
        try:
            # Each time a little sooner after a process was seen.
            outcome = _struck(point, folder, delay=0.02 * (TRIES - 1 - attempt) / TRIES)
            require_whole(base, folder)
            return outcome
        except Missed:
            continue
        except Wrong as wrong:
            return str(wrong)
        finally:
            _kill_all(folder)
            shutil.rmtree(folder)
    return MISSED


def _struck(point: Point, folder: Path, delay: float) -> str:
    workflow = started(folder, command(point.process))
    try:
        process = _found(point, workflow, folder)
        time.sleep(delay)
        _strike(process, point.signal)
    except Missed:
        _kill_all(folder)
        workflow.wait()
        raise
    if end(folder, workflow) == 0:
        return ON
    if end(folder, started(folder, command(point.process))):
        last = ((folder / "said.txt").read_text().strip().splitlines() or [""])[-1]
        raise Wrong(f"the same command failed: {last}")
    return AGAIN


def end(folder: Path, workflow: subprocess.Popen) -> int:
    """The exit code of a workflow; if `toolnoise run` was killed, Snakemake finishes its jobs first."""
    end = time.monotonic() + LIMIT
    while workflow.poll() is None or any(map(_is_snakemake, here(folder))):
        if time.monotonic() > end:
            _kill_all(folder)
            workflow.wait()
            raise Wrong(f"no end after {LIMIT} s")
        time.sleep(0.05)
    return workflow.returncode


def require_whole(base: Base, folder: Path) -> None:
    """Find what a folder has that it should not have, or lacks."""
    found = _results(folder)
    end = time.monotonic() + LEFT
    while (processes := here(folder)) and time.monotonic() < end:
        time.sleep(0.05)
    wrong = {
        "other bits": [name for name, content in base.same.items() if found.get(name) != content],
        "missing, or too much": base.names.symmetric_difference(found),
        "left behind": left_behind(folder),
        "a process is left": [" ".join(_words(one)) for one in processes],
        # Python has one of its own if it is interrupted while it starts and imports.
        "a traceback": OWN_TRACEBACK.findall((folder / "said.txt").read_text()),
    }
    for what, names in wrong.items():
        if names:
            raise Wrong(f"{what}: {', '.join(sorted(names)[:3])}")
    asked = [_script("toolnoise"), "audit", "results/points", "--json"]
    audit = subprocess.run(asked, cwd=folder, capture_output=True, text=True)
    findings = json.loads(audit.stdout)["findings"] if audit.stdout else [audit.stderr]
    if findings:
        raise Wrong(f"{len(findings)} findings, such as {findings[0]}")


def left_behind(folder: Path) -> list[str]:
    """The locks, records and temporary folders of workflows that have ended."""
    places = ((session.LOCKS, "*.lock"), (session.FOLDER, "*.json"), ("tmp", "toolnoise-*"))
    return [path.name for place, pattern in places for path in (folder / place).glob(pattern)]


def _results(folder: Path) -> dict[str, bytes]:
    files = (path for path in (folder / "results").rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def copy(base: Base, folder: Path, phase: str) -> None:
    """Copy the finished study without what this phase and those after it make."""
    shutil.copytree(base.folder, folder, symlinks=True)
    names = ["page"] if phase in BEFORE_JOBS else list(PHASES)[list(PHASES).index(phase) :]
    gone = {verb for name in names for verb in PHASES[name]}
    (one,) = tree.load(folder / "results/points").trees
    for stated in one.statements:
        if stated.statement.verb in gone:
            (one.root / stated.path).unlink()
            for output in stated.statement.outputs:
                (folder / output.name).unlink(missing_ok=True)
    for log in _logs(folder, gone):
        shutil.rmtree(log) if log.is_dir() else log.unlink()


def _logs(folder: Path, verbs: Iterator[str]) -> list[Path]:
    logs = folder / "logs/points"
    return [path for verb in verbs for path in (logs / verb, logs / f"{verb}.log") if path.exists()]


def _script(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


def command(process: str) -> list[str]:
    """The command line of the workflow, with `toolnoise run` or without it."""
    plain = [_script("snakemake"), "--snakefile", str(program.snakefile()), "--configfile", "study.yaml"]
    return [*([_script("toolnoise"), "run"] if process == "toolnoise run" else plain), "--cores", "2"]


def started(folder: Path, words: list[str], **streams: Any) -> subprocess.Popen:
    """Start a program in a folder as in a session of its own."""
    (folder / "tmp").mkdir(exist_ok=True)
    with (folder / "said.txt").open("a") as said:
        return subprocess.Popen(
            # In the background, a shell ignores Ctrl-C, and nohup a hangup.
            ["env", "--default-signal=HUP,INT", *words],
            cwd=folder,
            env=os.environ | {"TMPDIR": str(folder / "tmp")},
            start_new_session=True,
            **{"stdin": subprocess.DEVNULL, "stdout": said, "stderr": said, **streams},
        )


def _found(point: Point, workflow: subprocess.Popen, folder: Path) -> psutil.Process:
    """The process of a point, as soon as its phase has begun."""
    started = time.monotonic()
    while time.monotonic() < started + APPEARS and workflow.poll() is None:
        with suppress(psutil.Error, OSError):
            if has_begun(point.phase, folder, time.monotonic() - started):
                for process in _processes(point, psutil.Process(workflow.pid)):
                    return process
        time.sleep(0.002)
    raise Missed


def has_begun(phase: str, folder: Path, seconds: float) -> bool:
    match phase:
        case "start":
            return seconds > 0.3
        case "plan":
            return any((folder / session.FOLDER).glob("*.json"))
        case "lock":
            return any((folder / session.LOCKS).glob("*.lock"))
    return bool(_logs(folder, PHASES[phase]))


def _processes(point: Point, top: psutil.Process) -> Iterator[psutil.Process]:
    """The processes of a point; the first is that of the workflow."""
    verbs = PHASES[point.phase]
    words = {one: _words(one) for one in (top, *top.children(recursive=True))}
    jobs = [one for one in words if {*verbs}.intersection(words[one][2:3]) and Path(words[one][1]).name == "toolnoise"]
    # A template's children have its words, too.
    others = (child for one in words if _is_snakemake(one) for child in one.children())
    templates = [child for child in others if "toolnoise.warm.template" in _words(child)]
    match point.process:
        case "toolnoise run":
            yield top
        case "snakemake":
            yield from filter(_is_snakemake, words)
        case "template":
            yield from templates
        case "job":
            yield from jobs
        case "worker":
            yield from (child for job in jobs for child in job.children())
            for child in (child for template in templates for child in template.children()):
                log = str(Path(f"/proc/{child.pid}/fd/2").readlink())
                if any(f"/logs/points/{verb}" in log for verb in verbs):
                    yield child


def _is_snakemake(process: psutil.Process) -> bool:
    return any(Path(word).name == "snakemake" for word in _words(process)[1:2])


def _words(process: psutil.Process) -> list[str]:
    with suppress(psutil.Error):
        return process.cmdline()
    return []


def _strike(process: psutil.Process, name: str) -> None:
    first, *others = (getattr(signal, f"SIG{part}") for part in name.split("+"))
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            raise Missed
        process.send_signal(first)
    except psutil.NoSuchProcess:
        raise Missed from None
    for number in others:
        time.sleep(STOPPED)
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)


def _kill_all(folder: Path) -> None:
    for process in here(folder):
        with suppress(psutil.Error):
            process.kill()
            process.wait(LEFT)


def here(folder: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.cwd() == str(folder):
                found.append(process)
    return found


def outcomes(some: list[Point], base: Base, place: Path, at_once: int) -> Iterator[tuple[Point, str]]:
    """Perform points, several at once."""

    def one(point: Point) -> tuple[Point, str]:
        return point, performed(point, base, place / re.sub("[/ ]", "-", str(point)))

    with ThreadPoolExecutor(at_once) as pool:
        yield from pool.map(one, some)
