"""Which of many changes, tried one after another, to keep: a sequential test against the incumbent, the best so far.

A change is tested after 1, 2, 4, 8 and 16 runs. After each of these it is dropped unless z = (its mean - the
incumbent's) / (SD * sqrt(1 / its runs + 1 / the incumbent's runs)) exceeds a threshold, which grows. If z exceeds the
last threshold, the change is kept and becomes the incumbent, with its 16 runs. The SD is pooled over all changes with
several runs. The incumbent that a loop begins with needs 16 runs, too. A change with a crashed run is dropped.

Higher values are better here. `bench/keep.py` uses `simulate` to compare this rule with others. The runs are in a table
with one line per run and a column that names the change. Of the statuses that autoresearch loops write, only those of
crashed or unfinished runs matter. Or a log has lines `METRIC name=value`; the line that names the change begins a run.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from toolnoise.base.errors import BadArgument, BadInput
from toolnoise.base.files import readable
from toolnoise.base.printing import counted, decimals_by_uncertainty, rounded_text
from toolnoise.comparison.known_names import FAILED, FINISHED, SEEDS, STATES, STEPS
from toolnoise.comparison.known_names import UNFINISHED as NOT_FINISHED
from toolnoise.comparison.metric_layouts import BLANK, Frame, numbers_of
from toolnoise.comparison.naming import column_named, list_text, plain_words
from toolnoise.comparison.table_files import ENCODING, as_frame, has_names, of_frame, read_csv

# Maps the number of a change's runs to the threshold of z.
Rule = Mapping[int, float]
RULE: Rule = {1: 0.25, 2: 0.75, 4: 1.0, 8: 1.25, 16: 2.0}
STRICT: Rule = {**RULE, 32: 2.5}
SHOWN = 10  # names shown in a line
LOOPS = 1000  # simulated loops for the expected false keeps of 100 changes (standard error 0.02)
Noise = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def z_score(mean: Any, runs: int, incumbent: Any, incumbent_runs: int, sd: Any) -> Any:
    """How many standard errors a change is above the incumbent; means and SDs may be arrays, a value for each loop."""
    return (mean - incumbent) / (sd * np.sqrt(1 / runs + 1 / incumbent_runs))


@dataclass
class Change:
    """A change: the values of its runs and the rule's decision so far."""

    name: str
    values: list[float] = field(default_factory=list)
    state: Literal["open", "kept", "dropped", "crashed"] = "open"
    tested: int = 0  # the number of runs at the last test, with its gain over the incumbent and its z
    gain: float | None = None
    z: float | None = None
    squares: float = 0.0  # the sum of squared deviations of the values from their mean

    def mean(self, runs: int) -> float:
        """The mean of the first runs."""
        return math.fsum(self.values[:runs]) / runs


@dataclass
class Loop:
    """A loop after some runs: its changes in their order; the first is the incumbent that it began with."""

    rule: Rule
    changes: dict[str, Change] = field(default_factory=dict)
    incumbent: Change | None = None
    last: Change | None = None  # the change that was run last, not counting the first incumbent
    runs: int = 0
    crashes: int = 0

    @property
    def needed(self) -> int:
        """The runs that a change needs to be kept, and that the incumbent needs first."""
        return max(self.rule)

    @property
    def tried(self) -> list[Change]:
        """All changes but the first incumbent."""
        return list(self.changes.values())[1:]

    def sd(self) -> float:
        """The SD of a run, pooled over the changes."""
        changes = [change for change in self.changes.values() if change.values]
        freedom = sum(len(change.values) - 1 for change in changes)
        return math.sqrt(math.fsum(change.squares for change in changes) / freedom) if freedom else math.nan

    def add_run(self, name: str, value: float) -> None:
        """Add a run of a change (NaN if it crashed) and make the decisions that are due."""
        change = self.changes.setdefault(name, Change(name))
        self.incumbent = self.incumbent or change
        begun_with = next(iter(self.changes.values()))
        self.last = self.last if change is begun_with else change
        self.runs += 1
        self.crashes += math.isnan(value)
        if math.isnan(value):
            if change.state == "open" and change is not begun_with:
                change.state = "crashed"
        elif change is self.incumbent or (change.state == "open" and change is not begun_with):
            _add_value(change, value)
            for each in self.tried if change is self.incumbent else [change]:
                self._decide(each, self.incumbent)

    def _decide(self, change: Change, incumbent: Change) -> None:
        """Test a change at each number of runs that it has reached since its last test."""
        for runs, least in self.rule.items():
            if change.state == "open" and change.tested < runs <= len(change.values):
                if len(incumbent.values) < self.needed:
                    return
                theirs = incumbent.mean(len(incumbent.values))
                change.tested, change.gain = runs, change.mean(runs) - theirs
                change.z = float(z_score(change.mean(runs), runs, theirs, len(incumbent.values), self.sd()))
                if not change.z > least:
                    change.state = "dropped"
                elif runs == self.needed:
                    change.state, self.incumbent = "kept", change


