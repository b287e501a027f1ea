"""Bad input on purpose: a verb of a finished study with one of its inputs changed, thousands of times.

Each case starts in a copy of the small study of fuzz_base.py (hard links, of which only what the case before it has
changed is made anew: a whole copy takes longer than most verbs), puts something bad in the place of one file that a
command reads, or of one of its arguments, and performs the command in a process of its own, forked from one that has
imported the program. Which files a command reads is seen once, while it works undisturbed. A case fails if its output
has a traceback, a warning, or anything that a terminal would obey; if its exit code is not one of those that are
documented, or bad input is not one line; if it is ended by a signal, takes too long or too much memory; if it leaves a
process or a scratch file; or if input that was refused costs a file.

    python tests/fuzz/fuzz.py --cases 3000 --seed 1
    python tests/fuzz/fuzz.py --cases 200 --seconds 240 --seed 1   # as many as there is time for
    python tests/fuzz/fuzz.py --seed 1 --only 1234   # one case again, with what it printed; its folder stays

The first use makes the study, in a few minutes; later ones find it in --folder.
"""

import argparse
import contextlib
import gc
import importlib
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
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, NoReturn

# Before the import of NumPy, which reads it. A process with threads cannot be forked.
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
# What Python compiles beside a study's own modules is none of its files: it would be damaged, too.
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"

import fuzz_base
import fuzz_mutations

from toolnoise import cli, engines
from toolnoise.base import code_digest, program
from toolnoise.commands import jobs
from toolnoise.study import config, grid, job_code
from toolnoise.warm import template

