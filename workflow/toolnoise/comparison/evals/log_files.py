"""The logs of evaluations of one arm, as the runs that they are of.

Files of one task are its runs, in the order of their numbers if their names have some; those of further tasks, as
lm-evaluation-harness leaves one file for each, have further questions of these runs.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from toolnoise.base.errors import BadInput
from toolnoise.comparison import read_arms, sniff
from toolnoise.comparison.evals import tables
from toolnoise.comparison.evals.scored import Asked, Log, Scored
from toolnoise.comparison.metric_names import require_one_scale
from toolnoise.comparison.table_rows import by_number


class Runs(NamedTuple):
    """An arm: the samples of each run, and the runs' names where files have them."""

    file: str
    metric: str
    how: Sequence[str]
    runs: Sequence[Sequence[Scored]]
    names: Sequence[str] | None


def read_all(given: Sequence[Sequence[str]], asked: Asked, *, paired: bool) -> list[Runs]:
    """The arms, which all have one score and, if they are paired, the same runs."""
    arms = [read(arm, asked) for arm in given]
    _require_one_score(arms)
    require_one_scale({arm.file: _scores(row for run in arm.runs for row in run) for arm in arms})
    if paired:
        named = [(arm.names, arm.file) for arm in arms if arm.names is not None]
        read_arms.require_pairs([len(arm.runs) for arm in arms], named, fewest=2)
    return arms


def read(given: Sequence[str], asked: Asked) -> Runs:
    """The runs of an arm."""
    logs = [(sniff.reader_of(path) or tables.read)(path, asked) for each in given for path in sniff.files_of_logs(each)]
    if not logs:
        raise BadInput(given[0], "", "found no logs", "files of .jsonl, .eval, .json or .csv")
    for log in logs:
        if not log.rows:
            raise BadInput(log.file, "", "found no samples", "a log with samples")
    _require_one_score(logs)
    of_runs = [_by_run(log) for log in logs]
    how = list(dict.fromkeys(log.how for log in logs))
    if len(logs) == 1:
        runs = of_runs[0]
        return Runs(logs[0].file, logs[0].metric, how, list(runs.values()), list(runs) if len(runs) > 1 else None)
    for log, runs in zip(logs, of_runs, strict=True):
        if len(runs) > 1:
            raise BadInput(log.file, "", "found several runs", f"one run in each of {len(logs)} files")
    by_task = {task: [log for log in logs if log.task == task] for task in dict.fromkeys(log.task for log in logs)}
    if len({len(each) for each in by_task.values()}) > 1:
        said = ", ".join(f"{len(each)} of {task or 'no name'}" for task, each in by_task.items())
        raise BadInput(given[0], "", f"found logs of several tasks: {said}", "a log of each task for each run")
    for of_task in by_task.values():
        require_one_scale({log.file: _scores(log.rows) for log in of_task})
    by_task, names = _in_order(by_task)
    runs = [
        [
            row._replace(question=f"{log.task}/{row.question}") if len(by_task) > 1 else row
            for log in of_run
            for row in log.rows
        ]
        for of_run in zip(*by_task.values(), strict=True)
    ]
    return Runs(f"{logs[0].file} ... {logs[-1].file}", logs[0].metric, how, runs, names)


def _in_order(by_task: Mapping[str, Sequence[Log]]) -> tuple[dict[str, list[Log]], list[str] | None]:
    """The logs of each task in the order of their runs' names, which are the same for every task; None without."""
    named = {task: _names(logs) for task, logs in by_task.items()}
    if None in named.values():
        return {task: [*logs] for task, logs in by_task.items()}, None
    first, *_ = ordered = {task: [names[place] for place in by_number(names)] for task, names in named.items()}
    for task, logs in by_task.items():
        if ordered[task] != ordered[first]:
            what = f"found runs {', '.join(ordered[task])} of {task}, {', '.join(ordered[first])} of {first}"
            raise BadInput(logs[0].file, "", what, "a log of each task for each run")
    return {task: [logs[place] for place in by_number(named[task])] for task, logs in by_task.items()}, ordered[first]


def _require_one_score(read_so_far: Sequence[Log | Runs]) -> None:
    first = read_so_far[0]
    for each in read_so_far:
        if each.metric != first.metric:
            what = f"found the score {each.metric}, and {first.metric} in {first.file}"
            raise BadInput(each.file, "", what, "one score in all files")


def _scores(rows: Iterable[Scored]) -> list[float]:
    return [row.score for row in rows if row.score is not None]


def _names(logs: Sequence[Log]) -> list[str] | None:
    """The name of the one run in each of several files: in a column, or the number in the file's name."""
    within = [log.rows[0].run for log in logs]
    if "" not in within and len(set(within)) == len(within) > 1:
        return within
    numbers = read_arms.numbered([log.file for log in logs])
    return None if numbers is None else [str(number) for number in numbers]


def _by_run(log: Log) -> dict[str, list[Scored]]:
    """The samples of each run in a file, in the order of the runs' numbers."""
    runs: dict[str, list[Scored]] = {}
    for row in log.rows:
        runs.setdefault(row.run, []).append(row)
    names = list(runs)
    return {names[place]: runs[names[place]] for place in by_number(names)}
