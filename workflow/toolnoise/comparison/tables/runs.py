"""Runs with their metrics, from the lines of tables.

Where a run has several steps, the last or the best counts, and never without being asked.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, NoReturn

import numpy as np

from toolnoise.base.errors import BadInput
from toolnoise.base.printing import counted
from toolnoise.base.times import is_time
from toolnoise.comparison.tables.arguments import Asked
from toolnoise.comparison.tables.directions import Metric, directed, require_directions

LEFT = "Left out: "  # begins a note on what does not count
MOST_NAMED = 3  # runs in a sentence
NUMBERED = "run "  # begins what stands for a seed if --paired is given
ONCE = "each seed once in an arm"
OTHER_SEEDS = "--seed names another column, --seed none takes the lines for runs that share no seed"
OPTIMISTIC = "the best of noisy steps is better than any step will be on new data"


class Line(NamedTuple):
    """A line of a table: its run by arm, file, name, seed and session, its step (NaN if unknown), each metric's number.

    `settings` are the cells of other columns with few values, such as learning rates, `began` those of columns with
    the name of a session. A number is NaN where the cell is blank, infinite where it is not finite.
    """

    where: str
    arm: str
    file: str
    run: str
    seed: str | None
    step: float
    values: dict[str, float]
    session: str | None
    settings: dict[str, str]
    began: dict[str, str]


class Run(NamedTuple):
    """A run: where it was found, its arm, seed and session (None if unknown), the metrics' numbers, and its name.

    `began` is what columns with the name of a session say, such as host.
    """

    where: str
    arm: str
    seed: str | None
    metrics: dict[str, float]
    session: str | None = None
    name: str = ""
    began: Mapping[str, str] = MappingProxyType({})


class Runs(NamedTuple):
    """The runs of all arms, the arms in their order, the metrics, and what was chosen and left out, as sentences.

    `session` is what the user says of sessions: their column, "none", or nothing. Of times and speeds, a column that
    has the name of a session then says them: `session_of_times`.
    """

    arms: list[str]
    runs: list[Run]
    metrics: list[Metric]
    notes: list[str]
    session: str | None = None
    session_of_times: str | None = None

    def of(self, arm: str, metric: str) -> list[Run]:
        """The runs of an arm that have a metric, in the sessions that count for it."""
        runs = [run for run in self.runs if run.arm == arm and metric in run.metrics]
        if self.session_of_times and is_time(metric):
            return [run._replace(session=run.began[self.session_of_times]) for run in runs]
        return runs

    def sessions_missing(self, metric: str) -> bool:
        """Whether runs may share sessions that would decide a metric, and nothing says which."""
        return is_time(metric) and self.session is None and self.session_of_times is None

    @property
    def described(self) -> list[str]:
        """What was read, for people: the arms with their runs, what was chosen, and which way metrics are better."""
        counts = ", ".join(f"{arm} {sum(run.arm == arm for run in self.runs)}" for arm in self.arms)
        return [f"Runs: {counts}.", *self.notes, *(f"{metric.better}." for metric in self.metrics)]


def as_runs(lines: Sequence[Line], asked: Asked) -> tuple[list[Run], list[str]]:
    """The runs, in the order of their first lines, and notes: a metric that is not finite is left out of its run."""
    lost: Counter[tuple[str, str]] = Counter()
    ends: dict[str, list[tuple[float, str]]] = {}
    several = False
    runs, notes, metrics, by_run = [], [], directed(asked), _by_run(lines)
    _require_different(by_run)
    if asked.steps == "best":
        require_directions(metrics)
    for of_run in by_run:
        first, values = of_run[0], {}
        for metric in metrics:
            known = [line for line in of_run if not np.isnan(line.values[metric.name])]
            if not known:
                continue
            line = known[0] if len(known) == 1 else _one(known, metric, asked.steps)
            several |= len(known) > 1
            if not np.isnan(line.step):
                ends.setdefault(metric.name, []).append((line.step, _named(line)))
            if np.isfinite(line.values[metric.name]):
                values[metric.name] = line.values[metric.name]
            else:
                lost[first.arm, metric.name] += 1
        runs.append(Run(first.where, first.arm, first.seed, values, first.session, first.run, first.began))
    for metric, counting in ends.items() if several else ():
        steps = [step for step, _ in counting]
        span = f"step {steps[0]:.15g}" if len(set(steps)) == 1 else f"steps {min(steps):.15g} to {max(steps):.15g}"
        early = [f"{run} ends at {step:.15g}" for step, run in counting if step < max(steps)]
        early = early if len(early) <= MOST_NAMED else [f"{len(early)} runs end before {max(steps):.15g}"]
        more = OPTIMISTIC if asked.steps == "best" else "; ".join(early)
        notes.append(f"{metric}: the {asked.steps} step of each run counts, {span}{f' ({more})' if more else ''}.")
    for (arm, metric), count in lost.items():
        notes.append(f"{LEFT}{counted(count, 'run')} of {arm} whose {metric} is not a finite number.")
    return runs, notes


def _by_run(lines: Sequence[Line]) -> list[list[Line]]:
    """The lines of each run: those of one name, seed and session, or, without these, of one file if they are steps.

    Lines with one name and no steps may be of several runs, or of something else: they are refused.
    """
    groups: dict[tuple, list[Line]] = {}
    for line in lines:
        groups.setdefault((line.arm, line.file, line.run, line.seed, line.session), []).append(line)
    runs = []
    for group in groups.values():
        are_steps = len({line.step for line in group if not np.isnan(line.step)}) > 1
        if are_steps or group[0].seed is not None:
            runs.append(group)
        elif group[0].run and len(group) > 1:
            first, second, *_ = group
            what = f"found {_named(first)} in {first.where}, too, and no steps that tell them apart"
            raise BadInput(second.where, "", what, "a line for each run, or a column of steps")
        else:
            runs += [[line] for line in group]
    return runs


def _require_different(by_run: Sequence[Sequence[Line]]) -> None:
    """Refuse two runs of an arm (and a session) with one seed: neither pairs nor the number of runs would be right."""
    seen: dict[tuple[str, str, str | None], Line] = {}
    for first, *_ in by_run:
        other = first.seed is not None and seen.setdefault((first.arm, first.seed, first.session), first)
        if other and other is not first:
            _refuse_twice(other, first, first.arm, f"seed {first.seed}")


def _refuse_twice(first: Line, second: Line, key: str, what: str) -> NoReturn:
    """Refuse what stands twice; a column that differs there is the arm, or one of its values is to be chosen."""
    stands = f"{what} stands in {first.where}, too"
    differ = [
        name
        for name, cell in second.settings.items()
        if cell != first.settings.get(name, cell) and name not in second.began
    ]
    began = [name for name, cell in second.began.items() if cell != first.began.get(name, cell)]
    if began and not differ:
        allowed = f"{ONCE}; --session {began[0]} averages over it"
        raise BadInput(second.where, key, f"{stands}, with another {began[0]}", allowed)
    if not differ:
        raise BadInput(second.where, key, stands, f"{ONCE}; {OTHER_SEEDS}")
    apart = ", ".join(f"{name} ({first.settings[name]} and {second.settings[name]})" for name in differ)
    allowed = f"{ONCE}: --by {differ[0]}, or the lines of one {differ[0]}"
    raise BadInput(second.where, key, f"{stands}, with another {apart}", allowed)


def _named(line: Line) -> str:
    """A line's run, for people."""
    of = f"seed {line.seed}" if line.seed is not None else line.run
    return f"{of} of {line.arm}" if of else f"a run of {line.arm}"


def _one(known: Sequence[Line], metric: Metric, steps: str | None) -> Line:
    """The line that counts of several."""
    first = known[0]
    blank = next((line for line in known if np.isnan(line.step)), None)
    if blank and not all(np.isnan(line.step) for line in known):
        raise BadInput(blank.where, metric.name, f"found no step of {_named(blank)}", "one, as in its other lines")
    seen: dict[float | None, Line] = {}
    for line in known:
        other = seen.setdefault(None if np.isnan(line.step) else line.step, line)
        if other is not line and (np.isnan(line.step) or other.values[metric.name] != line.values[metric.name]):
            _refuse_twice(other, line, metric.name, _named(first))
    if steps is None and len(seen) > 1:
        what = f"found {len(seen)} steps of {_named(first)}"
        raise BadInput(first.where, metric.name, what, "--last or --best says which of them counts")
    ordered = sorted(seen.values(), key=lambda line: line.step)
    finite = [line for line in ordered if np.isfinite(line.values[metric.name])]
    if steps != "best" or not finite:
        return ordered[-1]
    return (min if metric.lower else max)(finite, key=lambda line: line.values[metric.name])
