"""Bad input on purpose: a verb of a finished study with one of its inputs changed, thousands of times.

Each case starts in a copy of the small study of fuzz_base.py, of hard links, puts something bad in the place of one
file that a command names, or that lies in a folder that it names, or of one of its arguments, and performs the command
in a process of its own. A case fails if its output has a traceback, a warning, or anything that a terminal would obey;
if its exit code is not one of those that are documented, or bad input is not one line; if it is ended by a signal,
takes too long or too much memory; if it leaves a process; or if input that was refused costs a file.

    python tests/fuzz/fuzz.py --cases 3000 --seed 1
    python tests/fuzz/fuzz.py --cases 200 --seconds 240 --seed 1   # as many as there is time for
    python tests/fuzz/fuzz.py --seed 1 --only 1234   # one case again, with what it printed; its folder stays

The first use makes the study, in a few minutes; later ones find it in --folder.
"""

import argparse
import functools
import json
import math
import os
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

# What Python compiles beside a study's own modules is none of its files: it would be damaged, too.
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"

import fuzz_base
import fuzz_mutations

from toolnoise import cli
from toolnoise.study import job_code

MOST_MEMORY, SECONDS = 3 * 2**30, 600
# Besides 0 and 2, which each verb may end with.
CODES = {verb: {1} for verb in ("audit", "check", "diff", "rebuild", "gate", "run")} | {"keep": {1, 3}}
TRACEBACK = re.compile(r"^\s*(?:\+ +)?Traceback \(most recent call last\)|^Fatal Python error", re.MULTILINE)
WARNING = re.compile(r"\b\w*Warning: .*")
OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
MEMORY = "not enough memory"
ARGUMENTS_SHARE = 0.2

RUN = "results/fuzz/runs/linear/mine/cpu"
CELL = "results/fuzz/predictions/linear/mine/cpu"
RESULTS = "results/fuzz/study.json"
DATA, STABILITY = "results/fuzz/data/mine.npz", "results/fuzz/metrics/stability.csv"
# The verbs that people call: by verb, its command lines.
BY_HAND = {
    "init": ["own/model.py"],
    "run": ["study.yaml --dry-run --quiet all"],
    "summary": [f"--study {RESULTS}", f"--study {RESULTS} --json", "--study study.yaml"],
    "doctor": [""],
    "estimate": [f"--study {RESULTS}", "--study study.yaml --json"],
    "rebuild": ["results/fuzz/metrics/cells/linear/mine/cpu"],
    "diff": [f"{RUN}/control/1 {RUN}/control/2", f"{RUN}/control {RUN}/algo_impl --json", "results/fuzz results/fuzz"],
    "audit": ["results/fuzz", "results/fuzz --json --strict", "results/fuzz --require-signature key.pub"],
    "sign": ["results/fuzz --key key", "results/fuzz --key key.pub"],
    "export": ["results/fuzz --out new.tar.gz", "study.yaml --out new.tar --hardware cpu --no-predictions"],
    "import": [
        *("fuzz.tar.gz --into elsewhere --study study.yaml --other-code", "fuzz.tar.gz --other-code"),
        "fuzz.tar.gz --into elsewhere --study study.yaml --require-signature key.pub",
    ],
    "crate": ["results/fuzz --out new", "results/fuzz --out new.zip --embed"],
    "compare": [
        *("a.npy b.npy --labels y.npy", "a.npz b.npz --labels y.npy --json", "a.csv b.csv --labels y.npy --paired"),
        *(f"{CELL}/algo.npy {CELL}/algo_impl.npy", f"{CELL}/control.npy {CELL}/algo.npy --labels {DATA}"),
        "--arm found/a/seed1.npy --arm b.npy --labels y.npy",
        *("a-named.csv b-named.csv --paired", "a-right.csv b-right.csv --json", "a-right.csv b.npy --labels y.npy"),
        *("a-odds.npy b-odds.npy --labels many.npy", "a-words.npy b-words.npy --labels words.npy --json"),
        *("a1-log.jsonl b1-log.jsonl --metric acc,strict", "a.eval b.eval --metric match --cluster passage --json"),
        *("a-log.json b.eval --metric match", "a-log.csv b-log.csv --correct --paired --cluster passage"),
        *("found.csv --metric score --against previous", "curves.csv --metric acc --last --lower --json"),
        *("wide.csv --metric acc --latex", "found.csv found.csv --metric score --by arm --seed none"),
        *("a-nll.npy b-nll.npy --losses", "a-values.npy b-values.npy --values --labels values.npy --json"),
    ],
    "check": [
        "--limit 1 -- sh -c 'cp -r left/scores/. \"$0\"' {out}",
        "--sources init --json -- sh -c 'cp -r left/metric/. \"$0\"' {out}",
        "--sources init -- sh -c 'cp -r left/losses/. \"$0\"' {out}",
    ],
    "adopt": [
        *("found/{arm}/seed{seed}.npy --labels y.npy --name new", "found.csv --labels y.npy --name new"),
        *("found.csv --metric score --name new", "values/{arm}-{seed}.npy --values --labels values.npy --name new"),
        *("{arm}-many/{seed}.npy --labels many.npy --name new", "{arm}-losses/{seed}.npy --losses --name new"),
    ],
    "gate": [
        "--reference losses-a.csv --new losses-b.csv --metric loss",
        "--reference losses-a.csv --new losses-b.csv --metric loss --one-sided --lower --json",
    ],
    "keep": [f"found.csv --metric score --by arm {way}" for way in ("--higher", "--lower --strict --json")],
    "plan": [
        *("--sd 0.3 --gain 0.3", "--sd 0.3 --sd-runs 5 --gain 0.4 --json"),
        f"--pilot {STABILITY} --gain 1 --arm linear/mine/cpu/algo",
        *("--pilot found.csv --metric score --higher --gain 0.1", "--pilot wide.csv --metric acc --arm a b"),
    ],
}
# Where a command names no file by itself.
READ = {"check": "left", "run": "study.yaml", "adopt": "found"}
# Verbs that start something large, and how often they are drawn.
SELDOM = {"run": 0.15, "estimate": 0.3, "rebuild": 0.3, "render": 0.3, "report": 0.1, "predict-elsewhere": 0.3}


