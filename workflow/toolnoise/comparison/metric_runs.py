"""Runs with their metrics from tables: a file of all arms, or a file or several for each arm.

Nothing is chosen silently: `notes` name the columns used, the lines left out, and the reasons. If a run has several
steps, the user says whether the last or the best counts. A column of sessions is used only on request, except for times
and speeds: runs of one session (a machine, a day, a launch) share its speed.
"""

import functools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, NoReturn

import numpy as np
import pandas as pd

from toolnoise.base.errors import BadArgument, BadInput, Spelling
from toolnoise.base.printing import counted
from toolnoise.base.times import is_time
from toolnoise.comparison import known_names as known
from toolnoise.comparison import metric_layouts, naming
from toolnoise.comparison.metric_layouts import NONE, Arms, Asked, Frame, Roles
from toolnoise.comparison.naming import Metric, list_text, plain_words, words_of
from toolnoise.comparison.table_files import EXACT, is_number

LEFT = "Left out: "  # start of a note on excluded lines
NUMBERED = "run "  # start of the substitute for a seed with `paired`
MOST_NAMED = 3  # files or runs named in a sentence
ONCE = "each seed once in an arm"
SHARED = "Runs of one session (a machine, a day, a launch) share its speed"
OWN_SESSIONS = f"session {NONE} if each run is a session of its own"
OF_RUN = ["arm", "seed", "session", "session_of_times", "run"]


class Lines(NamedTuple):
    """Lines of tables, in frames with one index.

    `about` has the place of each line, its run by arm, file, name, seed and session (None if unknown), and its step
    (NaN if unknown). `numbers` has the metrics: NaN for blank cells, infinite for numbers that are not finite.
    `settings` has the cells of other columns with few values, such as learning rates, and `began` those of columns
    named as sessions.
    """

    about: pd.DataFrame
    numbers: pd.DataFrame
    settings: pd.DataFrame
    began: pd.DataFrame

    def called(self, line: int) -> str:
        """A line's run, for messages."""
        seed, arm = self.about["seed"][line], self.about["arm"][line]
        of = self.about["run"][line] if seed is None else f"seed {seed}"
        return f"{of} of {arm}" if of else f"a run of {arm}"

    def where(self, line: int) -> str:
        """A line's place, for messages."""
        return self.about["where"][line]


class Runs(NamedTuple):
    """The runs of all arms: `about` has a line per run, `numbers` its metrics, NaN where it lacks one.

    The columns of `about` are arm, seed, session and session_of_times (None if unknown), and run, its name. `session`
    is the user's option: the column of sessions, "none", or None. `notes` say what was chosen and left out.
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
        """The runs of an arm that have a metric, with its `value` and the session that applies."""
        chosen = (self.about["arm"] == arm) & self.numbers[metric].notna()
        runs = self.about[chosen].assign(value=self.numbers[metric][chosen])
        return runs.assign(session=runs["session_of_times"]) if is_time(metric) and self.session is None else runs

    def sessions_missing(self, metric: str) -> bool:
        """Whether runs may share unknown sessions that would affect this metric."""
        return is_time(metric) and self.session is None and self.about["session_of_times"].isna().any()

    @property
    def described(self) -> list[str]:
        """Sentences on what was read: arms with their runs, choices made, and directions of metrics."""
        counts = ", ".join(f"{arm} {(self.about['arm'] == arm).sum()}" for arm in self.arms)
        return [f"Runs: {counts}.", *self.notes, *(f"{metric.better}." for metric in self.metrics)]


def as_runs(runs: Sequence[tuple[str, str | None, Mapping[str, float]]], metrics: list[Metric]) -> Runs:
    """Runs from their arms, seeds (None if unknown) and metrics."""
    about = pd.DataFrame([(arm, seed, None, None, "") for arm, seed, _ in runs], columns=OF_RUN, dtype=object)
    return Runs(about, pd.DataFrame([values for *_, values in runs], dtype=float), metrics)


def require_own_sessions(metric: str, session: str | None) -> None:
    """Refuse times of runs that may share a session, and a column of sessions, for rules that judge single runs."""
    if session not in (None, NONE):
        allowed = f"{NONE}, if each run is a session of its own; compare averages runs over a column"
        raise BadArgument("session", f"found {session}", allowed)
    if session is None and is_time(metric):
        raise BadArgument("metric", f"found {metric}, a time or speed, and no sessions. {SHARED}", OWN_SESSIONS)


def runs_of_lines(
    lines: Lines, metrics: Sequence[Metric], steps: str | None
) -> tuple[pd.Index, pd.DataFrame, list[str]]:
    """The first line of each run, its metrics without those that are not finite, and notes."""
    about, notes = lines.about, []
    run = _run_of_each_line(lines)
    firsts = about.index[~run.duplicated()]
    # If two runs of an arm (and a session) had one seed, pairs and the number of runs would be wrong.
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
    """For each line, the first line of its run: lines of one arm, file, name, seed and session.

    If they have no seed and not several steps, each line is a run; lines with the same name are then refused.
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
    """The first two lines that are equal in these columns; None if there are none."""
    group = frame.groupby(names, sort=False, dropna=False).ngroup()
    if not (repeated := group.duplicated()).any():
        return None
    second = repeated.idxmax()
    return (group == group[second]).idxmax(), second


