"""The kind of input given to `compare`: answers to questions, metrics of runs, predictions, values or losses.

The content of a file decides, or the name if the file is damaged. The reader of each kind then distinguishes CSV, JSON
and arrays.

Evaluation logs are read here as runs. The files of one task are the runs of an arm, in the order of their numbers if
their names have numbers. Files of further tasks (lm-evaluation-harness writes a file per task) have further questions
of the same runs.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import pandas as pd

from toolnoise.base.errors import BadArgument, BadInput
from toolnoise.base.files import require_plain
from toolnoise.comparison import arms as arms_on_examples
from toolnoise.comparison import question_logs
from toolnoise.comparison.naming import by_number, files_of, require_one_scale, require_pairs, run_numbers
from toolnoise.comparison.question_logs import Asked, Log
from toolnoise.comparison.table_files import first_object, is_zipped
from toolnoise.formulas.outcomes import NUMBERS

Given = Literal["questions", "metrics", "predictions", "values", "losses"]
# Suffixes of log files in a folder; the first group that occurs counts.
ENDS = ((".jsonl", ".eval"), (".json",), (".csv",))

Reader = Callable[[str, Asked], Log]
# For a file whose content shows no kind, such as a damaged one.
BY_NAME: dict[str, Reader] = {
    ".jsonl": question_logs.read_harness_samples,
    ".eval": question_logs.read_inspect_log,
}


def sniff(
    arms: Sequence[Sequence[str]],
    metrics: Sequence[str] = (),
    numbers_are: str | None = None,
    *,
    correct: bool = False,
    cluster: str | None = None,
) -> Given:
    """The kind of the arms, from their paths and these options."""
    reader = reader_of(next(iter(files_of_logs(arms[0][0])), "")) if arms else None
    # A single file of JSON lines may be a table of all arms.
    is_log = reader is not None and (len(arms) > 1 or reader is not question_logs.read_score_table)
    if arms and (correct or is_log):
        return "questions"
    if cluster:
        what = f"found predictions or numbers{f' in {arms[0][0]}' if arms else ''}"
        raise BadArgument("cluster", what, "only for logs of language models, or with correct")
    if metrics:
        return "metrics"
    return (kind_of_numbers(arms[0], numbers_are) if arms else numbers_are) or "predictions"


def reader_of(path: str) -> Reader | None:
    """The reader for a log; None if the file is not a log."""
    by_name = BY_NAME.get(Path(path).suffix)
    if not Path(path).is_file():
        return by_name
    if is_zipped(path):
        return question_logs.read_inspect_log if question_logs.is_inspect_zip(path) else by_name
    found = first_object(path)
    if found is None:
        return by_name
    if question_logs.is_harness_line(found):
        return question_logs.read_harness_samples
    if question_logs.is_inspect_json(path):
        return question_logs.read_inspect_log
    # An object over several lines, such as the index of a study's dump, is not a log.
    return question_logs.read_score_table if found else by_name


def files_of_logs(given: str) -> list[str]:
    """The files of a path or a pattern; in a folder, those that may be logs."""
    require_plain(given)
    if not Path(given).is_dir():
        return files_of(given)
    inside = sorted(str(file) for file in Path(given).iterdir() if file.is_file())
    of_ends = ([file for file in inside if file.endswith(ends)] for ends in ENDS)
    return next(filter(None, of_ends), [])


def kind_of_numbers(given: Sequence[str], asked: str | None) -> str | None:
    """The kind of numbers in files, from the options or a dump's index; None for predictions."""
    path = files_of(given[0])[0]
    if about := arms_on_examples.index_of(path):
        left = about.get("outcome")
        if asked not in (None, left):
            raise BadArgument(asked, f"{path} has an outcome of kind {left}", "leave it out: the dump says it")
        return left if left in NUMBERS else None
    arms_on_examples.require_no_losses(path, asked)
    return asked