MOST_MEMORY = 2 * 2**30
SECONDS, SECONDS_SLOW, SECONDS_MUCH = 60, 300, 1200
# Who waits for others, such as a pipe, needs no CPU. So many times as long it may take in all.
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
        *("a-odds.npy b-odds.npy --labels many.npy --by-label", "a-words.npy b-words.npy --labels words.npy --json"),
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
        "--preset record --target 9 --new losses-a.csv --metric loss",
    ],
    "keep": [f"found.csv --metric score --by arm {way}" for way in ("--higher", "--lower --strict --json")],
    "plan": [
        *("--sd 0.3 --gain 0.3", "--sd 0.3 --sd-runs 5 --ratio 1.5 --margin 1.5 --json", "--sd 1 --runs 5 10"),
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
# Verbs that import or start a framework by themselves.
COLD = ("run", "estimate")
# Verbs that start something large, and how often they are drawn.
SELDOM = {"run": 0.15, "estimate": 0.3, "rebuild": 0.3, "render": 0.3, "report": 0.1, "predict-elsewhere": 0.3}


class Command(NamedTuple):
    """A command line that works, the folder that it starts in, and whether it needs a process that imported nothing."""

    words: list[str]
    folder: str = "."
    cold: bool = False

    @property
    def verb(self) -> str:
        """Its verb."""
        return self.words[0]

    @property
    def seconds(self) -> int:
        """What it may take."""
        if not MUCH.isdisjoint(self.words):
            return SECONDS_MUCH
        return SECONDS_SLOW if self.cold or self.verb in SELDOM else SECONDS

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
    left: int


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
        verb: [Command([verb, *shlex.split(line)], FOLDERS.get(verb, "."), verb in COLD) for line in lines]
        for verb, lines in BY_HAND.items()
    }
    of_jobs: dict[str, list[Command]] = {}
    for words in json.loads((folder / "made").read_text()):
        of_jobs.setdefault(words[0], []).append(_job(words))
    # A few of each verb: they differ by their places.
    found |= {verb: lines[:: -(-len(lines) // 4)] for verb, lines in of_jobs.items()}
    if missing := found.keys() ^ {*cli.VERBS, *job_code.JOBS}:
        sys.exit(f"not fuzzed, or no verb: {', '.join(sorted(missing))}")
    return found


def _job(words: list[str]) -> Command:
    options = vars(cli.parsed(words))
    if "tooling" not in options:
        return Command(words)
    spec = jobs.spec_of(options)
    return Command(words, cold=spec["hardware"]["name"] == "cpu-jax" or "impl" in spec["variant"]["varying"])


# Processes


class Running(NamedTuple):
    """A process at work."""

    process: int
    descriptor: int
    started: float
    seconds: int
    log: Path


def start(case: Case, folder: Path, log: Path, seen: Path | None = None) -> Running:
    """Perform a case in a process of its own."""
    sys.stdout.flush()
    process = os.fork()
    if not process:
        _become(case, folder, log, seen)
    return Running(process, os.pidfd_open(process), time.monotonic(), case.command.seconds, log)


def _become(case: Case, folder: Path, log: Path, seen: Path | None) -> NoReturn:
    command, words = case.command, case.words
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        said = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(said, 1)
        os.dup2(said, 2)
        os.chdir(folder / command.folder)
        resource.setrlimit(resource.RLIMIT_DATA, (3 * MOST_MEMORY, 3 * MOST_MEMORY))
        resource.setrlimit(resource.RLIMIT_FSIZE, (2**29, 2**29))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        sys.argv = ["toolnoise", *words]
        if case.file.startswith("program/"):
            _read_registries_in(folder / "program")
        if seen:
            _record_files(seen)
        if command.cold:
            os.execv(sys.executable, [*program.python("toolnoise.warm.client"), *words])
        code = template.performed(words)
    except BaseException:
        traceback.print_exc()
        code = 70
    template.end(code)


def _read_registries_in(folder: Path) -> None:
    """Have the registries read in a case's own copy, and anew."""
    config.ROOT = folder
    config.registered.cache_clear()


def _record_files(seen: Path) -> None:
    found = seen.open("a")

    def hook(event: str, arguments: tuple) -> None:
        if event == "open" and isinstance(arguments[0], str | os.PathLike) and not (arguments[2] or 0) & 3:
            found.write(f"{Path.cwd() / os.fspath(arguments[0])}\n")
            found.flush()

    sys.addaudithook(hook)


def is_late(running: Running) -> bool:
    """Whether a process has computed, or waited, for too long: on a busy machine it may just not have had its turn."""
    elapsed = time.monotonic() - running.started
    if elapsed <= running.seconds:
        return False
    return elapsed > WAITING * running.seconds or _computed(running.process) > running.seconds


def _computed(leader: int) -> float:
    """The CPU seconds of a session."""
    ticks = 0
    for process in _session(leader):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def ended(running: Running, *, late: bool) -> Ended:
    """Wait for a process, or end it if it is late, and end whatever it has left."""
    seconds = time.monotonic() - running.started
    if late:
        for one in _session(running.process):
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
    _, status, usage = os.wait4(running.process, 0)
    os.close(running.descriptor)
    left = list(_session(running.process))
    for one in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)
    said = running.log.read_bytes().decode("utf-8", "replace")
    return Ended(
        os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024, said, seconds, late, 0 if late else len(left)
    )


def _session(leader: int) -> Iterator[int]:
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ProcessLookupError):
            if os.getsid(int(place.name)) == leader:
                yield int(place.name)


# Cases


class Base:
    """The finished study: its files, the commands, and the files that each of them reads."""

    def __init__(self, folder: Path) -> None:
        """Make the study if it is not there, and see what its commands read."""
        self.folder = folder / f"study-{fuzz_base.code()[:12]}"
        fuzz_base.make(self.folder)
        self.paths = paths(self.folder)
        self.files = {name: stat for name, stat in self.paths.items() if stat}

    def restore(self, case: Path) -> None:
        """Make a case's folder the study again, by hard links: only what differs is touched, or all if it is new."""
        if case.is_symlink() or not case.is_dir():
            case.unlink(missing_ok=True)
            case.mkdir(parents=True)
        found = paths(case)
        kept = self._kept(found)
        # What is in a folder comes before it.
        for name in sorted(found.keys() - kept, reverse=True):
            (case / name).unlink() if found[name] else (case / name).rmdir()
        for name in sorted(self.paths.keys() - kept):
            if not self.paths[name]:
                (case / name).mkdir()
            elif name.startswith("logs/"):
                # A shell writes into it.
                shutil.copy2(self.folder / name, case / name)
            else:
                os.link(self.folder / name, case / name, follow_symlinks=False)

    def _kept(self, found: dict[str, tuple[int, ...]]) -> set[str]:
        """Names whose files are those of the study. The study itself must not have been written to."""
        kept = set()
        for name in found.keys() & self.paths.keys():
            now, before = found[name], self.paths[name]
            if now == before or (now and before and name.startswith("logs/") and now[1:] == before[1:]):
                kept.add(name)
            elif now and before and now[0] == before[0]:
                sys.exit(f"written to in its place, in the study itself: {name}")
        return kept

    def lost(self, case: Path, changed: str) -> list[str]:
        """What a refused input has cost: files that are gone, other than they were, or left half-made."""
        now, found = paths(case), []
        kept = self._kept(now)
        for name in self.files:
            if name in kept or name == changed or name.startswith("program/"):
                continue
            if name not in now:
                found.append(f"lost {name}")
            elif not now[name] or (case / name).read_bytes() != (self.folder / name).read_bytes():
                found.append(f"replaced {name}")
        names = (name.rpartition("/")[2] for name, stat in now.items() if stat)
        return found + [f"left {name}" for name in names if name.startswith(".") and name.count(".") > 2]


def paths(folder: Path) -> dict[str, tuple[int, ...]]:
    """The paths in a folder: by name, what changes when a file changes; folders have nothing."""
    found: dict[str, tuple[int, ...]] = {}
    above = ["."]
    while above:
        place = above.pop()
        with os.scandir(folder / place) as entries:
            for entry in entries:
                name = entry.name if place == "." else f"{place}/{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    found[name] = ()
                    above.append(name)
                else:
                    stat = entry.stat(follow_symlinks=False)
                    found[name] = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
    return found


def trace(base: Base, found: dict[str, list[Command]], scratch: Path) -> dict[str, list[str]]:
    """The files that each command reads, by the command as typed: kept beside the study.

    A command that fails undisturbed ends this program.
    """
    kept_in = base.folder.with_name("reads.json")
    kept: dict[str, list[str]] = json.loads(kept_in.read_text()) if kept_in.exists() else {}
    failing = []
    missing = [command for several in found.values() for command in several if command.typed() not in kept]
    for number, command in enumerate(missing, 1):
        if number % 20 == 1:
            print(f"command line {number} of {len(missing)} undisturbed: {command.verb}", flush=True)
        folder, seen = scratch / "traced/here", scratch / "seen"
        base.restore(folder)
        seen.touch()
        case = Case(0, command, command.words, "", "")
        running = start(case, folder, scratch / "log", seen)
        select.select([running.descriptor], [], [], SECONDS_SLOW)
        end = ended(running, late=False)
        reasons = judged(case, end, [])
        if reasons or end.code == 2:
            failing.append(f"undisturbed: {command.typed()}: {reasons}\n{end.said[-3000:]}")
        names = {os.path.relpath(line, folder) for line in seen.read_text().splitlines()}
        names |= {
            str(path.relative_to(folder)) for one in READ_ELSEWHERE.get(command.verb, ()) for path in folder.glob(one)
        }
        names |= set(command.words) if command.cold else set()
        kept[command.typed()] = sorted(names & base.files.keys())
        kept_in.write_text(json.dumps(kept, indent=1))
        seen.unlink()
    if failing:
        kept_in.unlink()
        sys.exit("\n".join(failing))
    return kept


def drawn(number: int, seed: int, found: dict, reads: dict, base: Base) -> tuple[random.Random, Command, str]:
    """The random numbers of a case, its command, and the file to change if it is not an argument."""
    rng = random.Random(f"{seed}/{number}")
    verbs = sorted(found)
    (verb,) = rng.choices(verbs, [SELDOM.get(verb, 1) for verb in verbs])
    command = rng.choice(found[verb])
    names = reads[command.typed()]
    if "--study" in command.words and not command.cold and rng.random() < REGISTRIES_SHARE:
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
    base.restore(folder)
    os.mkfifo(folder / "pipe")
    words, changed = command.words, ""
    before = Path.cwd()
    os.chdir(folder)
    try:
        if file:
            changed = fuzz_mutations.of_file(Path(file), rng)
        else:
            words, changed = fuzz_mutations.of_arguments(command.words, rng)
    finally:
        os.chdir(before)
    return Case(number, command, words, changed, file)


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
        reasons.append(f"leaves {end.left} processes")
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


def fuzz(options: argparse.Namespace, base: Base, found: dict, reads: dict, scratch: Path) -> tuple[int, int]:
    """Perform the cases; print those that fail, and return how many did, and how many were tried."""
    numbers = iter([options.only] if options.only else range(options.first, options.cases + 1))
    at_work: dict[Running, tuple[Case, Path]] = {}
    failed, tried, alike, slowest = 0, 0, Counter(), []
    # Two folders deep: a path such as .. stays in it.
    free = [scratch / f"case-{options.only or number}/here" for number in range(options.processes)]
    end_of_time = time.monotonic() + (options.seconds or math.inf)
    while True:
        while len(at_work) < options.processes and time.monotonic() < end_of_time and (number := next(numbers, None)):
            folder = free.pop()
            case = prepared(number, options.seed, found, reads, base, folder)
            at_work[start(case, folder, folder.parent / "log")] = case, folder
        if not at_work:
            break
        ready, _, _ = select.select([one.descriptor for one in at_work], [], [], 1)
        for running in list(at_work):
            late = is_late(running)
            if running.descriptor not in ready and not late:
                continue
            case, folder = at_work.pop(running)
            tried += 1
            if tried % 50 == 0:
                print(f"{tried} tried, {failed} failed", flush=True)
            end = ended(running, late=running.descriptor not in ready)
            reasons = judged(case, end, base.lost(folder, case.file) if end.code == 2 else [])
            reasons += changed_bits(case, folder, base) if end.code == 0 else []
            slowest = sorted([*slowest, (round(end.seconds, 1), case.number, case.command.verb)])[-8:]
            if reasons:
                failed += 1
                alike[(reasons[0][:140], case.command.verb)] += 1
                said = f"case {case.number}: {case.command.typed(case.words)[:600]}\n    {case.changed[:300]}\n    "
                print(said + "\n    ".join(reasons), flush=True)
            if options.only:
                print(
                    f"in {folder}: exit code {end.code}, {end.seconds:.1f} s, {end.memory / 2**20:.0f} MiB\n{end.said}"
                )
            else:
                for path in folder.parent.iterdir():
                    if path != folder:
                        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
                free.append(folder)
    for (reason, verb), count in alike.most_common():
        print(f"{count:5} {verb}: {reason}")
    print(f"slowest (seconds, case, verb): {slowest[::-1]}")
    return failed, tried


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
    sys.dont_write_bytecode = True  # in cases, which are forked from this process
    started = time.monotonic()
    base = Base(options.folder.resolve())
    found = commands(base.folder)
    _import_ahead(base)
    scratch = Path(tempfile.mkdtemp(prefix="cases-", dir=options.folder))
    found = {verb: lines for verb, lines in found.items() if verb in (options.verbs or found)}
    reads = trace(base, found, scratch)
    lines = sum(map(len, found.values()))
    print(f"{len(found)} verbs, {lines} command lines, ready after {time.monotonic() - started:.0f} s", flush=True)
    failed, tried = fuzz(options, base, found, reads, scratch)
    if not options.only:
        shutil.rmtree(scratch)
    print(f"{failed} of {tried} failed (seed {options.seed}, {time.monotonic() - started:.0f} s)")
    sys.exit(1 if failed or not tried else 0)


def _import_ahead(base: Base) -> None:
    """Import what the verbs need, once."""
    spec = grid.load(base.folder / RESULTS).config["hardware"]["cpu"]
    engines.load("tensorflow").import_ahead(tooling={"name": "cpu", **spec}, deterministic=True)
    for verb in job_code.JOBS:
        job_code.function_of(verb)
    for folder in ("commands", "comparison", "programs", "record", "verify", "dumps", "pages"):
        for path in (program.PACKAGE / folder).rglob("*.py"):
            name = ".".join(("toolnoise", *path.relative_to(program.PACKAGE).with_suffix("").parts))
            importlib.import_module(name.removesuffix(".__init__"))
    for path in program.PACKAGE.rglob("*.py"):
        code_digest.read(path)
    if len(list(template.TASKS.iterdir())) > 1:
        sys.exit("threads run after the imports: children of such a process may hang")
    gc.freeze()


if __name__ == "__main__":
    main()
