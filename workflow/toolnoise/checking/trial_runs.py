"""Runs of one command, each with its own outcome folder, and the files that a run leaves for the next one to read.

A program need not follow the contract: files that it writes are copied after each run, and numbers that it prints are
read. The package checking/injected can run in the program's own interpreter to observe it.
"""

import functools
import itertools
import json
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from toolnoise.base import command_words, files
from toolnoise.base.errors import BadArgument, BadInput
from toolnoise.base.printing import span_text
from toolnoise.base.spec import Spec
from toolnoise.checking import launch, outcome
from toolnoise.checking.injected import FAILED, TASK
from toolnoise.checking.launch import Stop
from toolnoise.checking.outcome import Outcome
from toolnoise.formulas import outcome_files

# Seconds between runs: a seed from the clock often counts whole seconds, and must differ between runs.
PAUSE = 1
MOST_FILES = 20_000
PACKAGE, INJECTED = Path(__file__).with_name("injected"), "toolnoise_injected"
# A compiler would read the rewritten code, and compiled operations would not run one by one.
UNCOMPILED = {"TORCH_COMPILE_DISABLE": "1", "TORCHDYNAMO_DISABLE": "1"}
# Parts of a pattern that do not belong to the name of its number: escapes such as \s, and the s of Cohen's kappa.
NAMELESS = re.compile(r"\\[A-Za-z]|['\u2019]s\b|\W")
WHOLE = re.compile(r"(?:[0-9]*\.)?[0-9]+(?:[eE][-+]?[0-9]+)?")


class Wanted(NamedTuple):
    """The results to compare: names of files, with placeholders, and patterns of printed numbers, by name.

    `checkpoints` are files from which the program would resume; they are removed before each new run.
    """

    files: tuple[str, ...] = ()
    metrics: tuple[tuple[str, re.Pattern], ...] = ()
    checkpoints: tuple[str, ...] = ()

    def forget(self) -> None:
        """Remove the checkpoints that a run has left."""
        for path in map(Path, self.checkpoints):
            if path.is_dir():
                shutil.rmtree(path)
            path.unlink(missing_ok=True)


NOTHING = Wanted()


def parse_wanted(files: Sequence[str], patterns: Sequence[str], checkpoints: Sequence[str] = ()) -> Wanted:
    """Check the command line's files and patterns to compare, and the checkpoints to remove."""
    for name in checkpoints:
        if Path(name).exists():
            raise BadInput(name, "", "is there already, and is removed before each run", "another place for yours")
    metrics: dict[str, re.Pattern] = {}
    for pattern in patterns:
        try:
            compiled = re.compile(pattern)
        except re.error as error:
            raise BadArgument("metric", f"found {pattern!r} ({error})", "a regular expression with one group") from None
        if compiled.groups != 1:
            raise BadArgument("metric", f"found {pattern!r}", "one group, such as 'accuracy ([0-9.]+)'")
        words = NAMELESS.sub(" ", pattern.partition("(")[0]).split()
        name = next(iter(compiled.groupindex), "") or " ".join(words) or "metric"
        if name in metrics:
            raise BadArgument("metric", f"found {name!r} twice", "(?P<name>...) gives a group a name")
        metrics[name] = compiled
    if len(set(files)) < len(files):
        raise BadArgument("output", f"found {', '.join(files)}", "each file once")
    names = command_words.require_words(files, "--output") if files else ()
    return Wanted(tuple(names), tuple(metrics.items()), tuple(checkpoints))


