"""What a log of an evaluation has, whatever wrote it: the score of each sample of a run for each question.

Questions are known by their names, never by their places, and by their content where a log has it. Fields are looked up
by name, with dots for fields of fields.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from toolnoise.base.errors import BadInput, Spelling
from toolnoise.comparison.metric_names import listed
from toolnoise.comparison.table_files import LARGEST

OF_LOGS = "a log of lm-evaluation-harness or Inspect, or JSON lines"


class Asked(NamedTuple):
    """What is to be read of logs: the score by its name, and the field by which questions are alike."""

    metric: str | None = None
    cluster: str | None = None


class Scored(NamedTuple):
    """One sample of one run for a question; without a score if the evaluation failed there.

    `cluster` has what questions are alike in, `content` a digest of the question itself.
    """

    question: str
    score: float | None
    run: str = ""
    sample: str = ""
    answer: str | None = None
    cluster: str | None = None
    content: str | None = None


class Log(NamedTuple):
    """A file: the task and the metric it is of, how it was read, and what it has."""

    file: str
    task: str
    metric: str
    how: str
    rows: Sequence[Scored]


def number(path: str, key: str, value: Any) -> float:
    """A score as a finite number."""
    if isinstance(value, bool | int | float) and abs(value) <= LARGEST:
        return float(value)
    raise BadInput(path, key, f"found {value!r:.40}", f"a number within {LARGEST:g} of 0, or true or false")


def field(path: str, key: str, of: Any, name: str) -> str:
    """The value of a field by its name, as a text."""
    value = of
    for part in [name] if isinstance(of, Mapping) and name in of else name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            allowed = f"one of {listed([*value])}" if isinstance(value, Mapping) and value else "a field that it has"
            raise BadInput(path, key, f"found no {name}", f"{allowed} as cluster")
        value = value[part]
    if isinstance(value, Mapping | list) or value is None:
        allowed = "a field that has a text or a number as cluster"
        raise BadInput(path, key, f"found {value!r:.40} as {name}", allowed)
    return str(value)


def chosen(path: str, found: Iterable[str], asked: str | None) -> str:
    """The one name that is asked for; of several, one must be."""
    names = list(dict.fromkeys(found))
    if asked in names:
        return asked
    what = f"found the scores {listed(names)}" if names else "found no score that is a number"
    if not names:
        raise BadInput(path, "", what, "a log with scores")

    def one_of_them(spelled: Spelling) -> str:
        return f"{f'not {asked}: ' if asked else ''}one of them, such as {spelled('metric', names[0])}"

    if asked is not None or len(names) > 1:
        raise BadInput(path, "", what, one_of_them)
    return names[0]


def digest(value: Any) -> str:
    """What tells two contents apart."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode("utf-8", "replace")).hexdigest()