class Case(NamedTuple):
    """A command line with one input changed, and what was changed; the file, if it was no argument."""

    words: list[str]
    changed: str
    file: str


class Ended(NamedTuple):
    """How a process ended: its exit code or minus its signal, and what it printed; whether it was late or left one."""

    code: int
    said: str
    late: bool
    left: bool


@functools.cache
def commands(folder: Path) -> dict[str, list[list[str]]]:
    """Command lines of each verb: those of BY_HAND, and a few of those of the study's jobs."""
    found = {verb: [[verb, *shlex.split(line)] for line in lines] for verb, lines in BY_HAND.items()}
    of_jobs: dict[str, list[list[str]]] = {}
    for words in json.loads((folder / "made").read_text()):
        of_jobs.setdefault(words[0], []).append(words)
    found |= {verb: lines[:: -(-len(lines) // 4)] for verb, lines in of_jobs.items()}
    if missing := found.keys() ^ {*cli.VERBS, *job_code.JOBS}:
        sys.exit(f"not fuzzed, or no verb: {', '.join(sorted(missing))}")
    return found


def files_of(words: list[str], folder: Path) -> list[Path]:
    """The files that a command names, and those in the folders of a study that it names."""
    # A parameter may be longer than a name of a file can be.
    short = [word for word in (*words[1:], READ.get(words[0], "")) if 0 < len(word) < 200]
    named = {folder / word for word in short if (folder / word).exists()}
    named |= {path.parent for path in named if path.name == "study.json"}
    inside = (one for path in named for one in (path.rglob("*") if path.is_dir() else [path]))
    return sorted(path for path in set(inside) if path.is_file() and not path.is_symlink())


def prepared(number: int, seed: int, base: Path, folder: Path) -> Case:
    """A case's folder with one input changed."""
    rng = random.Random(f"{seed}/{number}")
    found = commands(base)
    (verb,) = rng.choices(sorted(found), [SELDOM.get(verb, 1) for verb in sorted(found)])
    words = rng.choice(found[verb])

    def linked(source: str, target: str) -> None:
        # A shell writes into logs.
        (shutil.copy2 if "/logs/" in source else os.link)(source, target, follow_symlinks=False)

    shutil.copytree(base, folder, symlinks=True, copy_function=linked)
    os.mkfifo(folder / "pipe")
    # As often a file of each kind, however many there are.
    kinds: dict[tuple[str, bool], list[Path]] = {}
    for path in files_of(words, folder):
        kinds.setdefault((path.suffix, "statements" in path.parts), []).append(path)
    if not kinds or rng.random() < ARGUMENTS_SHARE:
        return Case(*fuzz_mutations.of_arguments(words, rng), "")
    path = rng.choice(kinds[rng.choice(sorted(kinds))])
    return Case(words, fuzz_mutations.of_file(path, rng), str(path.relative_to(folder)))


def performed(case: Case, folder: Path) -> Ended:
    """Perform a case in a process of its own, and end whatever it leaves."""

    def limited() -> None:
        for what, most in ((resource.RLIMIT_DATA, MOST_MEMORY), (resource.RLIMIT_FSIZE, 2**29)):
            resource.setrlimit(what, (most, most))

    env = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    words = [sys.executable, "-P", "-m", "toolnoise.cli", *map(os.fsencode, case.words)]
    log = folder.parent / "log"
    with log.open("wb") as said:
        into = {"stdin": subprocess.DEVNULL, "stdout": said, "stderr": said, "cwd": folder}
        process = subprocess.Popen(words, env=env, start_new_session=True, preexec_fn=limited, **into)
    try:
        process.wait(SECONDS)
        late = False
    except subprocess.TimeoutExpired:
        late = True
    try:
        os.killpg(process.pid, signal.SIGKILL)
        left = not late
    except ProcessLookupError:
        left = False
    return Ended(process.wait(), log.read_bytes().decode("utf-8", "replace"), late, left)


def states(folder: Path) -> dict[str, tuple[int, ...]]:
    """The files in a folder: by name, what changes when a file changes."""
    stats = {str(path.relative_to(folder)): path.lstat() for path in folder.rglob("*") if not path.is_dir()}
    return {name: (stat.st_ino, stat.st_size, stat.st_mtime_ns) for name, stat in stats.items()}


def lost(base: Path, folder: Path, changed: str) -> list[str]:
    """What a refused input has cost: files that are gone, or other than they were."""
    now = states(folder)
    return [
        f"lost or replaced {name}"
        for name, state in states(base).items()
        if name != changed
        and now.get(name) != state
        and not (name in now and (folder / name).read_bytes() == (base / name).read_bytes())
    ]


def judged(case: Case, end: Ended) -> list[str]:
    """Why a case fails; nothing if it does not."""
    reasons = ["traceback"] * bool(TRACEBACK.search(end.said)) + ["memory"] * (MEMORY in end.said)
    reasons += [f"warning: {found[0][:150]}" for found in [WARNING.search(end.said)] if found]
    reasons += [f"prints {found[0]!r}" for found in [OBEYED.search(end.said)] if found]
    if end.late:
        reasons.append("hangs")
    elif end.code not in {0, 2} | CODES.get(next(iter(case.words), ""), set()):
        reasons.append(f"exit code {end.code}")
    lines = [line for line in end.said.splitlines() if line.startswith("toolnoise: ")]
    if end.code == 2 and len(lines) != 1:
        reasons.append(f"{len(lines)} lines for bad input")
    return reasons + ["leaves a process"] * end.left


def main() -> None:
    """Parse the command line and fuzz."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=3000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="K")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="repeat one case and keep its folder")
    parser.add_argument(
        "--seconds", type=int, default=math.inf, metavar="N", help="begin no case after so many seconds"
    )
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "toolnoise-fuzz")
    options = parser.parse_args()
    base = options.folder.resolve() / f"study-{fuzz_base.code()[:12]}"
    fuzz_base.make(base)
    before, started, done, failed = states(base), time.monotonic(), 0, 0
    for number in [options.only] if options.only else range(1, options.cases + 1):
        if time.monotonic() - started > options.seconds:
            break
        # Two folders deep: a path such as .. stays in it.
        scratch = Path(tempfile.mkdtemp(prefix=f"case-{number}-", dir=options.folder))
        case = prepared(number, options.seed, base, scratch / "deep/here")
        end = performed(case, scratch / "deep/here")
        reasons = judged(case, end) + (lost(base, scratch / "deep/here", case.file) if end.code == 2 else [])
        done, failed = done + 1, failed + bool(reasons)
        if reasons or options.only:
            said = f"case {number}: toolnoise {shlex.join(case.words)[:600]}\n    {case.changed[:300]}\n    "
            print(said + "\n    ".join(reasons), flush=True)
        if options.only:
            print(f"in {scratch}: exit code {end.code}\n{end.said}")
        else:
            shutil.rmtree(scratch, ignore_errors=True)
        if states(base) != before:
            sys.exit(f"case {number} has written into the study itself, in a file's own place")
    print(f"{failed} of {done} failed (seed {options.seed}, {time.monotonic() - started:.0f} s)")
    sys.exit(1 if failed or not done else 0)


if __name__ == "__main__":
    main()
