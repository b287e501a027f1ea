"""The truth for each example, in its own file or beside predictions: labels, or true values of a regression."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from toolnoise.base import arrays
from toolnoise.base.errors import BadInput
from toolnoise.comparison import table_files
from toolnoise.comparison.naming import role_of
from toolnoise.comparison.table_files import has_names, read_csv
from toolnoise.datasets import prepared
from toolnoise.formulas.outcomes import LABEL, LABELS, MASKS, TOKENS, VALUES, YES_OR_NO

if TYPE_CHECKING:
    import pandas as pd

MOST_CLASSES = np.float64(2**31)  # a Python integer would overflow in half precision, which labels may have


class Truth(NamedTuple):
    """The class or value of each unit, [U]; None for right and wrong answers, which need no truth.

    `shape` is the shape of the array if examples have several units, and always for values. `examples` counts units,
    and `asked` names an example's units. `ids` identify the examples if the file has them. For classes that are texts,
    `codes` has their numbers, also of further classes that runs predict. `alone`: the file has nothing else.
    """

    source: str
    answers: np.ndarray | None
    examples: int | None
    ids: np.ndarray | None = None
    codes: dict[str, int] | None = None
    alone: bool = True
    shape: tuple[int, ...] = ()
    outcome: str = LABEL
    asked: Sequence[str] = ()

    @property
    def units(self) -> int:
        """The number of units of an example."""
        return int(np.prod(self.shape[1:]))


def read_labels(path: str) -> Truth:
    """The labels in a file of one column or row, in a column or array of labels, or of the test set in study data."""
    names = arrays.npz_names(path) if table_files.is_zipped(path) else []
    if "test_labels" in names:
        data = prepared.load(path)
        test = data.test
        several = {} if test.targets.ndim == 1 else {"shape": test.targets.shape, "outcome": test.outcome}
        return Truth(path, test.labels, len(test.labels), asked=data.asked, **several)
    if not names and not table_files.is_array(path):
        return _of_table(path, read_csv(path))
    array, ids = _labelled(path)
    return labels_of_array(path, array)._replace(ids=ids, alone=len(names) < 2)


def labels_of_array(path: str, array: np.ndarray) -> Truth:
    """The labels in an array from a file or an argument: numbers, or texts that name classes."""
    if array.dtype.kind == "U":
        names, places = np.unique(array.ravel(), return_inverse=True)
        return Truth(path, places.ravel(), array.size, codes={str(name): place for place, name in enumerate(names)})
    table_files.require_array(path, array, 3)
    if max(array.shape) == array.size:
        return Truth(path, as_classes(path, array.ravel(), "label"), array.size)
    classes = as_classes(path, array, "label")
    if array.ndim == 2 and classes.max() == 1 and (classes.sum(axis=1) == 1).all():
        what = f"found shape {array.shape} with one 1 in each row"
        raise BadInput(path, "", what, "one label per example: its place")
    outcome = MASKS if array.ndim > 2 else LABELS if classes.max() < len(YES_OR_NO) else TOKENS
    asked = [f"label_{place}" for place in range(array.shape[1])] if outcome == LABELS else ()
    return Truth(path, classes.ravel(), array.size, shape=array.shape, outcome=outcome, asked=asked)


def _of_table(path: str, table: "pd.DataFrame") -> Truth:
    """The labels in a table: its column of labels, or its only column."""
    if not has_names(table):
        values = table_files.stack_columns(path, table, range(table.shape[1]))
        if max(values.shape) != values.size:
            raise BadInput(path, "", f"found shape {values.shape}", "one label per example")
        return labels_of_array(path, values.ravel())
    rows, ids, _ = table_files.layout_of_lines(path, table)
    column = table_files.labels_in(path, table, rows)
    if column is not None:
        return labels_of_array(path, column[1])._replace(ids=ids, alone=False)
    left = [name for name in table if role_of(name) not in ("run", "example", "index", "aside")]
    if len(left) != 1:
        raise BadInput(path, "", f"found the columns {', '.join(table)}", "labels in a column label")
    values = table_files.stack_columns(path, table, [table.columns.get_loc(left[0])])[rows[0], 0]
    return labels_of_array(path, values)._replace(ids=ids)


def read_numbers(path: str) -> Truth:
    """The finite numbers in a file: [N] for one column or row, [N, K] for several columns, or a study's true values."""
    if table_files.is_zipped(path) and "test_labels" in arrays.npz_names(path):
        return numbers_of_array(path, prepared.targets_of_test(path)["test_labels"])
    if table_files.is_zipped(path) or table_files.is_array(path):
        array, ids = _labelled(path)
        return numbers_of_array(path, array)._replace(ids=ids)
    table = read_csv(path)
    known = [place for place, name in enumerate(table) if has_names(table) and role_of(name) in ("example", "index")]
    columns = [place for place in range(table.shape[1]) if place not in known] or known
    array = table_files.stack_columns(path, table, columns)
    if columns == known or not has_names(table):
        return numbers_of_array(path, array)
    rows, ids, _ = table_files.layout_of_lines(path, table)
    if len(rows) > 1:
        run = table_files.columns_of_role(table, "run")[0]
        raise BadInput(path, run, f"found {len(rows)} runs", "a line for each example")
    return numbers_of_array(path, array[rows[0]])._replace(ids=ids, asked=[table.columns[place] for place in columns])


def numbers_of_array(path: str, array: np.ndarray) -> Truth:
    """The numbers in an array, [N] or [N, K]."""
    table_files.require_array(path, array, 3)
    if max(array.shape) != array.size and array.ndim != 2:
        raise BadInput(path, "", f"found shape {array.shape}", "one number per example, or a row of numbers")
    table_files.require_squares(path, array)
    shape = (array.size,) if max(array.shape) == array.size else array.shape
    return Truth(path, array.ravel().astype(np.float64), array.size, shape=shape, outcome=VALUES)


def _labelled(path: str) -> tuple[np.ndarray, np.ndarray | None]:
    """The array of an .npy, or the array of labels or the only array of an .npz, with the ids of its examples."""
    if not table_files.is_zipped(path):
        array = arrays.read_npy(path)
        table_files.require_array(path, array, 3)
        return array, None
    named = arrays.read_npz(path)
    names = [name for name in named if role_of(name) == "label"]
    names = names or [name for name in named if not table_files.identifies_examples(name)]
    if len(names) != 1:
        raise BadInput(path, "", f"found {table_files.shapes_of(named)}", "one array, or one named labels")
    array = named[names[0]]
    table_files.require_array(path, array, 3)
    array = array.ravel() if max(array.shape) == array.size else array
    order, ids = table_files.in_order(path, named, len(array))
    return array[order], ids


def as_classes(path: str, values: np.ndarray, what: str) -> np.ndarray:
    """Numbers as classes, if they are valid classes."""
    table_files.require_numbers(path, values)
    wrong = (values < 0) | (values >= MOST_CLASSES)
    if values.dtype.kind == "f":
        wrong |= np.mod(values, 1) != 0
    if wrong.any():
        where = tuple(np.argwhere(wrong)[0])
        place = f"[{', '.join(map(str, where))}]"
        allowed = f"expected a {what}: 0, 1, ..." + ("; numbers to predict are values" if what == "label" else "")
        raise BadInput(path, place, f"found {values[where]}", allowed)
    return values.astype(np.int64)
