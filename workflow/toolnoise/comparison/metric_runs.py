"""The runs of all arms with their metrics, and how they follow from the lines of tables.

Of several steps a run, the last or the best counts, and never without being asked.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, NoReturn

import numpy as np
import pandas as pd

from toolnoise.base.errors import BadArgument, BadInput
from toolnoise.base.printing import counted
from toolnoise.base.times import is_time
from toolnoise.comparison.metric_columns import NONE
from toolnoise.comparison.metric_names import Metric

LEFT = "Left out: "  # begins a note on what does not count
NUMBERED = "run "  # begins what stands for a seed if `paired` is given
MOST_NAMED = 3  # files or runs in a sentence
ONCE = "each seed once in an arm"
SHARED = "Runs of one session (a machine, a day, a launch) share its speed"
OWN_SESSIONS = f"session {NONE} if each run is a session of its own"
OF_RUN = ["arm", "seed", "session", "session_of_times", "run"]


class Lines(NamedTuple):
    """Lines of tables, in frames with one index.

    `about` has where a line stands and its run by arm, file, name, seed and session (None if unknown), and its step
    (NaN if unknown). `numbers` are those of metrics: NaN where the cell is blank, infinite where it is not finite.
    `settings` are the cells of other columns with few values, such as learning rates, `began` those of columns with a
    session's name.
    """

    about: pd.DataFrame
    numbers: pd.DataFrame
    settings: pd.DataFrame
    began: pd.DataFrame

    def called(self, line: int) -> str:
        """A line's run, for people."""
        seed, arm = self.about["seed"][line], self.about["arm"][line]
        of = self.about["run"][line] if seed is None else f"seed {seed}"
        return f"{of} of {arm}" if of else f"a run of {arm}"

    def where(self, line: int) -> str:
        """Where a line stands."""
        return self.about["where"][line]


class Runs(NamedTuple):
    """The runs of all arms: `about` has a line a run, `numbers` its metrics, NaN where it has none.

    The columns of `about` are arm, seed, session and session_of_times (None if unknown), and run, its name. `session`
    is what the user says of sessions: their column, "none", or nothing. `notes` say what was chosen and left out.
    """

    about: pd.DataFrame
    numbers: pd.DataFrame
    metrics: list[Metric]
    notes: Sequence[str] = ()
    session: str | None = None

    @property
    def arms(self) -> list[str]:
        """The arms that have a run with a metric, in their order."""
        return list(dict.fromkeys(self.about["arm"][self.numbers.notna().any(axis=1)]))

    def of(self, arm: str, metric: str) -> pd.DataFrame:
        """The runs of an arm that have a metric, with their `value` and the session that counts for it."""
        chosen = (self.about["arm"] == arm) & self.numbers[metric].notna()
        runs = self.about[chosen].assign(value=self.numbers[metric][chosen])
        return runs.assign(session=runs["session_of_times"]) if is_time(metric) and self.session is None else runs

    def sessions_missing(self, metric: str) -> bool:
        """Whether runs may share sessions that would decide a metric, and nothing says which."""
        return is_time(metric) and self.session is None and self.about["session_of_times"].isna().any()

    @property
    def described(self) -> list[str]:
        """What was read, for people: the arms with their runs, what was chosen, and which way metrics are better."""
        counts = ", ".join(f"{arm} {(self.about['arm'] == arm).sum()}" for arm in self.arms)
        return [f"Runs: {counts}.", *self.notes, *(f"{metric.better}." for metric in self.metrics)]


def as_runs(runs: Sequence[tuple[str, str | None, Mapping[str, float]]], metrics: list[Metric]) -> Runs:
    """Runs of which the arm, the seed (None if unknown) and the metrics are known."""
    about = pd.DataFrame([(arm, seed, None, None, "") for arm, seed, _ in runs], columns=OF_RUN, dtype=object)
    return Runs(about, pd.DataFrame([values for *_, values in runs], dtype=float), metrics)


def require_own_sessions(metric: str, session: str | None) -> None:
    """Refuse what a rule for single runs cannot judge: times of runs that may share a session, or a column of these."""
    if session not in (None, NONE):
        allowed = f"{NONE}, if each run is a session of its own; compare averages runs over a column"
        raise BadArgument("session", f"found {session}", allowed)
    if session is None and is_time(metric):
        raise BadArgument("metric", f"found {metric}, a time or speed, and no sessions. {SHARED}", OWN_SESSIONS)


def runs_of_lines(
    lines: Lines, metrics: Sequence[Metric], steps: str | None
) -> tuple[pd.Index, pd.DataFrame, list[str]]:
    """The first line of each run, its metrics, and notes: a metric that is not finite is left out of its run."""
    about, notes = lines.about, []
    run = _run_of_each_line(lines)
    firsts = about.index[~run.duplicated()]
    # Of two runs of an arm (and a session) with one seed, neither pairs nor the number of runs would be right.
    if twice := _first_repeat(about.loc[firsts].dropna(subset="seed"), ["arm", "seed", "session"]):
        _refuse_twice(lines, *twice, about["arm"][twice[1]], f"seed {about['seed'][twice[1]]}")
    values = pd.DataFrame(index=firsts)
    for metric in metrics:
        filled = lines.numbers[metric.name].dropna()
        if run[filled.index].duplicated().any():
            filled, said = _that_count(lines, filled, run[filled.index], metric, steps)
            notes += said
        finite = filled[np.isfinite(filled)]
        values[metric.name] = finite.set_axis(run[finite.index])
        for arm, count in about["arm"][filled.index.difference(finite.index)].value_counts(sort=False).items():
            notes.append(f"{LEFT}{counted(count, 'run')} of {arm} whose {metric.name} is not a finite number.")
    return firsts, values, notes


