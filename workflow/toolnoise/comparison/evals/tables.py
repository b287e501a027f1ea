"""Scores in a CSV file or in JSON lines: a line for each question, and for each run and sample where there are several.

Columns are known by their names (docs/tables/compare.txt): the question, its score, or an answer beside its target,
which are equal but for the spaces around them; the run; the sample, where another column has the question.

Metrics of runs are no scores of questions: lines of several runs or steps must name their questions, and so must scores
other than 0 and 1 without a text.
"""

import json
from collections.abc import Mapping, Sequence

from toolnoise.base.errors import BadInput
from toolnoise.comparison.evals.scored import Asked, Log, Scored, chosen, number
from toolnoise.comparison.known_names import QUESTION_ANSWERS, QUESTION_SAMPLES, QUESTION_SCORES, STEPS
from toolnoise.comparison.metric_names import listed
from toolnoise.comparison.table_files import BOOLEANS, first_object, has_names, is_number, objects, read_csv
from toolnoise.comparison.table_rows import role_of, words_of

# The texts of each column by its name.
Columns = Mapping[str, Sequence[str]]


def read(path: str, asked: Asked) -> Log:
    """The scores in a file."""
    columns = _columns(path)
    examples = _of_role(columns, "example")
    questions = [name for name in examples if _short(name) not in QUESTION_SAMPLES] or examples
    # Beside its name, a question may have its text.
    named = [name for name in questions if "id" in words_of(name)]
    questions = _at_most_one(path, named if len(named) == 1 else questions, "questions")
    samples = [name for name in columns if _short(name) in QUESTION_SAMPLES and name not in questions]
    runs = _of_role(columns, "run")
    answers = _of_role(columns, "pred") or [name for name in columns if _short(name) in QUESTION_ANSWERS]
    answers = _at_most_one(path, answers, "answers")
    score, scores = _scores(path, columns, answers, asked.metric)
    if not questions:
        _require_questions(path, columns, score, scores)
    if asked.cluster is not None and asked.cluster not in columns:
        raise BadInput(path, "", f"found no column {asked.cluster}", f"one of {listed([*columns])} as cluster")
    rows = [
        Scored(
            # Without names, lines are all that questions have.
            question=_named(path, columns, questions, place) or str(place + 1),
            score=value,
            run=_named(path, columns, runs, place),
            sample=_named(path, columns, samples, place),
            answer=columns[answers[0]][place].strip() if answers else None,
            cluster=_named(path, columns, [asked.cluster], place) if asked.cluster else None,
        )
        for place, value in enumerate(scores)
    ]
    alone = "" if questions else ", without a column of questions: each line is taken for one, in the same order"
    return Log(path, "", score, f"read as a table: {score}{alone}", rows)


def _columns(path: str) -> Columns:
    if not first_object(path):
        frame = read_csv(path, typed=False)
        if not has_names(frame):
            raise BadInput(path, "", "found no names of columns", "a first line with id, correct and so on")
        return {name: frame[name].tolist() for name in frame}
    lines = list(objects(path))
    names = [name for name, value in lines[0][1].items() if not isinstance(value, dict | list | None)]
    for place, line in lines:
        for name in names:
            if isinstance(line.get(name), dict | list | None):
                what = f"found {json.dumps(line[name]) if name in line else 'none':.40}"
                raise BadInput(path, f"line {place}: {name}", what, "a value, as in the first line")
    return {name: [str(line[name]) for _, line in lines] for name in names}


def _named(path: str, columns: Columns, names: Sequence[str], place: int) -> str:
    """What columns call a run, a sample or a question in a line; 7 and 7.0 are one name."""
    found = [columns[name][place].strip() for name in names]
    if "" in found:
        raise BadInput(path, f"row {place + 1}, column {names[found.index('')]}", "found nothing", "a name")
    return "/".join(f"{float(text):.17g}" if "." in text and is_number(text) else text for text in found)


def _scores(path: str, columns: Columns, answers: Sequence[str], metric: str | None) -> tuple[str, list[float]]:
    """The name of the score, and the score of each line."""
    kept = _of_role(columns, "correct") or [name for name in columns if _short(name) in QUESTION_SCORES]
    if kept or metric is not None:
        name = chosen(path, columns if metric is not None else kept, metric)
        return name, [_number(path, f"row {row + 1}, column {name}", text) for row, text in enumerate(columns[name])]
    targets = _of_role(columns, "label")
    # An answer beside a prediction is the right one.
    targets = targets or [name for name in columns if name == "answer" and name not in answers]
    if not answers or not _at_most_one(path, targets, "targets"):
        allowed = "a column correct or score; or texts, in pred and target"
        raise BadInput(path, "", f"found the columns {listed([*columns])}", allowed)
    pairs = zip(columns[answers[0]], columns[targets[0]], strict=True)
    return f"{answers[0]} = {targets[0]}", [float(text.strip() == target.strip()) for text, target in pairs]


def _require_questions(path: str, columns: Columns, score: str, scores: Sequence[float]) -> None:
    """Refuse lines that need not be one question each: of several runs or steps, or of numbers such as metrics."""
    of_runs = [
        name
        for name in columns
        if role_of(name) == "run" or _short(name) in QUESTION_SAMPLES or "_".join(words_of(name)) in STEPS
    ]
    several = next((name for name in of_runs if name != score and len(set(columns[name])) > 1), None)
    texts = any(role_of(name) in ("pred", "label") or _short(name) in QUESTION_ANSWERS for name in columns)
    other = next((value for value in scores if value not in (0, 1)), None)
    if several or (other is not None and not texts):
        what = f"found several values of {several}" if several else f"found {score} {other:g}"
        allowed = "metrics of runs go in one table or a CSV, with metric, without correct"
        raise BadInput(path, "", f"{what}, and no column of questions", f"a column id of the questions; {allowed}")


def _of_role(columns: Columns, role: str) -> list[str]:
    return [name for name in columns if role_of(name) == role]


def _at_most_one(path: str, names: list[str], what: str) -> list[str]:
    if len(names) > 1:
        raise BadInput(path, "", f"found the columns {listed(names)}", f"one column of {what}")
    return names


def _short(name: str) -> str:
    return "".join(words_of(name))


def _number(path: str, key: str, text: str) -> float:
    known = BOOLEANS.get(text.strip().lower())
    return number(path, key, float(text) if known is None and is_number(text) else text if known is None else known)
