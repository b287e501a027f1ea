"""The labels of examples, in a file of their own or beside predictions; and other numbers, one for each example."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from toolnoise.base import arrays
from toolnoise.base.errors import BadInput
from toolnoise.comparison import array_files, csv_columns, table_rows
from toolnoise.comparison.table_rows import role_of
from toolnoise.datasets import prepared
from toolnoise.datasets.prepared import Data
from toolnoise.formulas.outcomes import LABEL, LABELS, MASKS, TOKENS, YES_OR_NO

MOST_CLASSES = np.float64(2**31)  # in half precision, which labels may have, a number of Python overflows


class Labels(NamedTuple):
    """The classes of the examples, [N], in a file; None in one of right and wrong answers, which need no labels.

    Of examples with several units, N counts these, and `shape` is that of their array; `asked` names many labels.

    `ids` identify the examples if the file does. For classes that are texts, `codes` has the numbers; further
    classes get theirs as runs predict them. `alone` says that the file has nothing else.
    """

    source: str
    classes: np.ndarray | None
    examples: int | None
    ids: np.ndarray | None = None
    codes: dict[str, int] | None = None
    alone: bool = True
    shape: tuple[int, ...] = ()
    outcome: str = LABEL
    asked: tuple[str, ...] = ()

    @property
    def units(self) -> int:
        """The number of units of an example."""
        return int(np.prod(self.shape[1:]))


def read(path: str) -> Labels:
    """The labels in a file of one column or row, in a column of labels, or of the test set in a study's data."""
    if array_files.zipped(path):
        names = arrays.npz_names(path)
        if "test_labels" in names:
            return of_data(path, prepared.load(path))
    elif not array_files.is_array(path):
        return of_table(path, csv_columns.read(path, None))
    alone = not array_files.zipped(path) or len(arrays.npz_names(path)) == 1
    array, ids = _labelled(path)
    return of_array(path, array, alone=alone)._replace(ids=ids)


def of_values(path: str, values: np.ndarray) -> Labels:
    """The labels in an array of numbers, or of texts that name classes."""
    if values.dtype.kind != "U":
        return of_array(path, values)
    names, places = np.unique(values.ravel(), return_inverse=True)
    return Labels(path, places.ravel(), values.size, codes={str(name): place for place, name in enumerate(names)})


def of_array(path: str, array: np.ndarray, *, alone: bool = True) -> Labels:
    """The labels in an array, which is a file's or an argument's."""
    array_files.require_array(path, array, 3)
    if max(array.shape) == array.size:
        return Labels(path, as_classes(path, array.ravel(), "label"), array.size, alone=alone)
    classes = as_classes(path, array, "label")
    if array.ndim == 2 and classes.max() == 1 and (classes.sum(axis=1) == 1).all():
        raise BadInput(
            path, "", f"found shape {array.shape} with one 1 in each row", "one label per example: its place"
        )
    outcome = MASKS if array.ndim > 2 else LABELS if classes.max() < len(YES_OR_NO) else TOKENS
    asked = tuple(f"label_{place}" for place in range(array.shape[1])) if outcome == LABELS else ()
    return Labels(path, classes.ravel(), array.size, alone=alone, shape=array.shape, outcome=outcome, asked=asked)


def of_data(path: str, data: Data) -> Labels:
    """The labels of the test set of a study's data."""
    test = data.test
    several = {} if test.targets.ndim == 1 else {"shape": test.targets.shape, "outcome": test.outcome}
    return Labels(path, test.labels, len(test.labels), asked=data.asked, **several)


