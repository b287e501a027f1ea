"""Run a program to test whether it is reproducible, and whether it uses each of its seeds.

Two Control runs share only their seeds: their folders, processes and start times differ. They must be equal bit for
bit, and so must a third run, since two may be equal by chance. Then each declared source varies alone in one more run.
If its outcome is equal, the program ignores that seed. The program is observed to find the cause only if runs differ or
a seed is ignored.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base import command_words
from toolnoise.base.errors import BadArgument, BadInput
from toolnoise.base.noise_sources import ALGORITHMIC
from toolnoise.base.printing import align_columns
from toolnoise.base.times import is_time
from toolnoise.checking import (
    diagnosis,
    differences,
    launch,
    other_settings,
    program_text,
    resume,
    traced_runs,
    trial_runs,
)
from toolnoise.checking.diagnosis import Diagnosis, Place
from toolnoise.checking.differences import Difference
from toolnoise.checking.other_settings import Asked, Break
from toolnoise.checking.outcome import Outcome
from toolnoise.checking.program_text import SourceFile
from toolnoise.checking.resume import Resume, Resumed
from toolnoise.checking.traced_runs import Parting
from toolnoise.checking.trial_runs import NOTHING, LeftFiles, TrialRuns, Wanted
from toolnoise.formulas import outcome_files

LIMIT = 12 * 60  # minutes of a run


class Command(NamedTuple):
    """The command to check: its words with placeholders, the sources it can separate, and a run's limit in seconds.

    `declared` is whether the command, its text or the user names the sources. `wanted` has further results to compare.
    """

    words: list[str]
    sources: tuple[str, ...]
    limit: float
    declared: bool = True
    wanted: Wanted = NOTHING
    resume: Resume | None = None
    asked: Asked = Asked()
    trace: bool = False


class Ignored(NamedTuple):
    """A declared source whose seed changes no bit, the reason, and the places that lose the seed, if observed."""

    source: str
    why: str
    places: list[Place]


class Checked(NamedTuple):
    """The verdict: the difference of the Control runs, and, if they are equal, the changes by each source's seed."""

    words: list[str]
    left: list[str]
    not_compared: list[str]
    seconds: list[float]
    difference: Difference
    diagnosis: Diagnosis | None
    seeds: dict[str, Difference]
    ignored: list[Ignored]
    declared: bool = True
    resumed: Resumed | None = None
    breaks: Sequence[Break] = ()
    without_draws: Sequence[str] = ()
    parting: Parting | None = None

    @property
    def reproducible(self) -> bool:
        """Whether the Control runs are equal bit for bit."""
        return not self.difference.files

    @property
    def seedless(self) -> bool:
        """Whether no seed is declared, and no seed changes anything."""
        return self.reproducible and not self.seeds and not self.declared

    @property
    def passed(self) -> bool:
        """Whether the program is reproducible and uses all declared seeds, and all other ways and resumed runs pass."""
        invariant = (self.resumed is None or self.resumed.passed) and all(each.passed for each in self.breaks)
        return self.reproducible and not self.ignored and invariant

    @property
    def noise(self) -> int | None:
        """The largest number of answers that a new seed changes; None if no seed was varied."""
        return max((changed.changed or 0 for changed in self.seeds.values()), default=None)


def parse_command(
    words: Sequence[str], sources: str | None, deterministic: str, limit: float | None, wanted: Wanted = NOTHING
) -> Command:
    """The command to check, from its words or from one word with the whole command line; `limit` is in minutes."""
    where = "command line"
    words = (
        command_words.split_command(words[0], where) if len(words) == 1 else command_words.require_words(words, where)
    )
    used = tuple(source for source in ALGORITHMIC if source in command_words.placeholders_of(words))
    named = used or program_text.seeds_read(program_text.program_files(words, Path()))
    if sources is not None:
        named = tuple(filter(None, sources.split(",")))
        for source in named:
            if source not in ALGORITHMIC:
                raise BadArgument("sources", f"found {source!r}", f"allowed: {', '.join(ALGORITHMIC)}")
    extra = command_words.split_command(deterministic, "--deterministic") if deterministic else []
    is_declared = bool(named) or sources is not None
    minutes = LIMIT if limit is None else limit
    if minutes <= 0:
        raise BadArgument("limit", f"found {minutes:g}", "more than 0 minutes")
    return Command([*words, *extra], named if is_declared else ALGORITHMIC, 60 * minutes, is_declared, wanted)


def parse_resuming(words: Sequence[str], command: str | None, stop_at: str | None) -> Resume:
    """How to resume a program: by its resume command, or else by the same command."""
    try:
        pattern = re.compile(stop_at) if stop_at else None
    except re.error as error:
        raise BadArgument("stop_at", f"found {stop_at!r} ({error})", "a regular expression") from None
    return Resume(command_words.split_command(command, "--resume-command") if command else list(words), pattern)


