"""Runs with their metrics from tables: a file of all arms, or a file or several for each arm.

Nothing is chosen in silence: `notes` say which columns were taken, which lines were left out and why. Of several steps
a run, the last or the best counts only if the user says so.
"""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from toolnoise.base.errors import BadInput
from toolnoise.base.times import is_time
from toolnoise.comparison import csv_columns, known_names, read_arms, table_rows
from toolnoise.comparison.csv_columns import EXACT
from toolnoise.comparison.tables import frame as frames
from toolnoise.comparison.tables import layouts, roles, sessions
from toolnoise.comparison.tables.arguments import Asked
from toolnoise.comparison.tables.directions import directed, require_of_metrics, words_of
from toolnoise.comparison.tables.frame import Frame
from toolnoise.comparison.tables.roles import Roles
from toolnoise.comparison.tables.runs import LEFT, NUMBERED, Line, Run, Runs, as_runs

MOST_NAMED = 3  # files in a sentence
# How something is known: the words, and the column.
How = tuple[str, str | None]
# Of a metric in percent, and of one that is not, the first file.
Units = dict[tuple[str, bool], str]


class Notes:
    """What is said of files: each text once, with the files that it is true of, and counts over all of them."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.files: dict[str, list[str]] = {}
        self.counts: Counter[str] = Counter()

    def say(self, path: str, text: str) -> None:
        """Say something of a file."""
        self.files.setdefault(text, []).append(path)

    def sentences(self) -> list[str]:
        """All of it."""
        said = []
        for text, paths in self.files.items():
            named = ", ".join(paths) if len(paths) <= MOST_NAMED else f"{len(paths)} files"
            said.append(f"{named}: {text}.")
        return said + [f"{LEFT}{count} {what}." for what, count in self.counts.items()]


def read(given: Sequence[Sequence[str]], asked: Asked, *, alone: bool = False) -> Runs:
    """The runs in files: each item of `given` is a file, a folder or a pattern, or several files, of one arm.

    A single file, or files with `asked.by`, have the arms in a column. If `alone`, one arm is enough: a single file
    in which no column says the arm is one.
    """
    files = [[file for pattern in arm for file in read_arms.files_of(pattern)] for arm in given]
    in_files = asked.by is None and (len(files) > 1 or len(files[0]) > 1)
    names = read_arms.names_of_arms(files) if in_files else [""] * len(files)
    lines: list[Line] = []
    units: Units = {}
    notes = Notes()
    for name, paths in zip(names, files, strict=True):
        seeds = _of_paths(paths, asked)
        for place, path in enumerate(paths):
            several = bool(name) and len(paths) > 1
            found = _lines(
                path, name, asked, seeds[place] if seeds else None, notes, units, alone=alone, several=several
            )
            if several:
                _require_one_run(path, found)
            # Of an arm in a file or several, each file has runs of its own.
            lines += [line._replace(file=path) for line in found] if name else found
    if asked.steps and lines and all(np.isnan(line.step) for line in lines):
        allowed = "a column of steps, such as step, iteration or epoch"
        raise BadInput("command line", f"--{asked.steps}", "found no steps", allowed)
    runs, said = as_runs(lines, asked)
    if asked.paired:
        runs = _numbered(runs)
    elif asked.seed is None and all(run.seed is run.session is None for run in runs) and not alone:
        said.append("Runs are not paired: no column says their seeds (--seed, or --paired if they have one order).")
    in_percent = _in_percent(asked, units)
    require_of_metrics(((run.arm, run.metrics) for run in runs), "command line")
    metrics = [metric._replace(unit="points") if metric.name in in_percent else metric for metric in directed(asked)]
    arms = list(dict.fromkeys(run.arm for run in runs if run.metrics))
    if asked.session == roles.NONE:
        said.append("Each run counts as a session of its own (--session none).")
    of_times = []
    if asked.session is None and any(is_time(metric) for metric in asked.metrics):
        of_times = sessions.that_may_be_sessions([run.began for run in runs if run.metrics])
        said += sessions.said_of(of_times)
    of_time = of_times[0] if len(of_times) == 1 else None
    return Runs(arms, runs, metrics, [*notes.sentences(), *said], asked.session, of_time)


def _in_percent(asked: Asked, units: Units) -> set[str]:
    """The metrics in percent, which must be so in every file."""
    for metric in asked.metrics:
        if (metric, True) in units and (metric, False) in units:
            what = f"found numbers with %, and without in {units[metric, False]}"
            raise BadInput(units[metric, True], metric, what, "one of the two in all files")
    return {metric for metric, percent in units if percent}


def _lines(
    path: str, arm: str, asked: Asked, seed: str | None, notes: Notes, units: Units, *, alone: bool, several: bool
) -> list[Line]:
    """The lines of a file that are of a finished run and have a number; an empty arm is in a column.

    Of `several` files of an arm, each has one run: without other steps, pandas' numbers of lines are its steps.
    """
    original = frames.read(path)
    found, layout = layouts.as_long(original, asked.metrics, asked.by, asked.seed)
    columns = {metric: frames.found(found, metric, "--metric") for metric in asked.metrics}
    cells = {metric: frames.numbers(found, name) for metric, name in columns.items()}
    for metric, held in cells.items():
        if not np.isnan(held.values).all():
            units.setdefault((metric, held.percent or columns[metric].endswith("%")), path)
    arms_are = "in files" if arm else "or one" if alone else "needed"
    of = roles.of(found, list(columns.values()), asked.by, asked.seed, asked.session, arms=arms_are)
    summaries = _summaries(found, of)
    named = [line for line in range(found.lines) if not summaries[line]]
    arms, by = _arms(found, of, named, arm, read_arms.names_of_arms([[path]])[0] if alone else None)
    seeds, pairs = _seeds(found, of, named, asked.seed, seed)
    runs = frames.texts(found.column(of.run)) if of.run else [""] * found.lines
    in_session = frames.texts(found.column(of.session)) if of.session else [None] * found.lines
    began = roles.began(found, [name for name in (of.arm, of.seed, *columns.values()) if name])
    at = _steps(found, of, list(zip(arms, runs, seeds, strict=True)), several=several)
    states = [text.lower() for text in frames.texts(found.column(of.state))] if of.state else []
    settings = {name: frames.texts(found.column(name)) for name in of.settings}
    lines, known, kept = [], [], []
    for line in range(found.lines):
        values = {metric: float(held.values[line]) for metric, held in cells.items()}
        if states and states[line] not in known_names.FINISHED:
            notes.counts[f"with {of.state} {states[line] or 'blank'}"] += 1
        elif all(np.isnan(value) for value in values.values()):
            pass  # counted by its blank cells
        elif summaries[line]:
            notes.counts[f"with {summaries[line]} in place of a run"] += 1
        elif not arms[line]:
            notes.counts[f"without {of.arm}"] += 1
        else:
            where = found.where(line)
            known.append(seeds[line] != "")
            kept.append(line)
            if in_session[line] == "":
                raise BadInput(where, of.session, "found no session", "one in each line, or --session none")
            of_line, of_began = ({name: cells[line] for name, cells in each.items()} for each in (settings, began))
            step, seed_of, session = float(at[line]), seeds[line] or None, in_session[line]
            lines.append(Line(where, arms[line], "", runs[line], seed_of, step, values, session, of_line, of_began))
    if not all(known) and any(known):
        raise BadInput(lines[known.index(False)].where, of.seed, "found no seed", "one in each line, or --seed none")
    for metric, held in cells.items():
        blank = int(np.isnan(held.values).sum())
        if blank and layouts.A_LINE_A_VALUE not in layout:
            notes.counts[f"blank in {metric}"] += blank
    of_times = began if any(map(is_time, asked.metrics)) else {}
    if unused := [name for name in _unused(found, of, [arms[line] for line in kept], kept) if name not in of_times]:
        layout.append(f"not used, but varying within an arm: {frames.listed(unused)}")
    if of.session:
        layout.append(f"sessions by {of.session}")
    if folds := [name for name in found.names if roles.plain(name) in known_names.FOLDS]:
        layout.append(f"{folds[0]}: folds share training data, so intervals over their runs are too narrow")
    chosen = [*layout, *(text for text, name in (by, pairs) if text and (name is None or name in original.names))]
    if chosen:
        notes.say(path, "; ".join(chosen))
    return lines


def _require_one_run(path: str, lines: list[Line]) -> None:
    """Refuse lines of one of several files that may be steps of its run as well as runs."""
    if len(lines) > 1 and not any(line.run or line.seed is not None or not np.isnan(line.step) for line in lines):
        what = f"found {len(lines)} lines without seeds or steps, in one of several files of an arm"
        raise BadInput(path, "", what, "a line a file, or a column of steps, such as step, iteration or epoch")


def _steps(found: Frame, of: Roles, runs: Sequence[tuple], *, several: bool) -> np.ndarray:
    """The step of each line, of these runs by arm, name and seed; NaN where none is known."""
    nowhere = np.full(found.lines, np.nan)
    if not of.step:
        lines = np.arange(float(found.lines))
        counted = several and roles.is_index(found.names[0]) and found.lines > 1 and not of.seed
        return lines if counted and np.array_equal(found.columns[0], lines) else nowhere
    at = frames.numbers(found, of.step).values
    if not of.state:
        return at
    # A table with states has a line a run, and its step is the last; unless the lines of a run tell steps.
    of_runs: dict[tuple, list[float]] = {}
    for run, step in zip(runs, at.tolist(), strict=True):
        of_runs.setdefault(run, []).append(step)
    several = [steps for (_, *run), steps in of_runs.items() if any(run) and len(steps) > 1]
    return at if any(len(set(steps)) == len(steps) for steps in several) else nowhere


def _summaries(found: Frame, of: Roles) -> list[str]:
    """What stands in place of each line's seed or run, where that is no run: mean, std and such; else an empty text.

    Whatever its name, a column that has such words beside numbers has them in place of these.
    """
    said = [""] * found.lines
    for name, column in zip(found.names, found.columns, strict=True):
        cells = frames.texts(column) if column.dtype.kind == "U" else []
        sums = {line for line, cell in enumerate(cells) if _sums_up(cell)}
        others = {cell for line, cell in enumerate(cells) if cell and line not in sums}
        beside_numbers = bool(others) and all(map(csv_columns.is_number, others))
        if beside_numbers or name in (of.seed, of.run) or (name == found.names[0] and roles.is_index(name)):
            for line in sums:
                said[line] = cells[line]
    return said


def _sums_up(cell: str) -> bool:
    return "_".join(words_of(cell)) in known_names.SUMMARIES and not any(map(str.isdigit, cell))


def _unused(found: Frame, of: Roles, arms: list[str], lines: list[int]) -> list[str]:
    """The columns of texts, and grids of a setting, that differ in an arm and are not used; other data are refused."""
    several = []
    for name in of.unused:
        cells = frames.texts(found.column(name))
        of_arms: dict[str, set[str]] = {}
        for arm, line in zip(arms, lines, strict=True):
            of_arms.setdefault(arm, set()).add(cells[line])
        most = max(of_arms.values(), key=len, default=set())
        if len(most) > 1:
            if roles.plain(name) in known_names.TASKS:
                what = f"found {frames.listed(sorted(most))} in one arm"
                raise BadInput(found.path, name, what, f"a file for each {name}, or --by {name}")
            several.append(name)
    # A grid of a setting in each arm: no run of it differs by noise alone.
    for name in of.settings if of.seed is None else ():
        cells, counts = frames.texts(found.column(name)), {arm: Counter() for arm in arms}
        for arm, line in zip(arms, lines, strict=True):
            counts[arm][cells[line]] += 1
        first, *others = counts.values() or [Counter()]
        of_each = len(first) > 1 < min(first.values()) and all(count == first for count in others)
        if of_each and roles.plain(name) not in known_names.SEEDS | known_names.FOLDS:
            several.append(name)
    return list(dict.fromkeys(several))


def _arms(found: Frame, of: Roles, named: list[int], arm: str, default: str | None) -> tuple[list[str], How]:
    """The arm of each line, and how that is known. These lines may have names of runs."""
    if arm:
        return [arm] * found.lines, ("", None)
    if of.arm:
        return frames.texts(found.column(of.arm)), (f"arms by {of.arm}", of.arm)
    in_names = _in_names(found, of, named, read_arms.arms_in_names)
    if in_names is None and default is not None:
        return [default] * found.lines, ("", None)
    if in_names is None:
        raise BadInput(found.path, "--by", "missing", "no column says a run's arm; or a file for each arm")
    return in_names, ("arms by the names of runs, before their numbers", None)


def _seeds(
    found: Frame, of: Roles, named: list[int], asked: str | None, seed: str | None
) -> tuple[list[str | None], tuple]:
    """The seed of each line, None where none is known, and how it is known. These lines may have names of runs."""
    if of.seed:
        _require_exact(found, of.seed)
        return [_whole(text) for text in frames.texts(found.column(of.seed))], (f"seeds by {of.seed}", of.seed)
    if seed is not None:
        return [seed] * found.lines, ("seeds by the names of files", None)
    in_names = None if asked == roles.NONE else _in_names(found, of, named, read_arms.seeds_in_names)
    return in_names or [None] * found.lines, ("seeds by the names of runs" if in_names else "", None)


def _in_names(
    found: Frame, of: Roles, named: list[int], parts_of: Callable[[Sequence[str]], list[str] | None]
) -> list[str] | None:
    """A part of each run's name, blank in lines of no run; None if not all names have it."""
    names = frames.texts(found.column(of.name)) if of.name else []
    parts = parts_of([names[line] for line in named]) if names else None
    if parts is None:
        return None
    of_lines = [""] * found.lines
    for line, part in zip(named, parts, strict=True):
        of_lines[line] = part
    return of_lines


