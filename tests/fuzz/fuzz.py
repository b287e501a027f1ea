"""Bad input on purpose: a verb of a finished study with one of its inputs changed, thousands of times.

Each case starts in a copy of the small study of fuzz_base.py, of hard links, puts something bad in the place of one
file that a command reads, or of one of its arguments, and performs the command in a process of its own. Which files a
command reads is seen once, while it works undisturbed. A case fails if its output has a traceback, a warning, or
anything that a terminal would obey; if its exit code is not one of those that are documented, or bad input is not one
line; if it is ended by a signal, takes too long or too much memory; if it leaves a process or a scratch file; or if
input that was refused costs a file.

    python tests/fuzz/fuzz.py --cases 3000 --seed 1
    python tests/fuzz/fuzz.py --cases 200 --seconds 240 --seed 1   # as many as there is time for
    python tests/fuzz/fuzz.py --seed 1 --only 1234   # one case again, with what it printed; its folder stays

The first use makes the study, in a few minutes; later ones find it in --folder.
"""

import argparse
import contextlib
import json
import math
import os
import random
import re
import resource
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

# What Python compiles beside a study's own modules is none of its files: it would be damaged, too.
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"

import fuzz_base
import fuzz_mutations

from toolnoise import cli
from toolnoise.study import job_code

MOST_MEMORY = 2 * 2**30
SECONDS, SECONDS_SLOW, SECONDS_MUCH = 60, 300, 1200
# Seconds are the processor's: who waits for others, such as a pipe, or for its turn, may take so many times as long.
WAITING = 10
# Besides 0 and 2, which each verb may end with.
CODES = {
    "audit": {1},
    "check": {1},
    "diff": {1},
    "rebuild": {1},
    "doctor": {1},
    "gate": {1},
    "keep": {1, 3},
    "run": {1},
}
TRACEBACK = re.compile(r"^\s*(?:\+ +)?Traceback \(most recent call last\)|^Fatal Python error", re.MULTILINE)
WARNING = re.compile(r"\b\w*Warning: .*")
OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
MEMORY = "not enough memory"
ARGUMENTS_SHARE, REGISTRIES_SHARE = 0.2, 0.02

