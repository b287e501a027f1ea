"""The role of a column or an array by its name: predictions, scores, labels, a run, an example and so on."""

import re
from collections.abc import Sequence

import numpy as np

from toolnoise.comparison.known_names import NUMBERED_RUNS, OF_EXAMPLES, SCORES_OF, WORDS


def role_of(name: str) -> str:
    """The role of a column or an array by its name."""
    words = words_of(name)
    if name and not words:
        return "other"
    whole = "".join(words)
    for role, names in OF_EXAMPLES.items():
        if not names.isdisjoint((whole, whole.replace("ids", "id"), whole.replace("indices", "index"))):
            return role
    numbered = not NUMBERED_RUNS.isdisjoint(words) and any(word.isdigit() for word in words)
    role = role_of_words(words)
    if role == "score":
        return "score by run" if numbered else "score"
    if role or numbered:
        return f"{role} by run"
    if len(words) > 1 and not SCORES_OF.isdisjoint(words):
        return "score"
    return "number" if len(words) == 1 and words[0].isdigit() else "other"


def words_of(name: str) -> list[str]:
    """The words and numbers in a name."""
    return re.findall("[a-z]+|[0-9]+", name.lower())


def role_of_words(words: Sequence[str]) -> str:
    """The role that one of these words stands for, or an empty text."""
    return next((role for role, of_role in WORDS.items() if not of_role.isdisjoint(words)), "")


def numbers_of(names: Sequence[str]) -> list[int] | None:
    """The last number in each name, if each has another."""
    digits = [re.findall("[0-9]+", name)[-1:] for name in names]
    numbers = [int(last[0][:18]) for last in digits if last]
    return numbers if len(set(numbers)) == len(names) else None


def by_number(names: Sequence[str]) -> list[int]:
    """The places of names in the order of their numbers, or as they are without such numbers."""
    numbers = numbers_of(names)
    return list(range(len(names))) if numbers is None else np.argsort(numbers).tolist()