def check(checked: Command, folder: Path) -> Checked:
    """Run a command as often as its verdict needs; all outcomes and logs go to `folder`."""
    runs = TrialRuns(checked.words, checked.limit, checked.wanted, folder)
    before = trial_runs.files_here()
    control = runs.run("control-1")
    left_by_first = LeftFiles.since(before, runs.names_of_outputs("control-1"))
    outcomes = [control, runs.run(resume.KEPT)]
    _require_results(control)
    difference = differences.find_differences(*outcomes)
    if not difference.files:
        outcomes.append(runs.run("control-3"))
        difference = differences.find_differences(control, outcomes[-1])
    text = program_text.program_files(checked.words, Path())
    seeds, sizes, ignored, why = {}, {}, [], None
    if difference.files:
        why = diagnosis.diagnose(runs, outcomes, text, left_by_first)
    else:
        # If no source is declared, one run with other seeds shows whether any seed counts.
        counts = (
            checked.declared or differences.find_differences(control, runs.run("all-seeds", *checked.sources)).files
        )
        for source in checked.sources if counts else ():
            seeded = runs.run(source, source)
            seeds[source] = differences.find_differences(control, seeded)
            sizes[source] = other_settings.gap_between(control, seeded).largest
        unused = [source for source, changed in seeds.items() if not changed.files]
        reasons = {source: _not_passed_on(source, checked.words, text) for source in unused}
        # Only a seed that reaches the program can be lost within it.
        places = diagnosis.lost_seeds(runs, [source for source, reason in reasons.items() if not reason], text)
        ignored = [
            Ignored(source, reason or f"another {{{source}}} changes nothing", places.get(source, []))
            for source, reason in reasons.items()
        ]
    left = [name for name in outcome_files.FILES if (control.folder / name).is_file()]
    left += [*control.files, *control.printed]
    verdict = Checked(
        checked.words,
        left,
        differences.names_of_times(control),
        runs.seconds,
        difference,
        why,
        seeds,
        ignored,
        checked.declared,
    )
    if difference.files:
        return verdict._replace(parting=traced_runs.locate_parting(runs) if checked.trace else None)
    return verdict._replace(
        resumed=resume.check(runs, checked.resume, control) if checked.resume else None,
        breaks=other_settings.check(runs, checked.asked, control, sizes),
        without_draws=checked.asked.without_draws,
    )


def _require_results(outcome: Outcome) -> None:
    """Refuse an outcome if nothing would be compared, since all its results look like times."""
    if outcome.answers is None and not outcome.files and all(map(is_time, outcome.numbers)):
        found = f"all results look like times: {', '.join(outcome.numbers)}"
        raise BadInput("metrics", "", found, "another number, or a file, to compare")


def _not_passed_on(source: str, words: Sequence[str], text: Sequence[SourceFile]) -> str:
    """Why a seed does not reach the program, by its command and its text; empty if it may reach it."""
    if source in command_words.placeholders_of(words) or source in program_text.seeds_read(text):
        return ""
    return f"the command has no {{{source}}}, and its text does not read {launch.SEED}{source.upper()}"


def as_json(checked: Checked) -> dict[str, Any]:
    """The verdict as values for JSON."""
    why = checked.diagnosis or Diagnosis([], [], [])
    ways = [{**each._asdict(), "passed": each.passed} for each in checked.breaks]
    resumed = checked.resumed and {**checked.resumed._asdict(), "passed": checked.resumed.passed}
    return _plain(
        {
            "command": checked.words,
            "passed": checked.passed,
            "reproducible": checked.reproducible,
            "difference": checked.difference if checked.difference.files else None,
            **why._asdict(),
            "parting": checked.parting,
            "seeds": {name: {**each._asdict(), "counts": bool(each.files)} for name, each in checked.seeds.items()},
            "ignored": checked.ignored,
            "no_seed_is_known": checked.seedless,
            "resumed": resumed,
            "other_ways": ways,
            "changed_by_a_new_seed": checked.noise,
            "left": checked.left,
            "not_compared": checked.not_compared,
            "seconds": checked.seconds,
        }
    )


def _plain(value: Any) -> Any:
    """A value for JSON, with named tuples as objects."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value


def as_text(checked: Checked) -> str:
    """The verdict as text."""
    if checked.reproducible:
        lines = _reproducible(checked)
    else:
        lines = diagnosis.explain_difference(checked.difference, checked.diagnosis)
        lines += ["", *traced_runs.as_text(checked.parting)] if checked.parting else []
        lines += ["", "The seeds of sources are tested once two equal runs are equal."]
    if checked.resumed:
        lines += ["", *resume.as_text(checked.resumed, checked.noise)]
    if checked.breaks:
        lines += ["", *other_settings.as_text(checked.breaks, checked.noise, checked.without_draws)]
    if checked.not_compared:
        lines.append(f"Not compared, since they look like times: {', '.join(checked.not_compared)}.")
    return "\n".join(lines)


def _reproducible(checked: Checked) -> list[str]:
    lines = [f"Reproducible: three runs with equal seeds are equal bit for bit ({', '.join(checked.left)})."]
    if checked.seedless:
        lines.append("No seed is known: the command has no placeholder, and other TOOLNOISE_SEED_* change nothing.")
        lines.append("Name its options for seeds, such as --seed {init}. If it has none, pass --sources ''.")
    if not checked.seeds:
        return lines
    rows = [("seed", "predictions", "largest difference", "from epoch")]
    rows += [(source, *_changes(changed)) for source, changed in checked.seeds.items()]
    lines += ["", "Another seed changes:", *align_columns(rows), ""]
    for row in checked.ignored:
        lines.append(f"{row.source} is ignored: {row.why}. Leave it out of --sources if the program has no such noise.")
        for place in row.places:
            lines += [f"  {place.file}:{place.line}: {place.code}", f"    {place.evidence}"]
    if not checked.ignored:
        lines.append("Every declared seed counts.")
    elif outcome_files.LOGITS not in checked.left and not any(name.startswith("weights") for name in checked.left):
        lines.append(f"Without {outcome_files.LOGITS} or weights, a small change may not show.")
    return lines


def _changes(changed: Difference) -> tuple[str, str, str]:
    """The changes by another seed, as a row of the table."""
    if not changed.files:
        return "nothing", "", ""
    metrics = ", ".join(f"{name} {differences.both_numbers(*pair)}" for name, pair in changed.metrics.items())
    predictions = differences.share_of_predictions(changed) or metrics or ", ".join(changed.files)
    return (predictions, differences.number_text(changed.largest), "" if changed.epoch is None else str(changed.epoch))
