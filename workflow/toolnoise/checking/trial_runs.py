"""Runs of one command, each with an outcome's folder of another name, and what they leave for the next one to read."""

import functools
import itertools
import shutil
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

from toolnoise.base import command_words, files
from toolnoise.base.errors import BadInput
from toolnoise.base.printing import span
from toolnoise.base.spec import Spec
from toolnoise.checking import launch, outcome, unmodified
from toolnoise.checking.launch import Stop
from toolnoise.checking.outcome import Outcome
from toolnoise.checking.unmodified import Wanted
from toolnoise.formulas import outcome_files

# Seconds between runs: seeds from the clock often have whole ones, and must show.
PAUSE = 1
MOST_FILES = 20_000


class TrialRuns:
    """Runs of one command, at most `limit` seconds each, with all that they leave in a folder."""

    def __init__(self, words: Sequence[str], limit: float, wanted: Wanted, folder: Path) -> None:
        self.words, self.limit, self.wanted, self.folder = words, limit, wanted, folder
        self.seconds: list[float] = []
        self.started = 0
        self.secret = command_words.variables(words, "command line")

    def run(
        self, name: str, *varying: str, words: Sequence[str] | None = None, more: Mapping[str, str] | None = None
    ) -> Outcome:
        """Run it with the seeds of Control, or another command, or with more variables.

        A source that varies has another seed.
        """
        unmodified.forget(self.wanted)
        return self._ended(name, words or self.words, varying, more)

    def stopped(self, name: str, stop: Stop) -> bool:
        """Run it until it is stopped; whether it was, before it ended."""
        unmodified.forget(self.wanted)
        return self._launched(name, self.words, stop=stop) is not None

    def resumed(self, name: str, words: Sequence[str]) -> Outcome:
        """Run a command in the place of a run that was stopped, to its end."""
        return self._ended(name, words)

    def observed(self, name: str, variables: Mapping[str, str], words: Sequence[str] | None = None) -> None:
        """Run it with more variables, until it ends by itself; with other words, in the place of such a run."""
        if words is None:
            unmodified.forget(self.wanted)
        self._launched(name, words or self.words, more=variables)

    def checkpoints(self, name: str) -> list[Path]:
        """Where a run leaves its checkpoints, as far as it is known."""
        return [*map(Path, self.wanted.checkpoints), self._place("checkpoints", name)]

    def say_what_follows(self, most: int) -> None:
        """Say how many runs follow at most, and how long they may take."""
        longest = max(self.seconds, default=0) + PAUSE
        _say(f"the program is observed to find out why: at most {most} more runs, at most about {span(most * longest)}")

    def names_of_outputs(self, name: str) -> list[str]:
        """The files that a run writes and that are compared."""
        return command_words.filled(self.wanted.files, self._values(name, ()))

    def printed(self, name: str) -> str:
        """All that a run has printed so far."""
        return self._log(name).read_text(errors="replace")

    def _ended(
        self, name: str, words: Sequence[str], varying: Sequence[str] = (), more: Mapping[str, str] | None = None
    ) -> Outcome:
        before, started = unmodified.stamps(self.wanted, self._values(name, varying)), time.time()
        self._launched(name, words, varying, more)
        out = self._place("outcomes", name)
        try:
            return self._outcome(out, self._log(name), before)
        except BadInput as error:
            written = outcome.written_since(started, out)
            offered = f"--output, for one of the files that it wrote: {', '.join(written)}" if written else ""
            raise BadInput(_which(name, self.started), "", str(error), offered) from None

    def _launched(
        self,
        name: str,
        words: Sequence[str],
        varying: Sequence[str] = (),
        more: Mapping[str, str] | None = None,
        stop: Stop | None = None,
    ) -> int | None:
        """Start a command and see it to its end; the signal that stopped it, if one did."""
        for folder in (self._place("outcomes", name), self._place("checkpoints", name)):
            folder.mkdir(parents=True, exist_ok=True)
        for kind in ("jobs", "logs"):
            (self.folder / kind).mkdir(exist_ok=True)
        job, log = self._place("jobs", name).with_suffix(".json"), self._log(name)
        task = self._task(name, varying)
        files.write_json(job, task)
        variables = {**launch.variables_of(task, job), **(more or {})}
        if self.seconds:
            time.sleep(PAUSE)
        self.started += 1
        _say(f"{name} started, at most {span(self.limit)} (--limit); log: {log}")
        started = time.monotonic()
        filled = command_words.filled(words, self._values(name, varying))
        try:
            number = launch.run(
                filled, variables, log, ".", self.limit, self.secret, functools.partial(_beat, name), stop
            )
        except BadInput as error:
            raise BadInput(_which(name, self.started), "", str(error)) from None
        self.seconds.append(time.monotonic() - started)
        _say(f"{name}: {span(self.seconds[-1])}{f', stopped by {signal.Signals(number).name}' if number else ''}")
        return number

    def _place(self, kind: str, name: str) -> Path:
        return self.folder / kind / name

    def _log(self, name: str) -> Path:
        return self.folder / "logs" / f"{name}.log"

    def _task(self, name: str, varying: Sequence[str]) -> launch.Job:
        asked = {
            "study_seed": 0,
            **{part: {"name": "check"} for part in ("model", "dataset", "recipe")},
            "hardware": {"name": "check", "engine": "command", "impl_noise": "native"},
            "variant": {"name": name if varying else "control", "varying": list(varying)},
            "seed": 1,
        }
        return launch.job_of(Spec.read(asked), "check", self._place("outcomes", name), self._place("checkpoints", name))

    def _values(self, name: str, varying: Sequence[str]) -> dict[str, str]:
        return launch.placeholders_of(self._task(name, varying)) | self.secret

    def _outcome(self, out: Path, log: Path, before: Mapping[Path, tuple[int, ...]]) -> Outcome:
        printed = unmodified.collect(self.wanted, before, log, out)
        result = outcome.result_of(out)
        # A file that --output names is compared as it is: it need not keep the contract.
        if result is not None and result not in before:
            left = outcome.read_outcome(out)
        elif before or printed:
            left = Outcome(out)
        else:
            asked = (
                "--output FILE for a file that it writes, --metric 'accuracy ([0-9.]+)' for a number that it prints, "
            )
            asked += f"or one of {', '.join(outcome_files.RESULTS)} in TOOLNOISE_OUT; {launch.last_words(log)}"
            raise BadInput("command line", "", "nothing to compare", asked)
        copies = {name: out / unmodified.FOLDER / str(number) for number, name in enumerate(self.wanted.files)}
        return left._replace(files=copies, printed=printed)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _beat(name: str, seconds: float, line: str) -> None:
    _say(f"{name} runs, {span(seconds)}{f': {line}' if line else ''}")