def _refuse_twice(lines: Lines, first: int, second: int, key: str, what: str) -> NoReturn:
    """Refuse a repeated line; the message names a column that differs there, which may be the arm or the session."""
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
    """The values of the lines that count, one per run, and notes on them."""
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


def numbered_seeds(about: pd.DataFrame) -> list[str]:
    """Substitutes for seeds, for `paired`: the numbers of the files, or the order of the runs in each arm."""
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


class Notes(NamedTuple):
    """Notes on files: each note once with the files it applies to, and counts over all files.

    `percent` has the first file whose metric is in percent, and the first whose metric is not.
    """

    files: dict[str, list[str]]
    counts: Counter[str]
    percent: dict[tuple[str, bool], str]

    def sentences(self) -> list[str]:
        """All notes as sentences."""
        said = []
        for text, paths in self.files.items():
            named = ", ".join(paths) if len(paths) <= MOST_NAMED else f"{len(paths)} files"
            said.append(f"{named}: {text}.")
        return said + [f"{LEFT}{count} {what}." for what, count in self.counts.items()]

    def unit(self, metric: str) -> str:
        """ "points" for a metric in percent, which must be in percent in every file; otherwise empty."""
        if (metric, True) in self.percent and (metric, False) in self.percent:
            what = f"found numbers with %, and without in {self.percent[metric, False]}"
            raise BadInput(self.percent[metric, True], metric, what, "one of the two in all files")
        return "points" if (metric, True) in self.percent else ""


