"""The lines of a table of predictions: of which run and of which example each is, and columns as arrays by their roles.

A column `example` identifies lines: 0 to N-1 and 1 to N are places among the labels, others stay in the order of the
first run's lines. So does an index, unless it counts the lines of all runs. Arrays of an archive do the same.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from toolnoise.base.errors import BadInput
from toolnoise.comparison.known_names import NUMBERED_RUNS, OF_EXAMPLES, SCORES_OF, WORDS
from toolnoise.comparison.table_files import has_names, is_number

if TYPE_CHECKING:
    import pandas as pd


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


def columns_of_role(table: "pd.DataFrame", role: str) -> list[str]:
    """The columns that have a role by their names."""
    return [name for name in table if role_of(name) == role] if has_names(table) else []


def _column(path: str, table: "pd.DataFrame", name: str) -> np.ndarray:
    return stacked(path, table, [table.columns.get_loc(name)])[:, 0]


def stacked(path: str, table: "pd.DataFrame", places: Sequence[int]) -> np.ndarray:
    """Columns as one array, [lines, columns], of one kind and without gaps."""
    columns = [table.iloc[:, place].to_numpy() for place in places]
    columns = [column.astype(str) if column.dtype == object else column for column in columns]
    names = [table.columns[place] if has_names(table) else str(place + 1) for place in places]
    texts = [column.dtype.kind == "U" for column in columns]
    for name, column, is_text in zip(names, columns, texts, strict=True):
        gaps = column == "" if is_text else ~np.isfinite(column)
        if gaps.any():
            line = int(gaps.argmax())
            what, wanted = ("nothing", "a value") if is_text else (column[line], "finite numbers")
            raise BadInput(path, f"row {line + 1}, column {name}", f"found {what}", wanted)
    if any(texts) and not all(texts):
        text, other = texts.index(True), names[texts.index(False)]
        what = f"found {a_text(columns[text])!r} in column {names[text]}, and numbers in column {other}"
        raise BadInput(path, "", what, "name the column of predictions pred")
    return np.stack(columns, axis=1)


def a_text(values: np.ndarray) -> str:
    """The start of a text for which values are no numbers."""
    return next((str(value) for value in values.flat if not is_number(value)), str(values.flat[0]))[:40]


def layout(path: str, table: "pd.DataFrame") -> tuple[np.ndarray, np.ndarray | None, list[int] | None]:
    """The lines of each run, [S, N], with the same example in each column; the examples; the numbers of the runs."""
    lines, names = len(table), columns_of_role(table, "run")
    run = np.zeros(lines, np.intp)
    numbers = None
    if names:
        parts = (_keys(_column(path, table, name)) for name in names)
        keys = np.array(["/".join(key) for key in zip(*parts, strict=True)])
        distinct, run, counts = np.unique(keys, return_inverse=True, return_counts=True)
        if len(set(counts)) > 1:
            few, many = counts.argmin(), counts.argmax()
            said = f"{counts[few]} examples in run {distinct[few]}, {counts[many]} in run {distinct[many]}"
            raise BadInput(path, names[0], said, "the same examples in each run")
        order, numbers = by_number(distinct.tolist()), numbers_of(distinct.tolist())
        run, numbers = np.argsort(order)[run], numbers and sorted(numbers)
    rows = np.argsort(run, kind="stable").reshape(run.max() + 1, -1)
    known = (*columns_of_role(table, "example"), *columns_of_role(table, "index"))
    wanted = "the same examples in each run" if names else "each example once, or a column run or seed"
    placed, ids = _identified(path, rows, ((name, _column(path, table, name)) for name in known), wanted)
    return placed, ids, numbers


def in_order(path: str, named: Mapping[str, np.ndarray], examples: int) -> tuple[np.ndarray, np.ndarray | None]:
    """The order of an archive's examples by its arrays that identify them, as those of a table; the examples."""
    of_names = {name: array for name, array in named.items() if identifies(name)}
    for name, array in of_names.items():
        if array.ndim == 1 and 1 < array.size != examples:
            raise BadInput(path, name, f"found {array.size} for {examples} examples", "one for each, or another name")
    found = [(name, array.ravel()) for name, array in of_names.items() if array.size == examples]
    for name, array in found:
        if array.dtype.kind not in "iufU":
            raise BadInput(path, name, f"found {array.dtype}", "numbers or texts that identify the examples")
    found.sort(key=lambda each: role_of(each[0]))
    rows, ids = _identified(path, np.arange(examples)[np.newaxis], found, "each example once")
    return rows[0], ids