class TrialRuns:
    """Runs of one command, for at most `limit` seconds each; all outcomes and logs go to `folder`."""

    def __init__(self, words: Sequence[str], limit: float, wanted: Wanted, folder: Path) -> None:
        self.words, self.limit, self.wanted, self.folder = words, limit, wanted, folder
        self.seconds: list[float] = []
        self.started = 0
        self.secret = command_words.variables_of(words, "command line")

    def run(self, name: str, *varying: str, **how: Any) -> Outcome:
        """Run the command by `execute`, and return the outcome."""
        paths = list(map(Path, command_words.fill_placeholders(self.wanted.files, self._values(name, varying))))
        before, started = launch.file_stamps(paths), time.time()
        self.execute(name, *varying, **how)
        out = self._place("outcomes", name)
        try:
            return self._outcome(out, self._log(name), paths, before)
        except BadInput as error:
            written = outcome.written_since(started, out)
            offered = f"--output, for one of the files that it wrote: {', '.join(written)}" if written else ""
            raise BadInput(_which(name, self.started), "", str(error), offered) from None

    def execute(
        self,
        name: str,
        *varying: str,
        words: Sequence[str] | None = None,
        more: Mapping[str, str] | None = None,
        task: Mapping[str, Any] | None = None,
        stop: Stop | None = None,
        goes_on: bool = False,
    ) -> int | None:
        """Run the command with the seeds of Control until it ends; return the signal that stopped it, or None.

        Each source in `varying` has another seed. `words` replace the command, `more` adds environment variables,
        `task` sets up an observer, `stop` stops the run, and `goes_on` resumes a stopped run of that name.
        """
        if not goes_on:
            self.wanted.forget()
        for folder in (self._place("outcomes", name), self._place("checkpoints", name)):
            folder.mkdir(parents=True, exist_ok=True)
        for kind in ("jobs", "logs"):
            (self.folder / kind).mkdir(exist_ok=True)
        file, log, job = self._place("jobs", name).with_suffix(".json"), self._log(name), self._job(name, varying)
        files.write_json(file, job)
        variables = {**launch.variables_of(job, file), **(more or {})}
        if task is not None:
            variables |= injected_variables(self.folder / "injected", f"{name}-goes-on" if goes_on else name, task)
        if self.seconds:
            time.sleep(PAUSE)
        self.started += 1
        _say(f"{name} started, at most {span_text(self.limit)} (--limit); log: {log}")
        started = time.monotonic()
        filled = command_words.fill_placeholders(words or self.words, self._values(name, varying))
        beat = functools.partial(_beat, name)
        try:
            number = launch.run_command(filled, variables, log, ".", self.limit, self.secret, beat, stop)
        except BadInput as error:
            raise BadInput(_which(name, self.started), "", str(error)) from None
        self.seconds.append(time.monotonic() - started)
        _say(f"{name}: {span_text(self.seconds[-1])}{f', stopped by {signal.Signals(number).name}' if number else ''}")
        return number

    @property
    def observer_failure(self) -> str:
        """The sentence on the first error of an observer in a process of the program; empty if there is none."""
        errors = sorted((self.folder / "injected").glob(f"*{FAILED}"))
        return f"the observer failed ({errors[0].read_text('utf-8', errors='replace')})" if errors else ""

    def checkpoints(self, name: str) -> list[Path]:
        """The known places in which a run leaves its checkpoints."""
        return [*map(Path, self.wanted.checkpoints), self._place("checkpoints", name)]

    def say_what_follows(self, most: int) -> None:
        """Print how many more runs follow at most, and how long they may take."""
        longest = max(self.seconds, default=0) + PAUSE
        _say(
            f"the program is observed to find out why: at most {most} more runs, "
            f"at most about {span_text(most * longest)}"
        )

    def names_of_outputs(self, name: str) -> list[str]:
        """The files that a run writes and that are compared."""
        return command_words.fill_placeholders(self.wanted.files, self._values(name, ()))

    def printed(self, name: str) -> str:
        """All that a run has printed so far."""
        return self._log(name).read_text(errors="replace")

    def _place(self, kind: str, name: str) -> Path:
        return self.folder / kind / name

    def _log(self, name: str) -> Path:
        return self.folder / "logs" / f"{name}.log"

    def _job(self, name: str, varying: Sequence[str]) -> launch.Job:
        asked = {
            "study_seed": 0,
            **{part: {"name": "check"} for part in ("model", "dataset", "recipe")},
            "hardware": {"name": "check", "engine": "command", "impl_noise": "native"},
            "variant": {"name": name if varying else "control", "varying": list(varying)},
            "seed": 1,
        }
        return launch.job_of(Spec.read(asked), "check", self._place("outcomes", name), self._place("checkpoints", name))

    def _values(self, name: str, varying: Sequence[str]) -> dict[str, str]:
        return launch.placeholders_of(self._job(name, varying)) | self.secret

    def _outcome(self, out: Path, log: Path, paths: Sequence[Path], before: Mapping[Path, tuple[int, int]]) -> Outcome:
        copies = {name: out / "files" / str(number) for number, name in enumerate(self.wanted.files)}
        for path, copied in zip(paths, copies.values(), strict=True):
            copy_written(path, copied, before, log)
        printed = numbers_in(log, self.wanted)
        result = outcome.result_of(out)
        # A file that --output names is compared as it is: it need not keep the contract.
        if result is not None and result not in paths:
            left = outcome.read_outcome(out)
        elif paths or printed:
            left = Outcome(out)
        else:
            asked = (
                "--output FILE for a file that it writes, --metric 'accuracy ([0-9.]+)' for a number that it prints, "
            )
            asked += f"or one of {', '.join(outcome_files.RESULTS)} in TOOLNOISE_OUT; {launch.last_words(log)}"
            raise BadInput("command line", "", "nothing to compare", asked)
        return left._replace(files=copies, printed=printed)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _beat(name: str, seconds: float, line: str) -> None:
    _say(f"{name} runs, {span_text(seconds)}{f': {line}' if line else ''}")