def read_runs(given: Sequence[Sequence[str | Frame]], asked: Asked, *, arms_are: Arms = "needed") -> Runs:
    """The runs of arms; an arm is a file, a folder, a pattern, several files, or a table in memory.

    For a single table, or with `asked.by`, `arms_are` says where the arms are.
    """
    arms = [
        [one for each in arm for one in ([each] if isinstance(each, Frame) else naming.files_of(each))] for arm in given
    ]
    if asked.by is None and (len(arms) > 1 or len(arms[0]) > 1):
        arms_are = "in files"
    in_files = arms_are == "in files"
    # A table in memory, such as arm A, is called A.
    files = [[one.path.rpartition(" ")[2] if isinstance(one, Frame) else one for one in arm] for arm in arms]
    parts: list[Lines] = []
    notes = Notes({}, Counter(), {})
    for name, arm, paths in zip(naming.names_of_arms(files), arms, files, strict=True):
        seeds, several = _seeds_of_files(paths, asked), in_files and len(arm) > 1
        for place, one in enumerate(arm):
            frame = one if isinstance(one, Frame) else metric_layouts.read_metric_file(one)
            seed = seeds[place] if seeds else None
            parts.append(_lines(frame, name, arms_are, asked, seed, notes, several=several))
    # If arms are files, each file has its own runs.
    about, *others = (pd.concat(frames, ignore_index=True) for frames in zip(*parts, strict=True))
    lines = Lines(about if in_files else about.assign(file=""), *(frame.astype(object).fillna("") for frame in others))
    lines = lines._replace(numbers=others[0])
    if asked.steps and len(about) and about["step"].isna().all():
        raise BadArgument(asked.steps, "found no steps", "a column of steps, such as step, iteration or epoch")
    metrics = [
        metric._replace(unit=notes.unit(metric.name))
        for metric in naming.with_directions(asked.metrics, asked.lower, asked.higher)
    ]
    if asked.steps == "best":
        naming.require_directions(metrics)
    firsts, values, said = runs_of_lines(lines, metrics, asked.steps)
    about = about.loc[firsts].assign(session_of_times=None)
    if asked.paired:
        about = about.assign(seed=numbered_seeds(about))
    elif asked.seed is None and arms_are != "or one" and about["seed"].isna().all() and about["session"].isna().all():
        said.append("Runs are not paired: no column says their seeds.")
    for metric in metrics:
        of_arms = values[metric.name].dropna().groupby(about["arm"], sort=False)
        naming.require_one_scale_of_shares(metric.name, {arm: list(of_arm) for arm, of_arm in of_arms})
    if asked.session == NONE:
        said.append(f"Each run counts as a session of its own (session {NONE}).")
    if asked.session is None and any(map(is_time, asked.metrics)):
        told = metric_layouts.columns_of_sessions(lines.began.loc[firsts][values.notna().any(axis=1)])
        if len(told) == 1:
            about = about.assign(session_of_times=lines.began[told[0]])
            said.append(f"Of times and speeds, sessions by {told[0]}.")
        elif told:
            said.append(f"{' and '.join(told)} may each say the sessions of times and speeds: session says which.")
    return Runs(about, values, metrics, [*notes.sentences(), *said], asked.session)


def _lines(
    original: Frame, arm: str, arms_are: Arms, asked: Asked, seed: str | None, notes: Notes, *, several: bool
) -> Lines:
    """The lines of finished runs that have a number.

    If an arm has `several` files, each has one run: without a column of steps, pandas' line numbers are its steps.
    """
    found, layout = metric_layouts.as_long(
        original, asked.metrics, asked.by, asked.seed, one_arm=arms_are == "in files"
    )
    columns = {metric: naming.column_named(found.path, found.names, metric, "metric") for metric in asked.metrics}
    values = pd.DataFrame(index=range(found.lines))
    for metric, name in columns.items():
        values[metric], percent = metric_layouts.numbers_of(found, name)
        if values[metric].notna().any():
            notes.percent.setdefault((metric, percent or name.endswith("%")), found.path)
        if (blank := values[metric].isna().sum()) and metric_layouts.A_LINE_A_VALUE not in layout:
            notes.counts[f"blank in {metric}"] += int(blank)
    of = metric_layouts.roles_of(found, list(columns.values()), asked, arms_are)
    summaries = _summaries(found, of)
    named = [line for line, summary in enumerate(summaries) if not summary]
    arms, of_arms = _arms_of_lines(found, of, named, arm, arms_are)
    seeds, of_seeds = _seeds_of_lines(found, of, named, asked.seed, seed)
    blank = [""] * found.lines
    runs, states = (found.texts(name) if name else blank for name in (of.run, of.state))
    about = pd.DataFrame(
        {
            "where": [found.where(line) for line in range(found.lines)],
            "arm": arms,
            "file": found.path,
            "run": runs,
            "seed": [seed or None for seed in seeds],
            "session": found.texts(of.session) if of.session else None,
            "step": _steps(found, of, list(zip(arms, runs, seeds, strict=True)), several=several),
        }
    ).astype({"seed": object, "session": object, "step": float})
    why = [
        f"with {of.state} {state.lower() or 'blank'}"
        if of.state and state.lower() not in known.FINISHED
        else "counted as blank"
        if without
        else f"with {summary} in place of a run"
        if summary
        else ""
        if named_arm
        else f"without {of.arm}"
        for state, without, summary, named_arm in zip(states, values.isna().all(axis=1), summaries, arms, strict=True)
    ]
    notes.counts.update(reason for reason in why if reason not in ("", "counted as blank"))
    kept = [not reason for reason in why]
    began = metric_layouts.began_columns(found, [name for name in (of.arm, of.seed, *columns.values()) if name])
    settings = pd.DataFrame({name: found.texts(name) for name in of.settings}, about.index, dtype=object)
    lines = Lines(*(frame[kept] for frame in (about, values, settings, began)))
    for role, told in (("session", lines.about["session"] != ""), ("seed", lines.about["seed"].notna())):
        if not told.all() and (told.any() or role == "session"):
            what = f"found no {role}"
            raise BadInput(lines.where(told.idxmin()), getattr(of, role) or "", what, f"one in each, or {role} {NONE}")
    told_apart = (lines.about["run"] != "") | lines.about["seed"].notna() | lines.about["step"].notna()
    if several and len(told_apart) > 1 and not told_apart.any():
        what = f"found {len(told_apart)} lines without seeds or steps, in one of several files of an arm"
        raise BadInput(found.path, "", what, "a line a file, or a column of steps, such as step, iteration or epoch")
    of_times = list(began) if any(map(is_time, asked.metrics)) else []
    if unused := [name for name in _unused(found, of, lines.about["arm"]) if name not in of_times]:
        layout.append(f"not used, but varying within an arm: {list_text(unused)}")
    if of.session:
        layout.append(f"sessions by {of.session}")
    if folds := [name for name in found.names if plain_words(name) in known.FOLDS]:
        layout.append(f"{folds[0]}: folds share training data, so intervals over their runs are too narrow")
    # Columns that `as_long` added need no note.
    layout += [how for how, name in ((of_arms, of.arm), (of_seeds, of.seed)) if how and name in (None, *original.names)]
    if layout:
        notes.files.setdefault("; ".join(layout), []).append(found.path)
    return lines