def _which(name: str, number: int) -> str:
    """A run by its name and its number."""
    numbers = {1: "the first run", 2: "the second run, with the same seeds"}
    return f"{name} ({numbers.get(number, f'run {number}')})"


# What a run leaves in the folder that it is started in


def stamps_here() -> dict[str, tuple[int, int]]:
    """Each file below the folder that a program is started in, with its size and time; hidden folders are left out."""
    files = {}
    for path in itertools.islice(outcome.files_below(Path()), MOST_FILES):
        with suppress(OSError):
            status = path.stat()
            files[str(path)] = status.st_size, status.st_mtime_ns
    return files


class LeftFiles(NamedTuple):
    """Files that were not there before the first run, but for those that are compared."""

    names: list[str]

    @classmethod
    def since(cls, before: dict[str, tuple[int, int]], compared: Sequence[str]) -> Self:
        """What is there now and was not before; a file that was there is the user's own."""
        outputs = {str(Path(name)) for name in compared}
        return cls([name for name in stamps_here() if name not in before and name not in outputs])

    def has(self, text: str) -> bool:
        """Whether a text names one of the files, or the folder that it is in."""
        path = Path(text)
        files = map(Path, self.names)
        return bool(path.name) and any(path.name == file.name or path in file.parents for file in files)

    def run_without(self, runs: TrialRuns) -> Outcome | None:
        """Run the program while the files are elsewhere, and put back those that the run has not written."""
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
    """A few names of many."""
    more = f" and {len(names) - 2} more files" if len(names) > 2 else ""
    return f"{', '.join(names[:2])}{more}" if more else " and ".join(names)