def _add_value(change: Change, value: float) -> None:
    """Add a value and update `squares` by Welford's method, which loses no digits if the mean is large."""
    before = change.mean(len(change.values)) if change.values else value
    change.values.append(value)
    change.squares += (value - before) * (value - change.mean(len(change.values)))


def replay(runs: Iterable[tuple[str, float]], rule: Rule) -> Loop:
    """The loop after these runs, in their order; further runs do not change earlier decisions."""
    loop = Loop(rule)
    for name, value in runs:
        loop.add_run(name, value)
    return loop


class Answer(NamedTuple):
    """The next step: keep or drop a change, or run a change (None: a new one) this many times more."""

    word: Literal["keep", "drop", "run"]
    change: Change | None
    more: int = 0


def answer(loop: Loop) -> Answer:
    """The next step for the change that was run last."""
    change, incumbent = loop.last, loop.incumbent
    if change and change.state != "open":
        return Answer("keep" if change.state == "kept" else "drop", change)
    if incumbent and len(incumbent.values) < loop.needed:
        return Answer("run", incumbent, loop.needed - len(incumbent.values))
    runs = len(change.values) if change else 0
    return Answer("run", change, next(stage for stage in loop.rule if stage > runs) - runs)


class Simulated(NamedTuple):
    """For each simulated loop: the changes kept, those kept without a gain, the total gain in SDs, and the runs."""

    kept: np.ndarray
    false: np.ndarray
    gain: np.ndarray
    runs: np.ndarray


def simulate(
    rng: np.random.Generator, effects: np.ndarray, rule: Rule, noise: Noise = np.random.Generator.standard_normal
) -> Simulated:
    """Simulate loops, all at once, over changes with known `effects`, [loop, change], in SDs of a run."""
    loops, needed = len(effects), max(rule)
    gain, kept, false = np.zeros(loops), np.zeros(loops, int), np.zeros(loops, int)
    drawn = noise(rng, (loops, needed))
    incumbent, squares = drawn.mean(axis=1), needed * drawn.var(axis=1)
    freedom, runs = np.full(loops, needed - 1), np.full(loops, needed)
    for effect in effects.T:
        # The loops in which this change is not dropped yet, and its values there.
        on, values, of_values = np.arange(loops), np.empty((loops, 0)), np.zeros(loops)
        for stage, least in rule.items():
            further = stage - values.shape[1]
            values = np.concatenate([values, noise(rng, (len(on), further)) + (gain + effect)[on, np.newaxis]], axis=1)
            before, of_values = of_values, stage * values.var(axis=1)
            squares[on] += of_values - before
            freedom[on] += further - (stage == further)
            runs[on] += further
            z = z_score(values.mean(axis=1), stage, incumbent[on], needed, np.sqrt(squares[on] / freedom[on]))
            on, values, of_values = on[z > least], values[z > least], of_values[z > least]
        kept[on] += 1
        false[on] += effect[on] <= 0
        gain[on] += effect[on]
        incumbent[on] = values.mean(axis=1)
    return Simulated(kept, false, gain, runs)


def false_keeps(changes: int, rule: Rule) -> float:
    """The expected number of keeps among this many changes if none has an effect."""
    rng = np.random.Generator(np.random.Philox(changes))
    return float(simulate(rng, np.zeros((LOOPS, changes)), rule).kept.mean())


