"""What was given to `compare`: answers to questions, metrics of runs, predictions of examples, or numbers of these.

The content of files decides, and the name of a damaged one. The reader of each kind then sees whether a file is CSV,
JSON or an array.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from toolnoise.base import files
from toolnoise.base.errors import BadArgument
from toolnoise.base.files import require_plain
from toolnoise.comparison import arms as arms_on_examples
from toolnoise.comparison import array_files
from toolnoise.comparison.arms import is_dump
from toolnoise.comparison.evals import inspect_logs, lm_eval
from toolnoise.comparison.evals import tables as tables_of_questions
from toolnoise.comparison.evals.scored import Asked, Log
from toolnoise.comparison.read_arms import files_of
from toolnoise.comparison.table_files import first_object
from toolnoise.formulas.outcomes import NUMBERS

Given = Literal["questions", "metrics", "predictions", "values", "losses"]
# The files of a folder, by their ends: the first that it has.
ENDS = ((".jsonl", ".eval"), (".json",), (".csv",))

Reader = Callable[[str, Asked], Log]
# Of a file whose content says nothing, such as a damaged one.
BY_NAME: dict[str, Reader] = {".jsonl": lm_eval.read, ".eval": inspect_logs.read}


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
    if arms and (correct or (reader is not None and (len(arms) > 1 or reader is not tables_of_questions.read))):
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
    if array_files.zipped(path):
        return inspect_logs.read if inspect_logs.is_zip(path) else BY_NAME.get(suffix)
    found = first_object(path)
    if found is None:
        return BY_NAME.get(suffix)
    if lm_eval.is_line(found):
        return lm_eval.read
    if inspect_logs.is_json(path):
        return inspect_logs.read
    # What goes on below its first line is no log, such as the index of a study's dump.
    return tables_of_questions.read if found else BY_NAME.get(suffix)


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