def _summaries(found: Frame, of: Roles) -> list[str]:
    """For each line the word in place of a seed or run (mean, std, ...), or an empty text for a run.

    A column whose other cells are all numbers counts, too, whatever its name.
    """
    said = [""] * found.lines
    for place, (name, column) in enumerate(zip(found.names, found.columns, strict=True)):
        cells = metric_layouts.texts_of_cells(column) if column.dtype.kind == "O" else []
        # Such a word stands alone: std_2 may be a run.
        sums = {
            line
            for line, cell in enumerate(cells)
            if "_".join(words_of(cell)) in known.SUMMARIES and not any(map(str.isdigit, cell))
        }
        others = {cell for line, cell in enumerate(cells) if cell and line not in sums}
        beside_numbers = bool(others) and all(map(is_number, others))
        if beside_numbers or name in (of.seed, of.run) or (place == 0 and metric_layouts.is_index(name)):
            for line in sums:
                said[line] = cells[line]
    return said


def _steps(found: Frame, of: Roles, runs: Sequence[tuple], *, several: bool) -> list[float]:
    """The step of each line, NaN if unknown; `runs` has each line's arm, name and seed."""
    nowhere = [np.nan] * found.lines
    if not of.step:
        lines = np.arange(float(found.lines))
        counted_lines = several and metric_layouts.is_index(found.names[0]) and found.lines > 1 and not of.seed
        return lines.tolist() if counted_lines and np.array_equal(found.columns[0], lines) else nowhere
    steps = metric_layouts.numbers_of(found, of.step)[0].tolist()
    if not of.state:
        return steps
    # A table with states has a line per run, at its last step, unless lines of one run have different steps.
    of_runs: dict[tuple, list[float]] = {}
    for run, step in zip(runs, steps, strict=True):
        of_runs.setdefault(run, []).append(step)
    told = [held for (_, *run), held in of_runs.items() if any(run) and 1 < len(held) == len(set(held))]
    return steps if told else nowhere