RUN = "results/fuzz/runs/linear/mine/cpu"
CELL = "results/fuzz/predictions/linear/mine/cpu"
RESULTS = "results/fuzz/study.json"
DATA, STABILITY = "results/fuzz/data/mine.npz", "results/fuzz/metrics/stability.csv"
# The verbs that people call: by verb, its command lines.
BY_HAND = {
    "init": ["command", "builder"],
    "run": ["study.yaml --dry-run --quiet all", "--dry-run --quiet all --configfile study.yaml"],
    "summary": [f"--study {RESULTS}", f"--study {RESULTS} --json", "--study study.yaml"],
    "doctor": [f"--study {RESULTS}", "--all", "--json"],
    "estimate": [f"--study {RESULTS}", "--study study.yaml --json"],
    "rebuild": ["results/fuzz/metrics/cells/linear/mine/cpu", "results/fuzz --sample 1 --seed 3"],
    "diff": [
        *(f"{RUN}/control/1 {RUN}/control/2", f"{RUN}/control {RUN}/algo_impl --json", "results/fuzz results/fuzz"),
        f"{RUN}/algo_impl/1 {RUN}/algo_impl/2",
    ],
    "audit": [
        *("results/fuzz", "results/fuzz --json --strict", "results --repair"),
        *("results/fuzz --require-signature key.pub", "results/few --repair", "results/few --sample 2"),
    ],
    "sign": ["results/fuzz --key key", "results/fuzz --key key.pub", "results/few --key key"],
    "export": ["results/fuzz --out new.tar.gz", "study.yaml --out new.tar --hardware cpu --no-predictions"],
    "import": [
        *("fuzz.tar.gz --into elsewhere --study study.yaml --other-code", "fuzz.tar.gz --other-code"),
        "signed.tar.gz --into few-elsewhere --study few.yaml --require-signature key.pub",
    ],
    "crate": ["results/fuzz --out new", "results/fuzz --out new.zip --embed"],
    "compare": [
        *("a.npy b.npy --labels y.npy", "a.npz b.npz --labels y.npy --json", "a.csv b.csv --labels y.npy --paired"),
        *(f"{CELL}/algo.npy {CELL}/algo_impl.npy", f"{CELL}/control.npy {CELL}/algo.npy --labels {DATA}"),
        "--arm found/a/seed1.npy --arm b.npy --labels y.npy --same-start",
        "found/a 'found/b/*.npy' --labels y.npy",
        *("a-named.csv b-named.csv --paired", "a-right.csv b-right.csv --json", "a-right.csv b.npy --labels y.npy"),
        *("a-odds.npy b-odds.npy --labels many.npy", "a-words.npy b-words.npy --labels words.npy --json"),
        *("a1-log.jsonl b1-log.jsonl --metric acc,strict", "a.eval b.eval --metric match --cluster passage --json"),
        "--arm a1-log.jsonl a2-log.jsonl --arm b1-log.jsonl b2-log.jsonl --metric acc,flexible --cluster passage",
        *("a-log.json b.eval --metric match", "a-log.csv b-log.csv --correct --paired --cluster passage"),
        *("found.csv --metric score --figure new.svg", "curves.csv --metric acc --last --lower --json"),
        *("wide.csv --metric acc --all-pairs", "found.csv found.csv --metric score --by arm --seed none"),
        *("a-nll.npy b-nll.npy --losses", "a-values.npy b-values.npy --values --labels values.npy --json"),
    ],
    "check": [
        "--limit 1 -- sh -c 'cp -r left/scores/. \"$0\"' {out}",
        "--sources init --json -- sh -c 'cp -r left/metric/. \"$0\"' {out}",
        "--deterministic=--fixed --sources init,shuffle -- sh -c 'cp -r left/classes/. \"$0\"' {out}",
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
        *("--sd 0.3 --gain 0.3", "--sd 0.3 --sd-runs 5 --runs 4 --json", "--sd 1 --runs 5 10"),
        f"--pilot {STABILITY} --gain 1 --model linear --dataset mine --hardware cpu --variant algo",
        *(
            "--pilot found.csv --metric score --higher --gain 0.1",
            "--pilot wide.csv --metric acc --arm a b --figure new.png",
        ),
        "--sd 0.3 --gain 0.3 --power 0.9 --level 0.01 --figure new.svg",
    ],
}
# What makes a verb do much more, above all where an argument names another study.
MUCH = {"--repair", "--sample"}
# Where a verb looks about by itself.
FOLDERS = {"init": "own"}
# What other programs, which the verb starts, read.
READ_ELSEWHERE = {"check": ["left/*/*"], "run-program": ["left/*/*"], "sign": ["key*"], "run": ["study.yaml"]}
# Verbs that start something large, and how often they are drawn.
SELDOM = {"run": 0.15, "estimate": 0.3, "rebuild": 0.3, "render": 0.3, "report": 0.1, "predict-elsewhere": 0.3}


# A verb that writes down the files that it opens, or reads its registries in a folder of the case.
VERB = """
import os, sys
from pathlib import Path

if seen := os.environ.pop("FUZZ_SEEN", ""):
    told = open(seen, "a")

    def hook(event, given):
        if event == "open" and isinstance(given[0], (str, os.PathLike)) and not (given[2] or 0) & 3:
            print(Path.cwd() / os.fspath(given[0]), file=told, flush=True)

    sys.addaudithook(hook)
from toolnoise import cli
from toolnoise.study import config

if registries := os.environ.pop("FUZZ_REGISTRIES", ""):
    config.ROOT = Path(registries)
sys.argv[0] = "toolnoise"
cli.main(sys.argv[1:])
"""


class Command(NamedTuple):
    """A command line that works, and the folder that it starts in."""

    words: list[str]
    folder: str = "."

    @property
    def verb(self) -> str:
        """Its verb."""
        return self.words[0]

    @property
    def seconds(self) -> int:
        """What it may take."""
        if not MUCH.isdisjoint(self.words):
            return SECONDS_MUCH
        return SECONDS_SLOW if self.verb in SELDOM or "--tooling" in self.words else SECONDS

    def typed(self, words: list[str] | None = None) -> str:
        """As a person would type it."""
        return shlex.join(["toolnoise", *(words or self.words)])


class Ended(NamedTuple):
    """How a process ended: its exit code or minus its signal, its peak of memory, and what it printed."""

    code: int
    memory: int
    said: str
    seconds: float
    late: bool
    left: bool