def _which(name: str, number: int) -> str:
    """The name and the number of a run, for messages."""
    numbers = {1: "the first run", 2: "the second run, with the same seeds"}
    return f"{name} ({numbers.get(number, f'run {number}')})"


def injected_variables(folder: Path, name: str, task: Mapping[str, Any]) -> dict[str, str]:
    """Copy the injected package to a folder, once, and return the variables by which a program is observed.

    The package has to lie there as files, since the program's own interpreter imports it.
    """
    if not (folder / INJECTED).exists():
        shutil.copytree(PACKAGE, folder / INJECTED, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copyfile(PACKAGE / "sitecustomize.py", folder / "sitecustomize.py")
    file = folder / f"{name}.json"
    file.write_text(json.dumps(task), "utf-8")
    path = os.pathsep.join(filter(None, [str(folder.resolve()), os.environ.get("PYTHONPATH")]))
    return {"PYTHONPATH": path, TASK: str(file.resolve())}


# Results of a run that are compared


def copy_written(path: Path, copied: Path, before: Mapping[Path, tuple[int, int]], log: Path) -> None:
    """Copy a file that a run wrote; `before` has its stamp from before the run, if it existed."""
    if path.is_dir():
        raise BadInput(path, "", "is a folder", "a file that each run writes, such as one in it")
    if launch.file_stamps([path]).get(path) in (None, before.get(path)):
        allowed = f"a file that each run writes; {launch.last_words(log)}"
        raise BadInput(path, "", "the program did not write it", allowed)
    copied.parent.mkdir(exist_ok=True)
    shutil.copyfile(path, copied)


def numbers_in(log: Path, wanted: Wanted) -> dict[str, float]:
    """The last number that a run printed for each pattern, by name."""
    text = log.read_text(errors="replace")
    return {name: _number(pattern, text, log) for name, pattern in wanted.metrics}


def _number(pattern: re.Pattern, text: str, log: Path) -> float:
    matches = list(pattern.finditer(text))
    if not matches:
        raise BadInput("--metric", pattern.pattern, "nothing that the program printed matches", launch.last_words(log))
    last = matches[-1]
    try:
        value = outcome.number_in_text(last[1] or "")
    except ValueError:
        raise BadInput("--metric", pattern.pattern, f"found {last[1] or ''!r}", "a number in the group") from None
    start, end = last.span(1)
    line = text.rfind("\n", 0, start) + 1
    whole = next((each for each in WHOLE.finditer(text, line) if each.end() >= end), None)
    if whole and whole.start() < end and (whole.start() < start or end < whole.end()):
        what = f"found {last[1]!r}, a part of {whole[0]}"
        raise BadInput("--metric", pattern.pattern, what, r"a group that takes the whole number, such as (\S+)")
    return value


# Files that a run leaves in its working folder


def files_here() -> set[str]:
    """At most MOST_FILES files below the program's working folder, without hidden and package folders."""
    return set(map(str, itertools.islice(outcome.files_below(Path()), MOST_FILES)))


class LeftFiles(NamedTuple):
    """Files that the first run created, except those that are compared."""

    names: list[str]

    @classmethod
    def since(cls, before: set[str], compared: Sequence[str]) -> Self:
        """The files that exist now and did not exist before; older files are the user's own."""
        return cls(sorted(files_here() - before - {str(Path(name)) for name in compared}))

    def has(self, text: str) -> bool:
        """Whether a text names one of the files, or a folder above one."""
        path = Path(text)
        files = map(Path, self.names)
        return bool(path.name) and any(path.name == file.name or path in file.parents for file in files)

    def run_without(self, runs: TrialRuns) -> Outcome | None:
        """Run the program without the files, and put back those that it has not written; None if the program fails."""
        aside = runs.folder / "aside"
        moved = [(Path(name), aside / str(number)) for number, name in enumerate(self.names) if Path(name).is_file()]
        aside.mkdir(exist_ok=True)
        for path, place in moved:
            shutil.move(path, place)
        try:
            return runs.run("without-left-files")
        except BadInput:
            return None
        finally:
            for path, place in moved:
                if not path.exists():
                    path.parent.mkdir(parents=True, exist_ok=True)
                    shutil.move(place, path)


def few_of(names: Sequence[str]) -> str:
    """The first two names, and the number of further ones."""
    more = f" and {len(names) - 2} more files" if len(names) > 2 else ""
    return f"{', '.join(names[:2])}{more}" if more else " and ".join(names)
