"""What was given to `compare`: answers to questions, metrics of runs, predictions of examples, or numbers of these.

The content of files decides, and the name of a damaged one. The reader of each kind then sees whether a file is CSV,
JSON or an array.

Logs of evaluations are read here as the runs that they are of. Files of one task are an arm's runs, in the order of
their numbers if their names have some; those of further tasks, as lm-evaluation-harness leaves one file for each, have
further questions of these runs.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from toolnoise.base import files
from toolnoise.base.errors import BadArgument, BadInput
from toolnoise.base.files import require_plain
from toolnoise.comparison import arms as arms_on_examples
from toolnoise.comparison.arms import is_dump
from toolnoise.comparison.evals import inspect_logs, lines
from toolnoise.comparison.evals.lines import Asked, Log, Scored
from toolnoise.comparison.metric_names import files_of, require_one_scale, require_pairs, run_numbers
from toolnoise.comparison.table_files import first_object, is_zipped
from toolnoise.comparison.table_rows import by_number
from toolnoise.formulas.outcomes import NUMBERS

Given = Literal["questions", "metrics", "predictions", "values", "losses"]
# The files of a folder, by their ends: the first that it has.
ENDS = ((".jsonl", ".eval"), (".json",), (".csv",))

Reader = Callable[[str, Asked], Log]
# Of a file whose content says nothing, such as a damaged one.
BY_NAME: dict[str, Reader] = {".jsonl": lines.read_harness_samples, ".eval": inspect_logs.read_inspect_log}


def sniff(
    arms: Sequence[Sequence[str]],
    metrics: Sequence[str] = (),
    numbers_are: str | None = None,
    *,
    correct: bool = False,
    cluster: str | None = None,
) -> Given:
    """What arms are, by the paths of each and by these options."""
    reader = reader_of(next(iter(files_of_logs(arms[0][0])), "")) if arms else None
    # One file of JSON lines may be a table of all arms.
    if arms and (correct or (reader is not None and (len(arms) > 1 or reader is not lines.read_score_table))):
        return "questions"
    if cluster:
        what = f"found predictions or numbers{f' in {arms[0][0]}' if arms else ''}"
        raise BadArgument("cluster", what, "only for logs of language models, or with correct")
    if metrics:
        return "metrics"
    return (kind_of_numbers(arms[0], numbers_are) if arms else numbers_are) or "predictions"


def reader_of(path: str) -> Reader | None:
    """What reads a log; None where a file's content is no log."""
    suffix = Path(path).suffix
    if not Path(path).is_file():
        return BY_NAME.get(suffix)
    if is_zipped(path):
        return inspect_logs.read_inspect_log if inspect_logs.is_zip(path) else BY_NAME.get(suffix)
    found = first_object(path)
    if found is None:
        return BY_NAME.get(suffix)
    if lines.is_harness_line(found):
        return lines.read_harness_samples
    if inspect_logs.is_json(path):
        return inspect_logs.read_inspect_log
    # What goes on below its first line is no log, such as the index of a study's dump.
    return lines.read_score_table if found else BY_NAME.get(suffix)


def files_of_logs(given: str) -> list[str]:
    """The files that a path or a pattern stands for; of a folder, those that may be logs."""
    require_plain(given)
    if not Path(given).is_dir():
        return files_of(given)
    inside = sorted(str(file) for file in Path(given).iterdir() if file.is_file())
    for ends in ENDS:
        if files := [file for file in inside if file.endswith(ends)]:
            return files
    return []


def kind_of_numbers(given: Sequence[str], asked: str | None) -> str | None:
    """The kind of numbers that files have, as asked or by the index of a dump; None where they are predictions."""
    path = files_of(given[0])[0]
    if is_dump(Path(path)):
        left = files.read_json(Path(path).with_suffix(".json")).get("outcome")
        if asked not in (None, left):
            raise BadArgument(asked, f"{path} has an outcome of kind {left}", "leave it out: the dump says it")
        return left if left in NUMBERS else None
    arms_on_examples.require_no_losses(path, asked)
    return asked


class Runs(NamedTuple):
    """An arm: the samples of each run, and the runs' names where files have them."""

    file: str
    metric: str
    how: Sequence[str]
    runs: Sequence[Sequence[Scored]]
    names: Sequence[str] | None


def read_logs_of_arms(given: Sequence[Sequence[str]], asked: Asked, *, paired: bool) -> list[Runs]:
    """The arms, which all have one score and, if they are paired, the same runs."""
    arms = [read_logs_of_arm(arm, asked) for arm in given]
    _require_one_score(arms)
    require_one_scale({arm.file: _scores(row for run in arm.runs for row in run) for arm in arms})
    if paired:
        named = [(arm.names, arm.file) for arm in arms if arm.names is not None]
        require_pairs([len(arm.runs) for arm in arms], named, fewest=2)
    return arms


def read_logs_of_arm(given: Sequence[str], asked: Asked) -> Runs:
    """The runs of an arm."""
    logs = [(reader_of(path) or lines.read_score_table)(path, asked) for each in given for path in files_of_logs(each)]
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
    numbers = run_numbers([log.file for log in logs])
    return None if numbers is None else [str(number) for number in numbers]


def _by_run(log: Log) -> dict[str, list[Scored]]:
    """The samples of each run in a file, in the order of the runs' numbers."""
    runs: dict[str, list[Scored]] = {}
    for row in log.rows:
        runs.setdefault(row.run, []).append(row)
    names = list(runs)
    return {names[place]: runs[names[place]] for place in by_number(names)}