def read_logs_of_arms(given: Sequence[Sequence[str]], asked: Asked, *, paired: bool) -> list[Log]:
    """Read the arms; all must have one score and, if paired, the same runs."""
    arms = [read_logs_of_arm(arm, asked) for arm in given]
    _require_one_score(arms)
    require_one_scale({arm.file: arm.scores for arm in arms})
    if paired:
        named = [(arm.names, arm.file) for arm in arms if arm.names is not None]
        require_pairs([arm.samples["run"].nunique() for arm in arms], named, fewest=2)
    return arms


def read_logs_of_arm(given: Sequence[str], asked: Asked) -> Log:
    """Read the logs of an arm as its runs."""
    paths = [path for each in given for path in files_of_logs(each)]
    logs = [(reader_of(path) or question_logs.read_score_table)(path, asked) for path in paths]
    if not logs:
        raise BadInput(given[0], "", "found no logs", "files of .jsonl, .eval, .json or .csv")
    for log in logs:
        if log.samples.empty:
            raise BadInput(log.file, "", "found no samples", "a log with samples")
    _require_one_score(logs)
    first, *others = logs
    if not others:
        runs = first.samples["run"].unique().tolist()
        names = [runs[place] for place in by_number(runs)]
        numbered = first.samples.assign(run=first.samples["run"].map(names.index))
        named = names if len(names) > 1 else None
        return first._replace(samples=numbered.sort_values("run", kind="stable"), names=named)
    for log in logs:
        if len(log.samples["run"].unique()) > 1:
            raise BadInput(log.file, "", "found several runs", f"one run in each of {len(logs)} files")
    by_task = {task: [log for log in logs if log.task == task] for task in dict.fromkeys(log.task for log in logs)}
    if len({len(each) for each in by_task.values()}) > 1:
        said = ", ".join(f"{len(each)} of {task or 'no name'}" for task, each in by_task.items())
        raise BadInput(given[0], "", f"found logs of several tasks: {said}", "a log of each task for each run")
    for of_task in by_task.values():
        require_one_scale({log.file: log.scores for log in of_task})
    by_task, names = _in_order(by_task)
    samples = [
        log.samples.assign(run=place, question=f"{log.task}/" * (len(by_task) > 1) + log.samples["question"])
        for place, of_run in enumerate(zip(*by_task.values(), strict=True))
        for log in of_run
    ]
    how = list(dict.fromkeys(how for log in logs for how in log.how))
    return Log(f"{first.file} ... {logs[-1].file}", first.metric, how, pd.concat(samples), names=names)


def _in_order(by_task: Mapping[str, Sequence[Log]]) -> tuple[dict[str, list[Log]], list[str] | None]:
    """The logs of each task in the order of their runs' names, and these, equal for all tasks; None without names."""
    named = {task: _names(logs) for task, logs in by_task.items()}
    if None in named.values():
        return {task: [*logs] for task, logs in by_task.items()}, None
    first, *_ = ordered = {task: [names[place] for place in by_number(names)] for task, names in named.items()}
    for task, logs in by_task.items():
        if ordered[task] != ordered[first]:
            what = f"found runs {', '.join(ordered[task])} of {task}, {', '.join(ordered[first])} of {first}"
            raise BadInput(logs[0].file, "", what, "a log of each task for each run")
    return {task: [logs[place] for place in by_number(named[task])] for task, logs in by_task.items()}, ordered[first]


def _require_one_score(logs: Sequence[Log]) -> None:
    first = logs[0]
    for each in logs:
        if each.metric != first.metric:
            what = f"found the score {each.metric}, and {first.metric} in {first.file}"
            raise BadInput(each.file, "", what, "one score in all files")


def _names(logs: Sequence[Log]) -> list[str] | None:
    """The run's name in each of several files: from a column, or the number in the file's name."""
    within = [log.samples["run"].iloc[0] for log in logs]
    if "" not in within and len(set(within)) == len(within) > 1:
        return within
    numbers = run_numbers([log.file for log in logs])
    return None if numbers is None else [str(number) for number in numbers]
