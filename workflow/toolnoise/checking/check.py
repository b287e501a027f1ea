"""Is a program reproducible, and does each of its seeds count? Answered by running it.

Two Control runs have equal seeds and nothing else in common: other folders, other processes, other seconds. They must
be equal bit for bit. Then each declared source varies alone, in one more run: an equal outcome means that its seed is
ignored.
"""

import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from toolnoise.base import command_words, files
from toolnoise.base.errors import BadInput
from toolnoise.base.noise_sources import ALGORITHMIC
from toolnoise.base.printing import span
from toolnoise.base.spec import Spec
from toolnoise.checking import contract, diagnosis, differences, launch, outcome, program_text, suspects
from toolnoise.checking.causes import CAUSES, Suspect
from toolnoise.checking.diagnosis import Diagnosis
from toolnoise.checking.differences import Difference
from toolnoise.checking.outcome import Outcome
from toolnoise.checking.program_text import Source
from toolnoise.study import outcome_files
from toolnoise.study.programs import ENGINE

HASH_SEED = "PYTHONHASHSEED"


class Command(NamedTuple):
    """What is checked: its words with placeholders, the sources that it can separate, the longest time of a run."""

    words: list[str]
    sources: tuple[str, ...]
    limit: float | None = None


class Ignored(NamedTuple):
    """A declared source whose seed changes no bit, with where its seed is lost, as far as the text shows it."""

    source: str
    why: str
    places: list[Suspect]


class Checked(NamedTuple):
    """The verdict: `difference` of the Control runs, and what the seed of each source changed, if they are equal."""

    words: list[str]
    left: list[str]
    not_compared: list[str]
    seconds: list[float]
    difference: Difference
    diagnosis: Diagnosis | None
    seeds: dict[str, Difference]
    ignored: list[Ignored]

    @property
    def reproducible(self) -> bool:
        """Whether the Control runs are equal bit for bit."""
        return not self.difference.files

    @property
    def passed(self) -> bool:
        """Whether they are, and every declared seed counts."""
        return self.reproducible and not self.ignored


def command(words: Sequence[str], sources: str | None, deterministic: str, limit: float | None) -> Command:
    """What to check, from the command line's words; one word alone is a whole command line."""
    where = "command line"
    words = command_words.words(words[0], where) if len(words) == 1 else command_words.required(words, where)
    used = tuple(source for source in ALGORITHMIC if source in command_words.placeholders(words))
    declared = used or program_text.seeds_read(program_text.sources(words, Path())) or ALGORITHMIC
    if sources is not None:
        declared = tuple(filter(None, sources.split(",")))
        for source in declared:
            if source not in ALGORITHMIC:
                raise BadInput(where, "--sources", f"found {source!r}", f"allowed: {', '.join(ALGORITHMIC)}")
    if limit is not None and limit <= 0:
        raise BadInput(where, "--limit", f"found {limit:g}", "more than 0 minutes")
    extra = command_words.words(deterministic, "--deterministic") if deterministic else []
    return Command([*words, *extra], declared, limit and limit * 60)


def check(checked: Command, folder: Path) -> Checked:
    """Run a command as often as its verdict needs, with all that its runs leave in a folder."""
    runs = _Runs(checked, folder)
    control, other = runs.run("control-1"), runs.run("control-2")
    difference = differences.between(control, other)
    text = program_text.sources(checked.words, Path())
    suspected = suspects.suspects(text)
    seeds, ignored, why = {}, [], None
    if difference.files:
        why = diagnosis.diagnose(suspected, difference, _hash_seed(runs, suspected))
    else:
        for source in checked.sources:
            seeds[source] = differences.between(control, runs.run(source, source))
        unused = [source for source, changed in seeds.items() if not changed.files]
        ignored = [Ignored(source, *_lost(source, checked.words, text, suspected)) for source in unused]
    left = [name for name in outcome_files.FILES if (control.folder / name).is_file()]
    not_compared = differences.timed(control.history) if control.history else []
    return Checked(checked.words, left, not_compared, runs.seconds, difference, why, seeds, ignored)


class _Runs:
    """Runs of one command, each with an outcome's folder of another name."""

    def __init__(self, checked: Command, folder: Path) -> None:
        self.checked, self.folder, self.seconds = checked, folder, []
        self.secret = command_words.variables(checked.words, "command line")

    def run(self, name: str, varying: str = "", more: Mapping[str, str] | None = None) -> Outcome:
        """Run it with the seeds of Control; a source that varies has another seed."""
        out, checkpoint, job = (self.folder / kind / name for kind in ("outcomes", "checkpoints", "jobs"))
        log = self.folder / "logs" / f"{name}.log"
        for folder in (out, checkpoint, job.parent, log.parent):
            folder.mkdir(parents=True, exist_ok=True)
        asked = {
            "study_seed": 0,
            **{part: {"name": "check"} for part in ("model", "dataset", "recipe")},
            "hardware": {"name": "check", "engine": ENGINE, "impl_noise": "native"},
            "variant": {"name": varying or "control", "varying": [varying] if varying else []},
            "seed": 1,
        }
        task = contract.job(Spec.read(asked), "check", out, checkpoint)
        files.write_json(job.with_suffix(".json"), task)
        variables = {**contract.variables(task, job.with_suffix(".json")), **(more or {})}
        if self.seconds:
            # Seeds from the clock often have whole seconds, and must show.
            time.sleep(1)
        started = time.monotonic()
        words = command_words.filled(self.checked.words, contract.values(task) | self.secret)
        launch.run(words, variables, log, limit=self.checked.limit, hidden=self.secret)
        self.seconds.append(time.monotonic() - started)
        print(f"{name}: {span(self.seconds[-1])}", file=sys.stderr, flush=True)
        return outcome.read(out)


def _hash_seed(runs: _Runs, suspected: Sequence[Suspect]) -> bool | None:
    """Whether two runs are equal once the hash seed is; None if it is fixed already, or needs no experiment."""
    if os.environ.get(HASH_SEED, "random") != "random" or not diagnosis.worth_an_experiment(suspected):
        return None
    first, other = (runs.run(f"hash-seed-{number}", more={HASH_SEED: "0"}) for number in (1, 2))
    return not differences.between(first, other).files


def _lost(
    source: str, words: Sequence[str], text: Sequence[Source], suspected: Sequence[Suspect]
) -> tuple[str, list[Suspect]]:
    """Why a seed counts for nothing, and the places that should use it."""
    places = [suspect for suspect in suspected if CAUSES[suspect.cause].source == source]
    if source not in command_words.placeholders(words) and source not in program_text.seeds_read(text):
        return f"the command has no {{{source}}}, and its text does not read {contract.SEED}{source.upper()}", places
    option = _option(source, words)
    if option and text and not program_text.reads(text, option.lstrip("-").replace("-", "_")):
        return f"the program does not use the value of {option}", places
    return f"the command does not use {{{source}}}", places


def _option(source: str, words: Sequence[str]) -> str:
    """The option that passes a source's seed on: --seed of --seed {init} or --seed={init}."""
    for before, word in zip(["", *words], words, strict=False):
        if f"{{{source}}}" in word:
            option = word.partition("=")[0] if "=" in word else before
            return option if option.startswith("--") else ""
    return ""