def identifies(name: str) -> bool:
    """Whether an array of an archive identifies examples by its name."""
    return role_of(name) in ("example", "index")


def _identified(
    path: str, rows: np.ndarray, named: Iterable[tuple[str, np.ndarray]], wanted: str
) -> tuple[np.ndarray, np.ndarray | None]:
    """The lines of each run, [S, N], in one order of examples, and what identifies these; an index comes last."""
    repeating = ""
    for name, ids in named:
        placed, index = _placed(rows, ids), role_of(name) == "index"
        if index and repeating:
            break
        if placed is not None:
            # An index that counts lines says no more than their order.
            return placed, None if index and are_places(ids[placed[0]]) else ids[placed[0]]
        repeating = repeating if index else name
    if repeating:
        raise BadInput(path, repeating, "differs between runs, or repeats within one", wanted)
    return rows, None


def _placed(rows: np.ndarray, ids: np.ndarray) -> np.ndarray | None:
    """Each run's lines in one order of examples; None if the runs do not have the same examples once each."""
    sorts = np.argsort(ids[rows], axis=1, kind="stable")
    placed = np.take_along_axis(rows, sorts, axis=1)
    known = ids[placed]
    if (known != known[0]).any() or (known[0][1:] == known[0][:-1]).any():
        return None
    return placed if are_places(known[0]) else placed[:, np.argsort(sorts[0])]


def labels_in(path: str, table: "pd.DataFrame", rows: np.ndarray) -> tuple[str, np.ndarray] | None:
    """The column of labels, with its name, as [N] for these lines of each run, [S, N]."""
    names = columns_of_role(table, "label")
    columns = [_column(path, table, name)[rows] for name in names]
    for name, column in zip(names, columns, strict=True):
        if (column != column[0]).any():
            raise BadInput(path, name, "found two labels of one example", "the same in each run")
        if not np.array_equal(column[0], columns[0][0]):
            raise BadInput(path, name, f"differs from {names[0]}", "one column of labels")
    return (names[0], columns[0][0]) if names else None


def matching(ids: np.ndarray, wanted: np.ndarray) -> np.ndarray | None:
    """The order in which examples are the wanted ones; None if they are not the same."""
    keys, theirs = np.array(_keys(ids)), np.array(_keys(wanted))
    if are_places(ids) and are_places(wanted) and len(ids) == len(wanted):
        return np.arange(len(ids))
    order, other = np.argsort(keys), np.argsort(theirs)
    if not np.array_equal(keys[order], theirs[other]):
        return None
    return order[np.argsort(other)]


def matched(path: str, ids: np.ndarray, source: str, wanted: np.ndarray) -> np.ndarray:
    """The order in which a file's examples are the wanted ones, which it must have."""
    order = matching(ids, wanted)
    if order is None:
        allowed = "the same, once each, by their ids or index, or neither in the file"
        raise BadInput(path, "", f"found other examples than in {source}", allowed)
    return order


def distinct_words(names: Sequence[str]) -> list[str]:
    """The words of each name that not all of them have: score_a and score_b, or a and b."""
    words = [re.findall(r"[^\W_]+", name.lower()) for name in names]
    shared = set.intersection(*map(set, words)) if words else set()
    distinct = [" ".join(word for word in each if word not in shared) for each in words]
    return distinct if len(set(distinct)) == len(names) else list(names)


def _keys(values: np.ndarray) -> list[str]:
    """Texts that identify values, whole numbers without a fraction."""
    return [f"{value:.17g}" for value in values] if values.dtype.kind == "f" else [str(value) for value in values]


def are_places(numbers: Sequence[float] | np.ndarray | None) -> bool:
    """Whether these are 0 to N-1 or 1 to N, in any order."""
    ordered = np.sort(np.asarray([] if numbers is None else numbers))
    if ordered.dtype.kind not in "iuf" or not len(ordered) or ordered[0] not in (0, 1):
        return False
    return bool((ordered - ordered[0] == np.arange(len(ordered))).all())