def as_json(loop: Loop, answer: Answer) -> dict[str, Any]:
    """The answer and the loop as plain values; gains are positive where a change is better."""
    changes = [
        {"change": each.name, "state": each.state, "runs": len(each.values), "tested_runs": each.tested}
        | {"gain": each.gain, "z": each.z, "threshold": loop.rule.get(each.tested)}
        for each in loop.tried
    ]
    return {
        "answer": answer.word,
        "change": answer.change.name if answer.change else None,
        "more": answer.more,
        "incumbent": loop.incumbent.name if loop.incumbent else None,
        "runs": loop.runs,
        "crashes": loop.crashes,
        "kept": [each.name for each in loop.tried if each.state == "kept"],
        "false_keeps_expected": false_keeps(len(changes), loop.rule),
        "changes": changes,
    }


def as_text(loop: Loop, answer: Answer, values: dict[str, Any], metric: str) -> str:
    """The answer, then the runs used and the changes kept."""
    kept, tried = values["kept"], len(loop.tried)
    names = f" ({', '.join(kept[:SHOWN])}{', ...' if len(kept) > SHOWN else ''})" if kept else ""
    crashed = f", {loop.crashes} of which crashed" if loop.crashes else ""
    lines = [_sentence(loop, answer, metric)]
    lines += [f"runs used: {loop.runs}{crashed}; changes tried: {tried}; kept so far: {len(kept)}{names}"]
    if tried:
        expected = f"{values['false_keeps_expected']:.2g}"
        lines += [f"false keeps to expect if no change had an effect: {expected} of {tried}"]
    return "\n".join(lines)


def _sentence(loop: Loop, answer: Answer, metric: str) -> str:
    """The answer with its reason."""
    word, change, more = answer
    times = counted(more, "more time")
    if change is None:
        name = loop.incumbent.name if loop.incumbent else ""
        return f"run a new change: the incumbent {name} has its {loop.needed} runs"
    if change is loop.incumbent and word == "run":
        return f"run the incumbent {change.name} {times}: before it has {loop.needed} runs, nothing can be kept"
    if change.state == "crashed":
        return f"drop {change.name}: a run of it crashed"
    if change.z is None or change.gain is None:
        return f"run {change.name} {times}"
    limit = f"{'at most' if word == 'drop' else 'above'} {loop.rule[change.tested]:g}"
    tested = f"z = {change.z:.2f} after {counted(change.tested, 'run')}, {limit}"
    gain = rounded_text(abs(change.gain), decimals_by_uncertainty(loop.sd()))
    side = f"{gain} {'better' if change.gain > 0 else 'worse'}"
    return (
        f"{word} {change.name}{f' {times}' if word == 'run' else ''}: {metric} {side} than the incumbent's ({tested})"
    )


# Names of the column of changes; the first that a table has is used.
CHANGES = ("change", "candidate", "patch", "idea", "commit", "sha", "revision", "variant", "name", "id")
CRASHED = FAILED | {"crash", "oom"}
UNFINISHED = NOT_FINISHED - FAILED - {""}
STATUSES = FINISHED | NOT_FINISHED | CRASHED | {"keep", "kept", "discard", "discarded", "drop", "dropped", "baseline"}
METRIC_LINE = re.compile(r"^\s*METRIC\s+([^\s=]+)\s*=[ \t]*(.*?)\s*$", re.MULTILINE)


def read_loop_table(path: str, metric: str, by: str | None) -> Frame:
    """The table or the log in a file as columns of texts."""
    with readable(path, "text"):
        logged = METRIC_LINE.findall(Path(path).read_text(ENCODING))
    if logged:
        return _table_of_log(path, logged, metric, by)
    table = read_csv(path, "runs", repeated=True, typed=False)
    if not has_names(table):
        raise BadInput(path, "line 1", "found no names", "names of columns, such as change and val_loss")
    return Frame(path, table)


def loop_table_of_frame(table: Any) -> Frame:
    """A DataFrame as columns of texts."""
    if len({*table.columns}) < len(table.columns):
        raise BadInput("table", "", "found a column twice", "each once")
    return Frame("table", of_frame(table, typed=False))