def of_table(path: str, table: csv_columns.Table) -> Labels:
    """The labels in a table: its column of labels, or its only column."""
    if not table.names:
        values, ids, alone = table_rows.stacked(path, table, range(len(table.columns))), None, True
        if max(values.shape) != values.size:
            raise BadInput(path, "", f"found shape {values.shape}", "one label per example")
        values = values.ravel()
    else:
        rows, ids, _ = table_rows.layout(path, table)
        column = table_rows.labels_in(path, table, rows)
        alone = column is None
        if column is None:
            left = [name for name in table.names if role_of(name) not in ("run", "example", "index", "aside")]
            if len(left) != 1:
                raise BadInput(path, "", f"found the columns {', '.join(table.names)}", "labels in a column label")
            column = left[0], table_rows.stacked(path, table, [table.names.index(left[0])])[rows[0], 0]
        values = column[1]
    if values.dtype.kind == "U":
        return of_values(path, values)._replace(ids=ids, alone=alone)
    return Labels(path, as_classes(path, values, "label"), len(values), ids, None, alone)


class Values(NamedTuple):
    """Numbers of N examples, [N] or [N, K], with the ids of these and the names of the K columns, if they are known."""

    source: str
    values: np.ndarray
    ids: np.ndarray | None = None
    columns: Sequence[str] = ()


def numbers(path: str) -> Values:
    """The numbers in a file, finite: [N] of one column or row, [N, K] of several columns, or a study's true values."""
    if array_files.zipped(path) and "test_labels" in arrays.npz_names(path):
        return Values(path, prepared.targets(path)["test_labels"])
    ids, names = None, []
    if array_files.is_array(path) or array_files.zipped(path):
        array, ids = _labelled(path)
    else:
        table = csv_columns.read(path, None)
        roles = [role_of(name) for name in table.names] or [""] * len(table.columns)
        columns = [place for place, role in enumerate(roles) if role not in ("example", "index")]
        array = table_rows.stacked(path, table, columns or range(len(roles)))
        array_files.require_array(path, array, 2)
        if columns and table.names:
            rows, ids, _ = table_rows.layout(path, table)
            if len(rows) > 1:
                run = table_rows.named(table, "run")[0]
                raise BadInput(path, run, f"found {len(rows)} runs", "a line for each example")
            array, names = array[rows[0]], [table.names[place] for place in columns]
    return numbers_of(path, array)._replace(ids=ids, columns=names)


def numbers_of(path: str, array: np.ndarray) -> Values:
    """The numbers in an array, [N] or [N, K]."""
    if max(array.shape) != array.size and array.ndim != 2:
        raise BadInput(path, "", f"found shape {array.shape}", "one number per example, or a row of numbers")
    return Values(path, array.ravel() if max(array.shape) == array.size else array)


def _labelled(path: str) -> tuple[np.ndarray, np.ndarray | None]:
    """The array in an .npy, or in an .npz the only one or the one with the name of labels; what identifies examples."""
    if not array_files.zipped(path):
        array = arrays.read_npy(path)
        array_files.require_array(path, array, 3)
        return array, None
    named = arrays.read_npz(path)
    names = [name for name in named if role_of(name) == "label"]
    names = names or [name for name in named if not table_rows.identifies(name)]
    if len(names) != 1:
        raise BadInput(path, "", f"found {array_files.shapes_of(named)}", "one array, or one named labels")
    array = named[names[0]]
    array_files.require_array(path, array, 3)
    array = array.ravel() if max(array.shape) == array.size else array
    order, ids = table_rows.in_order(path, named, len(array))
    return array[order], ids


def as_classes(path: str, values: np.ndarray, what: str) -> np.ndarray:
    """Numbers as classes, if they are valid classes."""
    array_files.require_numbers(path, values)
    wrong = (values < 0) | (values >= MOST_CLASSES)
    if values.dtype.kind == "f":
        wrong |= np.mod(values, 1) != 0
    if wrong.any():
        where = tuple(np.argwhere(wrong)[0])
        place = f"[{', '.join(map(str, where))}]"
        allowed = f"expected a {what}: 0, 1, ..." + ("; numbers to predict need --values" if what == "label" else "")
        raise BadInput(path, place, f"found {values[where]}", allowed)
    return values.astype(np.int64)
