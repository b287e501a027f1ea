"""Scores in a CSV file or in JSON lines: a line for each question, and for each run and sample where there are several.

| column | content |
|---|---|
| `id`, `question`, `doc_id` ... | the question |
| `correct`, or `score`, `reward`, `passed` | its score: 0 and 1, or any number |
| `pred` with `target`, without a score | texts; right where they are equal but for the spaces around them |
| `run`, `seed` ... | the training run |
| `sample`, `epoch`, `attempt` ... | the sample, where another column has the question |

Metrics of runs are no scores of questions: lines of several runs or steps must name their questions, and so must scores
other than 0 and 1 without a text.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from toolnoise.base.errors import BadInput
from toolnoise.comparison import csv_columns
from toolnoise.comparison.csv_columns import BOOLEANS, Table, is_number
from toolnoise.comparison.evals import json_text
from toolnoise.comparison.evals.scored import Asked, Log, Scored, chosen, listed, number
from toolnoise.comparison.known_names import QUESTION_ANSWERS, QUESTION_SAMPLES, QUESTION_SCORES, STEPS
from toolnoise.comparison.table_rows import role_of, words_of


def read(path: str, asked: Asked) -> Log:
    """The scores in a file."""
    table = _of_lines(path, asked.metric) if json_text.first(path) else csv_columns.read(path, None, typed=False)
    if not table.names:
        raise BadInput(path, "", "found no names of columns", "a first line with id, correct and so on")
    columns = {name: column.tolist() for name, column in zip(table.names, table.columns, strict=True)}
    examples = [name for name in columns if role_of(name) == "example"]
    questions = [name for name in examples if _short(name) not in QUESTION_SAMPLES] or examples
    # Beside its name, a question may have its text.
    named = [name for name in questions if "id" in words_of(name)]
    questions = _one(path, named if len(named) == 1 else questions, "questions")
    samples = [name for name in columns if _short(name) in QUESTION_SAMPLES and name not in questions]
    runs = [name for name in columns if role_of(name) == "run"]
    answers = [name for name in columns if role_of(name) == "pred"]
    answers = _one(path, answers or [name for name in columns if _short(name) in QUESTION_ANSWERS], "answers")
    score, scores = _scores(path, columns, answers, asked.metric)
    if not questions:
        steps = [name for name in columns if "_".join(words_of(name)) in STEPS]
        _require_questions(path, columns, score, scores, dict.fromkeys((*runs, *samples, *steps)))
    if asked.cluster is not None and asked.cluster not in columns:
        raise BadInput(path, "", f"found no column {asked.cluster}", f"--cluster with one of {listed(columns)}")
    rows = []
    for place, value in enumerate(scores):
        parts = {name: column[place].strip() for name, column in columns.items()}
        for name in (*questions, *runs, *samples, *([asked.cluster] if asked.cluster else ())):
            if not parts[name]:
                raise BadInput(path, f"row {place + 1}, column {name}", "found nothing", "a name")
        rows.append(
            Scored(
                # Without names, lines are all that questions have.
                question=_named(parts[questions[0]]) if questions else str(place + 1),
                score=value,
                run="/".join(_named(parts[name]) for name in runs),
                sample="/".join(_named(parts[name]) for name in samples),
                answer=parts[answers[0]] if answers else None,
                cluster=_named(parts[asked.cluster]) if asked.cluster else None,
            )
        )
    alone = "" if questions else ", without a column of questions: each line is taken for one, in the same order"
    return Log(path, "", score, f"read as a table: {score}{alone}", rows)


def _scores(
    path: str, columns: dict[str, list[str]], answers: Sequence[str], metric: str | None
) -> tuple[str, list[float]]:
    """The name of the score, and the score of each line."""
    kept = [name for name in columns if role_of(name) == "correct"]
    kept = kept or [name for name in columns if _short(name) in QUESTION_SCORES]
    if metric is not None:
        kept = list(columns)
    if kept:
        name = chosen(path, kept, metric)
        return name, [_number(path, f"row {row + 1}, column {name}", text) for row, text in enumerate(columns[name])]
    targets = [name for name in columns if role_of(name) == "label"]
    # An answer beside a prediction is the right one.
    targets = _one(path, targets or [name for name in columns if name == "answer" and name not in answers], "targets")
    if not answers or not targets:
        allowed = "a column correct or score; or texts, in pred and target"
        raise BadInput(path, "", f"found the columns {listed(columns)}", allowed)
    pairs = zip(columns[answers[0]], columns[targets[0]], strict=True)
    return f"{answers[0]} = {targets[0]}", [float(text.strip() == target.strip()) for text, target in pairs]


def _require_questions(
    path: str, columns: dict[str, list[str]], score: str, scores: Sequence[float], beside: Iterable[str]
) -> None:
    """Refuse lines that need not be one question each: of several runs or steps, or of numbers such as metrics."""
    several = [name for name in beside if name != score and len(set(columns[name])) > 1]
    texts = any(role_of(name) in ("pred", "label") or _short(name) in QUESTION_ANSWERS for name in columns)
    other = next((value for value in scores if value not in (0, 1)), None)
    if several or (other is not None and not texts):
        what = f"found several values of {several[0]}" if several else f"found {score} {other:g}"
        allowed = (
            "a column id of the questions; metrics of runs go in one table or a CSV, with --metric, without --correct"
        )
        raise BadInput(path, "", f"{what}, and no column of questions", allowed)


def _one(path: str, names: list[str], what: str) -> list[str]:
    if len(names) > 1:
        raise BadInput(path, "", f"found the columns {listed(names)}", f"one column of {what}")
    return names


def _short(name: str) -> str:
    return "".join(words_of(name))


def _number(path: str, key: str, text: str) -> float:
    known = BOOLEANS.get(text.strip().lower())
    return number(path, key, float(text) if known is None and is_number(text) else text if known is None else known)


def _named(text: str) -> str:
    """A name, by which 7 and 7.0 are one."""
    return f"{float(text):.17g}" if "." in text and is_number(text) else text


def _of_lines(path: str, metric: str | None) -> Table:
    """The fields of JSON lines that are no objects and no lists, as columns of texts."""
    lines = list(json_text.lines(path))
    key, first = lines[0]
    names = [name for name, value in first.items() if not isinstance(value, dict | list | None)]
    scores = [name for name in first if (_is_score(name) if metric is None else name == metric)]
    if scores and not set(scores) & set(names):
        raise BadInput(path, f"{key}: {scores[0]}", f"found {_shown(first[scores[0]])}", "a number, or true or false")
    for key, line in lines:
        for name in names:
            if name not in line:
                raise BadInput(path, key, f"found no {name}", "the fields of the first line")
            if isinstance(line[name], dict | list | None):
                raise BadInput(path, f"{key}: {name}", f"found {_shown(line[name])}", "a value, as in the first line")
    return Table(names, [np.array([str(line[name]) for _, line in lines], object) for name in names])


def _is_score(name: str) -> bool:
    return role_of(name) == "correct" or _short(name) in QUESTION_SCORES


def _shown(value: Any) -> str:
    return json.dumps(value)[:40]