def _table_of_log(path: str, logged: Sequence[tuple[str, str]], metric: str, by: str | None) -> Frame:
    """The lines of a log as a table: a line with the change begins a run, which has at most one value of the metric."""
    names = list(dict.fromkeys(name for name, _ in logged))
    change = _column_of_changes(path, names, by)
    runs: list[dict[str, str]] = []
    for name, value in logged:
        if name == change:
            runs.append({})
        if not runs or (name == metric and name in runs[-1]):
            raise BadInput(path, metric, f"found METRIC {name}={value}", f"METRIC {change}=... before each run")
        runs[-1][name] = value
    return Frame(path, as_frame(names, [np.array([run.get(name, "") for run in runs], object) for name in names]))


def runs_of_loop(table: Frame, metric: str, by: str | None, needed: int) -> tuple[list[str], np.ndarray, str]:
    """Each run's change and value (NaN if it crashed), and the name of the column of changes.

    A change whose first `needed` runs are all equal is refused.
    """
    column = _column_of_changes(table.path, table.names, by)
    measured = column_named(table.path, table.names, metric, "metric")
    if measured == column:
        raise BadArgument("metric", f"found {column}, which says the change", "another column", table.path)
    changes = [str(cell).strip() for cell in table.column(column)]
    for line, change in enumerate(changes):
        if change.lower() in BLANK | {"nan"}:
            raise BadInput(table.where(line), column, "found no change", "its name in each line")
    _require_a_line_a_run(table, changes)
    statuses = _statuses(table)
    # A crashed run's number, such as 0.000000, is not a value.
    texts = np.where(np.isin(statuses, [*CRASHED]), "", table.column(measured)).astype(object)
    numbers, _ = numbers_of(Frame(table.path, table.cells.assign(**{measured: texts})), measured)
    done = ~np.isin(statuses, [*UNFINISHED])
    values = np.where(np.isfinite(numbers), numbers, math.nan)[done]
    changes = [change for change, each in zip(changes, done, strict=True) if each]
    for change in dict.fromkeys(changes):
        first = values[[each == change for each in changes]][:needed]
        if len(first) == needed and (first == first[0]).all():
            raise BadInput(table.path, measured, f"found {needed} equal runs of {change}", "runs with different seeds")
    return changes, values, column


def _statuses(table: Frame) -> list[str]:
    """The status of each run in small letters; empty texts without a column of statuses."""
    name = next((name for name in table.names if plain_words(name) in STATES), None)
    if name is None:
        return [""] * table.lines
    statuses = [str(cell).strip().lower() for cell in table.column(name)]
    for line, status in enumerate(statuses):
        if status not in STATUSES:
            raise BadInput(table.where(line), name, f"found {status!r}", "keep, discard or crash")
    return statuses


def _column_of_changes(path: str, names: list[str], by: str | None) -> str:
    """The column of changes: `by`, or the first known name."""
    if by is not None:
        return column_named(path, names, by, "by")
    known = [plain_words(name) for name in names]
    name = next((name for name in CHANGES if name in known), None)
    if name is None:
        what = f"found no column that says the change in {list_text(names)}"
        raise BadArgument("by", what, f"the name of one (known: {', '.join(CHANGES)})", path)
    return names[known.index(name)]


def _require_a_line_a_run(table: Frame, changes: list[str]) -> None:
    """Refuse several lines per run (several steps, or a repeated seed), and cells with several lines."""
    for name, column in zip(table.names, table.columns, strict=True):
        if any("\n" in str(cell) for cell in column):
            raise BadInput(table.path, name, "found a cell of several lines", "a line a run, and each quote closed")
        cells = [cell for cell in zip(changes, map(str, column), strict=True) if cell[1].lower() not in BLANK]
        if plain_words(name) in SEEDS and len(set(cells)) < len(cells):
            change, seed = next(cell for place, cell in enumerate(cells) if cell in cells[:place])
            raise BadInput(table.path, name, f"found {seed} twice for {change}", "another seed for each run")
        if plain_words(name) in STEPS and len(set(cells)) > len({change for change, _ in cells}):
            raise BadInput(table.path, name, "found several steps of a change", "a line a run, with its last value")