def _arms_of_lines(found: Frame, of: Roles, named: list[int], arm: str, arms_are: Arms) -> tuple[list[str], str]:
    """The arm of each line, and a note on its source; `named` are the lines that are no summaries."""
    if of.arm:
        return found.texts(of.arm), f"arms by {of.arm}"
    if arms_are == "in files":
        return [arm] * found.lines, ""
    if in_names := _in_names(found, of, named, naming.arms_in_names):
        return in_names, "arms by the names of runs, before their numbers"
    if arms_are == "needed":
        raise BadArgument("by", "missing", "no column says a run's arm; or a file for each arm", found.path)
    return [arm] * found.lines, ""


def _seeds_of_lines(
    found: Frame, of: Roles, named: list[int], asked: str | None, seed: str | None
) -> tuple[list[str | None], str]:
    """The seed of each line (None if unknown), and a note on its source."""
    if of.seed:
        for line, cell in enumerate(found.column(of.seed)):
            if isinstance(cell, float) and abs(cell) >= EXACT:
                what = f"found {cell:.0f}, rounded"
                raise BadInput(found.where(line), of.seed, what, f"a seed below {EXACT}, or text")
        return list(map(whole_seed, found.texts(of.seed))), f"seeds by {of.seed}"
    if seed is not None:
        return [seed] * found.lines, "seeds by the names of files"
    if asked != NONE and (in_names := _in_names(found, of, named, naming.seeds_in_names)):
        return in_names, "seeds by the names of runs"
    return [None] * found.lines, ""


def _in_names(
    found: Frame, of: Roles, named: list[int], parts_of: Callable[[Sequence[str]], list[str] | None]
) -> list[str] | None:
    """A part of each run's name, blank for lines without a run; None unless all names have it."""
    names = found.texts(of.name) if of.name else []
    parts = parts_of([names[line] for line in named]) if names else None
    if parts is None:
        return None
    of_lines = [""] * found.lines
    for line, part in zip(named, parts, strict=True):
        of_lines[line] = part
    return of_lines


def whole_seed(seed: str) -> str:
    """A seed in the form that is compared: 1.0, which pandas writes beside blank cells, is 1."""
    if seed.isdecimal():
        return str(int(seed))
    if is_number(seed) and np.isfinite(float(seed)) and float(seed).is_integer():
        return f"{float(seed):.17g}"
    return seed


def _seeds_of_files(paths: Sequence[str], asked: Asked) -> list[str] | None:
    """The seed of each file of an arm by its name, or its number if `paired`; None unless all have different ones."""
    if len(paths) < 2 or asked.seed is not None:
        return None
    seeds = naming.seeds_in_names(paths)
    if seeds is None and asked.paired and (numbers := naming.numbers_of(paths)):
        return [f"{NUMBERED}{number}" for number in numbers]
    return seeds if seeds and len(set(seeds)) == len(seeds) else None


def _a_file_each(name: str, spelled: Spelling) -> str:
    """What is allowed in place of several data sets in an arm, in the words of the caller."""
    return f"a file for each {name}, or {spelled('by', name)}"


def _unused(found: Frame, of: Roles, arms: pd.Series) -> list[str]:
    """The columns that vary within an arm and are not used; an arm with several data sets or tasks is refused."""
    several = []
    for name in of.unused:
        of_arms = pd.Series(found.texts(name), dtype=object)[arms.index].groupby(arms).unique()
        most = max(of_arms, key=len, default=())
        if len(most) > 1:
            if plain_words(name) in known.TASKS:
                what = f"found {list_text(sorted(most))} in one arm"
                raise BadInput(found.path, name, what, functools.partial(_a_file_each, name))
            several.append(name)
    # If every arm is the same grid over a setting, its runs do not differ by noise alone.
    for name in of.settings if of.seed is None and len(arms) else ():
        counts = pd.crosstab(arms, pd.Series(found.texts(name), dtype=object)[arms.index])
        of_each = counts.shape[1] > 1 and counts.min(axis=None) > 1 and (counts == counts.iloc[0]).all(axis=None)
        if of_each and name not in several and plain_words(name) not in known.SEEDS | known.FOLDS:
            several.append(name)
    return several