class Case(NamedTuple):
    """A command with one input changed: the words to perform, and what was changed."""

    number: int
    command: Command
    words: list[str]
    changed: str
    file: str


def commands(folder: Path) -> dict[str, list[Command]]:
    """Command lines of each verb: those of BY_HAND, and those of the study's jobs."""
    found = {
        verb: [Command([verb, *shlex.split(line)], FOLDERS.get(verb, ".")) for line in lines]
        for verb, lines in BY_HAND.items()
    }
    of_jobs: dict[str, list[Command]] = {}
    for words in json.loads((folder / "made").read_text()):
        of_jobs.setdefault(words[0], []).append(Command(words))
    # A few of each verb: they differ by their places.
    found |= {verb: lines[:: -(-len(lines) // 4)] for verb, lines in of_jobs.items()}
    if missing := found.keys() ^ {*cli.VERBS, *job_code.JOBS}:
        sys.exit(f"not fuzzed, or no verb: {', '.join(sorted(missing))}")
    return found


def performed(case: Case, folder: Path, seen: Path | None = None) -> Ended:
    """Perform a case in a process of its own, and end whatever it leaves."""
    command, log = case.command, folder.parent / "log"
    env = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    if case.file.startswith("program/"):
        env["FUZZ_REGISTRIES"] = str(folder / "program")
    if seen:
        env["FUZZ_SEEN"] = str(seen)

    def limited() -> None:
        for what, most in (
            (resource.RLIMIT_DATA, 3 * MOST_MEMORY),
            (resource.RLIMIT_FSIZE, 2**29),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_CPU, command.seconds),
        ):
            resource.setrlimit(what, (most, most))

    words = [sys.executable, "-P", "-c", VERB, *map(os.fsencode, case.words)]
    with log.open("wb") as said:
        into = {"stdin": subprocess.DEVNULL, "stdout": said, "stderr": said, "cwd": folder / command.folder}
        process = subprocess.Popen(words, env=env, start_new_session=True, preexec_fn=limited, **into)
    started, descriptor = time.monotonic(), os.pidfd_open(process.pid)
    late = not select.select([descriptor], [], [], WAITING * command.seconds)[0]
    os.close(descriptor)
    if late:
        os.killpg(process.pid, signal.SIGKILL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    left = False
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
        left = not late
    text = log.read_bytes().decode("utf-8", "replace")
    return Ended(process.returncode, usage.ru_maxrss * 1024, text, time.monotonic() - started, late, left)


# Cases


class Base:
    """The finished study: its files, and what must be so of them after each case."""

    def __init__(self, folder: Path) -> None:
        """Make the study if it is not there."""
        self.folder = folder / f"study-{fuzz_base.code()[:12]}"
        fuzz_base.make(self.folder)
        self.files = files(self.folder)

    def copy(self, case: Path) -> None:
        """Make a case's folder the study, by hard links, but for logs: a shell writes into those."""

        def linked(source: str, target: str) -> None:
            (shutil.copy2 if "/logs/" in source else os.link)(source, target, follow_symlinks=False)

        shutil.copytree(self.folder, case, symlinks=True, copy_function=linked)

    def lost(self, case: Path, changed: str) -> list[str]:
        """What a refused input has cost: files that are gone, other than they were, or left half-made."""
        now, lost = files(case), []
        for name in self.files:
            if name == changed or name.startswith("program/"):
                continue
            if name not in now:
                lost.append(f"lost {name}")
            elif now[name] != self.files[name] and (case / name).read_bytes() != (self.folder / name).read_bytes():
                lost.append(f"replaced {name}")
        names = (name.rpartition("/")[2] for name in now)
        return lost + [f"left {name}" for name in names if name.startswith(".") and name.count(".") > 2]

    def require_unchanged(self, case: Case) -> None:
        """End if a case has written into the study itself, in a file's own place."""
        now = files(self.folder)
        if written := [name for name, stat in self.files.items() if now.get(name) != stat]:
            sys.exit(f"written to in its place, in the study itself, by case {case.number}: {', '.join(written)}")


def files(folder: Path) -> dict[str, tuple[int, ...]]:
    """The files in a folder: by name, what changes when a file changes."""
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            stat = path.lstat()
            found[str(path.relative_to(folder))] = stat.st_ino, stat.st_size, stat.st_mtime_ns
    return found


def trace(base: Base, found: dict[str, list[Command]], scratch: Path) -> dict[str, list[str]]:
    """The files that each command reads, by the command as typed: kept beside the study.

    A command that fails undisturbed ends this program.
    """
    kept_in = base.folder.with_name("reads.json")
    kept: dict[str, list[str]] = json.loads(kept_in.read_text()) if kept_in.exists() else {}
    missing = [command for several in found.values() for command in several if command.typed() not in kept]
    for number, command in enumerate(missing, 1):
        if number % 20 == 1:
            print(f"command line {number} of {len(missing)} undisturbed: {command.verb}", flush=True)
        folder, seen = scratch / "traced/here", scratch / "seen"
        base.copy(folder)
        seen.touch()
        case = Case(0, command, command.words, "", "")
        end = performed(case, folder, seen)
        reasons = judged(case, end, [])
        if reasons or end.code == 2:
            sys.exit(f"undisturbed: {command.typed()}: {reasons}\n{end.said[-3000:]}")
        names = {os.path.relpath(line, folder) for line in seen.read_text().splitlines()}
        for pattern in READ_ELSEWHERE.get(command.verb, ()):
            names |= {str(path.relative_to(folder)) for path in folder.glob(pattern)}
        kept[command.typed()] = sorted(names & base.files.keys())
        kept_in.write_text(json.dumps(kept, indent=1))
        shutil.rmtree(folder.parent)
        seen.unlink()
    return kept


def drawn(number: int, seed: int, found: dict, reads: dict, base: Base) -> tuple[random.Random, Command, str]:
    """The random numbers of a case, its command, and the file to change if it is not an argument."""
    rng = random.Random(f"{seed}/{number}")
    verbs = sorted(found)
    (verb,) = rng.choices(verbs, [SELDOM.get(verb, 1) for verb in verbs])
    command = rng.choice(found[verb])
    names = reads[command.typed()]
    if "--study" in command.words and rng.random() < REGISTRIES_SHARE:
        return rng, command, rng.choice(sorted(name for name in base.files if name.startswith("program/")))
    if not names or rng.random() < ARGUMENTS_SHARE:
        return rng, command, ""
    # As often a file of each kind, however many there are.
    kinds: dict[str, list[str]] = {}
    for name in names:
        kinds.setdefault(f"{name.split('/')[2:3]}{Path(name).suffix}{'statements' in name}", []).append(name)
    return rng, command, rng.choice(kinds[rng.choice(sorted(kinds))])


def prepared(number: int, seed: int, found: dict, reads: dict, base: Base, folder: Path) -> Case:
    """A case's folder with one input changed."""
    rng, command, file = drawn(number, seed, found, reads, base)
    base.copy(folder)
    os.mkfifo(folder / "pipe")
    if file:
        return Case(number, command, command.words, fuzz_mutations.of_file(folder / file, rng), file)
    return Case(number, command, *fuzz_mutations.of_arguments(command.words, rng), "")


def judged(case: Case, end: Ended, lost: list[str]) -> list[str]:
    """Why a case fails; nothing if it does not."""
    reasons = []
    if TRACEBACK.search(end.said):
        reasons.append(f"traceback: {place_of(end.said)}")
    if found := WARNING.search(end.said):
        reasons.append(f"warning: {found[0][:150]}")
    if found := OBEYED.search(end.said):
        reasons.append(f"prints {found[0]!r}")
    if end.late:
        reasons.append(f"hangs: {end.seconds:.0f} s")
    elif end.code < 0:
        reasons.append(f"ended by {signal.Signals(-end.code).name}")
    elif end.code not in {0, 2} | CODES.get(case.command.verb, set()):
        reasons.append(f"exit code {end.code}")
    if end.code == 2:
        lines = [line for line in end.said.splitlines() if line.startswith("toolnoise: ")]
        if len(lines) != 1:
            reasons.append(f"{len(lines)} lines for bad input")
        reasons += lost
    if end.memory > MOST_MEMORY or MEMORY in end.said:
        reasons.append(f"memory: {end.memory / 2**30:.1f} GiB")
    if end.left:
        reasons.append("leaves a process")
    return reasons


def changed_bits(case: Case, folder: Path, base: Base) -> list[str]:
    """The weights that a training wrote, if they are not those of the study: a damaged checkpoint must not show."""
    if case.file != fuzz_base.CHECKPOINT or fuzz_mutations.FORGED in case.changed:
        return []
    name = case.words[case.words.index("--weights") + 1]
    return [] if (folder / name).read_bytes() == (base.folder / name).read_bytes() else [f"other bits: {name}"]


def place_of(said: str) -> str:
    """The last line of this package in a traceback, and the error."""
    frames = re.findall(r'File "\S*?/workflow/(\S+)", line (\d+), in (\S+)', said)
    where = "{}:{} {}".format(*frames[-1]) if frames else ""
    errors = [line for line in said.splitlines() if re.match(r"[\w.]+(Error|Exception|Interrupt|Exit|Error):?", line)]
    return f"{where} {errors[-1][:160] if errors else ''}"


def tried(number: int, seed: int, found: dict, reads: dict, base: Base, scratch: Path) -> tuple[Case, Ended, list[str]]:
    """Perform a case; why it fails, nothing if it does not."""
    # Two folders deep: a path such as .. stays in it.
    folder = scratch / f"case-{number}/here"
    case = prepared(number, seed, found, reads, base, folder)
    end = performed(case, folder)
    reasons = judged(case, end, base.lost(folder, case.file) if end.code == 2 else [])
    reasons += changed_bits(case, folder, base) if end.code == 0 else []
    base.require_unchanged(case)
    return case, end, reasons


def fuzz(options: argparse.Namespace, base: Base, found: dict, reads: dict, scratch: Path) -> tuple[int, int]:
    """Perform the cases; print those that fail, and return how many did, and how many were tried."""
    end_of_time = time.monotonic() + (options.seconds or math.inf)
    alike: Counter[tuple[str, str]] = Counter()
    done, slowest = 0, []

    def one(number: int) -> tuple[Case, Ended, list[str]] | None:
        if time.monotonic() > end_of_time:
            return None
        try:
            return tried(number, options.seed, found, reads, base, scratch)
        finally:
            if not options.only:
                shutil.rmtree(scratch / f"case-{number}", ignore_errors=True)

    numbers = [options.only] if options.only else range(options.first, options.cases + 1)
    with ThreadPoolExecutor(options.processes) as pool:
        for case, end, reasons in filter(None, pool.map(one, numbers)):
            done += 1
            slowest = sorted([*slowest, (round(end.seconds, 1), case.number, case.command.verb)])[-8:]
            if reasons:
                alike[(reasons[0][:140], case.command.verb)] += 1
                said = f"case {case.number}: {case.command.typed(case.words)[:600]}\n    {case.changed[:300]}\n    "
                print(said + "\n    ".join(reasons), flush=True)
            if options.only:
                print(f"in {scratch}: exit code {end.code}, {end.seconds:.1f} s, {end.memory >> 20} MiB\n{end.said}")
            elif done % 50 == 0:
                print(f"{done} tried, {alike.total()} failed", flush=True)
    for (reason, verb), count in alike.most_common():
        print(f"{count:5} {verb}: {reason}")
    print(f"slowest (seconds, case, verb): {slowest[::-1]}")
    return alike.total(), done


def main() -> None:
    """Parse the command line and fuzz."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=3000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="K")
    parser.add_argument("--first", type=int, default=1, metavar="NUMBER", help="the first case (1)")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="repeat one case and keep its folder")
    parser.add_argument("--seconds", type=int, metavar="N", help="begin no case after so many seconds of trying")
    parser.add_argument("--processes", type=int, default=2, metavar="N", help="cases at once (2)")
    parser.add_argument("--verbs", nargs="+", metavar="VERB", help="only these")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "toolnoise-fuzz")
    options = parser.parse_args()
    started = time.monotonic()
    base = Base(options.folder.resolve())
    found = commands(base.folder)
    scratch = Path(tempfile.mkdtemp(prefix="cases-", dir=options.folder))
    found = {verb: lines for verb, lines in found.items() if verb in (options.verbs or found)}
    reads = trace(base, found, scratch)
    lines = sum(map(len, found.values()))
    print(f"{len(found)} verbs, {lines} command lines, ready after {time.monotonic() - started:.0f} s", flush=True)
    failed, done = fuzz(options, base, found, reads, scratch)
    if not options.only:
        shutil.rmtree(scratch)
    print(f"{failed} of {done} failed (seed {options.seed}, {time.monotonic() - started:.0f} s)")
    sys.exit(1 if failed or not done else 0)


if __name__ == "__main__":
    main()