def _run_of_each_line(lines: Lines) -> pd.Series:
    """The first line of each line's run: lines of one name, seed and session, or, without these, steps in one file.

    Lines with one name and no steps may be of several runs, or of something else: they are refused.
    """
    about, key = lines.about, ["arm", "file", "run", "seed", "session"]
    groups = about.groupby(key, sort=False, dropna=False)
    of_one_run = about["seed"].notna() | (groups["step"].transform("nunique") > 1)
    if twice := _first_repeat(about[~of_one_run & (about["run"] != "")], key):
        first, second = twice
        what = f"found {lines.called(first)} in {lines.where(first)}, too, and no steps that tell them apart"
        raise BadInput(lines.where(second), "", what, "a line for each run, or a column of steps")
    own = about.index.to_series()
    return own.where(~of_one_run, own.groupby(groups.ngroup()).transform("first"))


def _first_repeat(frame: pd.DataFrame, names: list[str]) -> tuple[int, int] | None:
    """The first two lines that are equal in these columns, if there are any."""
    group = frame.groupby(names, sort=False, dropna=False).ngroup()
    if not (repeated := group.duplicated()).any():
        return None
    second = repeated.idxmax()
    return (group == group[second]).idxmax(), second


def _refuse_twice(lines: Lines, first: int, second: int, key: str, what: str) -> NoReturn:
    """Refuse what stands twice; a column that differs there is the arm, or one of its values is to be chosen."""
    where, stands = lines.where(second), f"{what} stands in {lines.where(first)}, too"
    settings, began = (
        [name for name in frame if "" not in (cells := set(frame[name][[first, second]])) and len(cells) > 1]
        for frame in (lines.settings, lines.began)
    )
    if differ := [name for name in settings if name not in lines.began]:
        apart = ", ".join(f"{name} ({' and '.join(lines.settings[name][[first, second]])})" for name in differ)
        found = f"{stands}, with another {apart}"
        one = f"or the lines of one {differ[0]}"
        raise BadInput(where, key, found, lambda spelled: f"{ONCE}: {spelled('by', differ[0])}, {one}")
    if began:
        found = f"{stands}, with another {began[0]}"
        raise BadInput(where, key, found, lambda spelled: f"{ONCE}; {spelled('session', began[0])} averages over it")
    without = "for runs that share no seed"
    raise BadInput(where, key, stands, lambda spelled: f"{ONCE}; another column, or {spelled('seed', NONE)} {without}")


def _that_count(
    lines: Lines, filled: pd.Series, run: pd.Series, metric: Metric, steps: str | None
) -> tuple[pd.Series, list[str]]:
    """The values of the lines that count, one of each run, and what is said of them."""
    table = pd.DataFrame({"run": run, "step": lines.about["step"][filled.index], "value": filled})
    of_runs = table.groupby("run")["step"]
    several = table[of_runs.transform("size") > 1]
    blank = several["step"].isna()
    if (mixed := blank & (of_runs.transform("count")[several.index] > 0)).any():
        line = mixed.idxmax()
        what = f"found no step of {lines.called(line)}"
        raise BadInput(lines.where(line), metric.name, what, "one, as in its other lines")
    if twice := _first_repeat(several[blank | ~several.duplicated()], ["run", "step"]):
        _refuse_twice(lines, *twice, metric.name, lines.called(twice[0]))
    if steps is None and (counts := of_runs.nunique()[lambda of_run: of_run > 1]).any():
        line = counts.index[0]
        what = f"found {counts[line]} steps of {lines.called(line)}"
        raise BadInput(lines.where(line), metric.name, what, "last or best says which of them counts")
    ordered = table.sort_values("step", kind="stable")
    chosen = ordered.reset_index(names="line").groupby("run")["line"].last()
    if steps == "best":
        finite = ordered[np.isfinite(ordered["value"])].groupby("run")["value"]
        chosen.update(finite.idxmin() if metric.lower else finite.idxmax())
    at = table["step"][chosen].dropna()
    if steps is None or at.empty:
        return filled[chosen], []
    last = at.max()
    early = [f"{lines.called(line)} ends at {step:.15g}" for line, step in at.items() if step < last]
    early = early if len(early) <= MOST_NAMED else [f"{len(early)} runs end before {last:.15g}"]
    optimistic = "the best of noisy steps is better than any step will be on new data"
    more = optimistic if steps == "best" else "; ".join(early)
    span = f"step {last:.15g}" if at.min() == last else f"steps {at.min():.15g} to {last:.15g}"
    said = f"{metric.name}: the {steps} step of each run counts, {span}{f' ({more})' if more else ''}."
    return filled[chosen], [said]


def numbered(about: pd.DataFrame) -> list[str]:
    """What stands for the seeds of runs: the numbers of their files, or their order, as `paired` says."""
    seeds, of_arms = about["seed"], about.groupby("arm", sort=False)["seed"]
    if all(str(seed).startswith(NUMBERED) for seed in seeds):
        if len({frozenset(of_arm) for _, of_arm in of_arms}) > 1:
            found = "; ".join(f"{arm}: {', '.join(of_arm)}" for arm, of_arm in of_arms)
            raise BadArgument("paired", f"found {found}", "the same runs in each arm")
        return list(seeds)
    if seeds.notna().any():
        raise BadArgument("paired", "the seeds of the runs are known", "only for runs without seeds")
    if len(set(of_arms.size())) > 1:
        found = ", ".join(f"{count} of {arm}" for arm, count in of_arms.size().items())
        raise BadArgument("paired", f"found {found}", "equal numbers of runs")
    return [f"{NUMBERED}{place + 1}" for place in of_arms.cumcount()]