def _require_exact(found: Frame, name: str) -> None:
    """Refuse numbers so large that floats are not exact: different seeds would be equal."""
    column = found.column(name)
    if column.dtype.kind == "f" and (np.abs(column) >= EXACT).any():
        line = int(np.argmax(np.abs(column) >= EXACT))
        raise BadInput(found.where(line), name, f"found {column[line]:.0f}, rounded", f"a seed below {EXACT}, or text")


def _whole(seed: str) -> str:
    """A seed as it is compared: 1.0, as pandas writes it beside blank cells, is 1."""
    if seed.isdecimal():
        return str(int(seed))
    if csv_columns.is_number(seed) and np.isfinite(float(seed)) and float(seed) == np.floor(float(seed)):
        return f"{float(seed):.17g}"
    return seed


def _of_paths(paths: Sequence[str], asked: Asked) -> list[str] | None:
    """The seed of each of an arm's files by its name, or its number if --paired says that this is as good."""
    if len(paths) < 2 or asked.seed is not None:
        return None
    seeds = read_arms.seeds_in_names(paths)
    if seeds is None and asked.paired and (numbers := table_rows.numbers_of(paths)):
        return [f"{NUMBERED}{number}" for number in numbers]
    return seeds if seeds and len(set(seeds)) == len(seeds) else None


def _numbered(runs: list[Run]) -> list[Run]:
    """Runs paired by the numbers of their files, or in their order, as --paired says."""
    of_arms: dict[str, list[str]] = {}
    for run in runs:
        of_arms.setdefault(run.arm, []).append(run.seed or "")
    if all(seed.startswith(NUMBERED) for seeds in of_arms.values() for seed in seeds):
        if len({frozenset(seeds) for seeds in of_arms.values()}) > 1:
            found = "; ".join(f"{arm}: {', '.join(seeds)}" for arm, seeds in of_arms.items())
            raise BadInput("command line", "--paired", f"found {found}", "the same runs in each arm")
        return runs
    if any(run.seed is not None for run in runs):
        raise BadInput("command line", "--paired", "the seeds of the runs are known", "only for runs without seeds")
    counts = Counter(run.arm for run in runs)
    if len(set(counts.values())) > 1:
        found = ", ".join(f"{count} of {arm}" for arm, count in counts.items())
        raise BadInput("command line", "--paired", f"found {found}", "equal numbers of runs")
    places: Counter[str] = Counter()
    numbered = []
    for run in runs:
        places[run.arm] += 1
        numbered.append(run._replace(seed=f"{NUMBERED}{places[run.arm]}"))
    return numbered
