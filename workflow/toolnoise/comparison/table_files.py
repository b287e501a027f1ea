"""Files of any origin: tables (CSV, JSON lines or Parquet) as pandas frames, and arrays of finite numbers.

Each column of a frame has numbers, True and False, or texts; without `typed`, all have texts. The index has the line
numbers in the file. If a file has no names, the names of the columns are empty.

Fields of CSV are separated by commas, semicolons, tabs or, as `numpy.savetxt` writes them, spaces. A byte order mark,
Windows' line ends, quotes, spaces around a field, and `# ` before the names are accepted. The first line has the names
unless it looks like the others. Only the first column may lack a name; it is then an index.

A line of a table of predictions belongs to a run and to an example. A column `example` identifies the example: 0 to
N-1 and 1 to N are places among the labels. With other ids, examples are in the order of the first run's lines. An index
does the same unless it counts the lines of all runs. So do the arrays of an archive.
"""

import csv
import itertools
import json
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from toolnoise.base.errors import BadInput
from toolnoise.base.files import readable
from toolnoise.comparison.naming import by_number, numbers_of, role_of

if TYPE_CHECKING:
    import pandas as pd

ENCODING = "utf-8-sig"
LARGEST = 1e100  # the largest metric or score: its square is finite, too
EXACT = 2**53  # from here on, whole numbers are not exact as floats
LONGEST = 2**26  # characters in a line of JSON
CHUNK = 2**20
BOOLEANS = {"true": True, "false": False}
LINE = "line"  # the name of an index that has the numbers of lines


def read_table(path: str, wanted: str = "metrics", *, repeated: bool = False) -> "pd.DataFrame":
    """The table in a file of any of the three kinds."""
    if first_object(path):
        numbers, lines = zip(*objects(path), strict=True)
        return of_objects(lines, numbers)
    if Path(path).suffix == ".parquet":
        return _parquet(path)
    return read_csv(path, wanted, repeated=repeated)


def read_csv(
    path: str, wanted: str = "predictions", *, examples: int | None = None, repeated: bool = False, typed: bool = True
) -> "pd.DataFrame":
    """The table in a CSV file; `examples`, their number if known, distinguishes names 0, 1, ... from data.

    `wanted` is for messages. Several columns may have one name if `repeated` is true. Without `typed`, all columns are
    texts.
    """
    with readable(path, "CSV"):
        head = _first_lines(path)
        if not head:
            raise BadInput(path, "", "found nothing", f"{wanted} in CSV")
        (place, line), (_, below) = head[0], head[-1]
        separator = _separator(line, below)
        first = _fields(line.removeprefix("#"), separator)
        # A line after # without one name per field is a comment.
        commented = line.startswith("#") and len(first) != len(_fields(below, separator))
        data = not line.startswith("#") and all(is_number(field) or field.lower() in BOOLEANS for field in first)
        cells = _cells(path, separator, 0 if data else place, typed=typed)
        named = line.startswith("#") or not typed
        if not (data or named) and len(first) == len(cells) and _continues(first, cells):
            data, cells = True, _cells(path, separator, 0, typed=typed)
    if not cells:
        raise BadInput(path, "", "found only names", f"{wanted} below them")
    if data and first == [str(place) for place in range(len(first))]:
        lines = len(cells[0])
        if lines > 1 and (lines - 1 == examples or len(first) == examples != lines):
            data, cells = False, [column[1:] for column in cells]
    if data or commented:
        return as_frame([""] * len(cells), cells, first=1 + commented)
    _require_names(path, first, len(cells), repeated=repeated)
    return as_frame(first, cells, first=2)


def as_frame(names: list[str], columns: list[np.ndarray], first: int | None = None) -> "pd.DataFrame":
    """A frame of columns; `first` is the number of its first line in the file."""
    import pandas as pd  # slow to import

    frame = pd.concat([pd.Series(column, dtype=column.dtype) for column in columns], axis=1, ignore_index=True)
    frame.columns = pd.Index(names, dtype=object)
    if first is not None:
        frame.index = pd.RangeIndex(first, first + len(frame), name=LINE)
    return frame


def has_names(frame: "pd.DataFrame") -> bool:
    """Whether the columns of a frame have names."""
    return any(frame.columns)


def objects(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects in the lines of a file, each with the number of its line."""
    with readable(path, "JSON lines"), Path(path).open(encoding=ENCODING) as file:
        number = 0
        while line := file.readline(LONGEST):
            number += 1
            if len(line) == LONGEST:
                raise BadInput(path, f"line {number}", f"has {LONGEST} characters or more", "JSON lines")
            if not line.strip():
                continue
            try:
                found = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise BadInput(path, f"line {number}", f"damaged or truncated ({error})", "JSON lines") from None
            if not isinstance(found, dict):
                raise BadInput(path, f"line {number}", f"found {type(found).__name__}", "an object")
            yield number, found


def first_object(path: str) -> dict[str, Any] | None:
    """The object in the first line of a file; None if there is none, and empty if it continues on further lines."""
    try:
        with Path(path).open(encoding=ENCODING) as file:
            line = file.readline(LONGEST).strip()
    except (OSError, ValueError):
        return None
    if not line.startswith("{"):
        return None
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else None


def of_objects(lines: Iterable[Mapping[str, Any]], numbers: Sequence[int] | None = None) -> "pd.DataFrame":
    """The fields of all lines as columns, blank where a line lacks one; nested fields have names such as config.lr."""
    import pandas as pd

    rows = [dict(_fields_of(line)) for line in lines]
    names = list(dict.fromkeys(name for row in rows for name in row))
    frame = as_frame(names, [typed_cells([row.get(name, "") for row in rows]) for name in names])
    return frame if numbers is None else frame.set_axis(pd.Index(numbers, name=LINE), axis=0)


def _fields_of(line: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for name, value in line.items():
        if isinstance(value, dict):
            yield from _fields_of(value, f"{above}{name}.")
        else:
            yield above + name, "" if value is None else str(value).strip()


def of_frame(table: "pd.DataFrame", *, typed: bool = True) -> "pd.DataFrame":
    """A frame of any cells in the form of `as_frame`, of texts without `typed`; a named index becomes columns."""
    table = table.reset_index() if any(name is not None for name in table.index.names) else table
    columns = [table.iloc[:, place] for place in range(table.shape[1])]
    texts = [
        ["" if missing else str(cell).strip() for cell, missing in zip(column, column.isna(), strict=True)]
        for column in columns
    ]
    cells = [typed_cells(column) if typed else np.array(column, object) for column in texts]
    return as_frame([str(name).strip() for name in table.columns], cells)


def _parquet(path: str) -> "pd.DataFrame":
    import pandas as pd

    try:
        with readable(path, "Parquet"):
            return of_frame(pd.read_parquet(path))
    except ImportError:
        raise BadInput(path, "", "is Parquet", "pip install pyarrow; or CSV") from None


def _first_lines(path: str) -> list[tuple[int, str]]:
    """The first line, and the next that is not empty, each with its number."""
    with Path(path).open("rb") as file:
        # A file that lost its end in a crash may end in many zero bytes without a line break.
        if any(b"\0" in chunk for chunk in iter(partial(file.read, CHUNK), b"")):
            raise BadInput(path, "", "damaged (a zero byte)", "CSV")
    with Path(path).open(encoding=ENCODING) as file:
        lines = ((number, line.strip("\r\n")) for number, line in enumerate(file, 1) if line.strip())
        return list(itertools.islice(lines, 2))


def _separator(first: str, line: str) -> str:
    """The separator of fields in a line of data; commas may be decimal ones if the names have another separator."""
    likely = [separator for separator in ",\t;" if separator in line]
    for separator in (*(each for each in likely if each in first), *likely):
        return separator
    parts = line.split()
    return " " if len(parts) > 1 and all(map(is_number, parts)) else ","


def _fields(line: str, separator: str) -> list[str]:
    if separator == " ":
        return line.split()
    return [field.strip() for field in next(csv.reader([line], delimiter=separator), [])]


def _cells(path: str, separator: str, skipped: int, *, typed: bool) -> list[np.ndarray]:
    """The columns below the `skipped` lines, none if there are no fields; a line that lacks fields is refused."""
    import pandas as pd

    how = {"header": None, "skiprows": skipped, "dtype": object, "na_filter": False, "skipinitialspace": True}
    try:
        if typed:
            return _numbers(path, separator, skipped)
    except UnicodeDecodeError:
        raise
    except ValueError:
        pass  # not only numbers
    try:
        frame = pd.read_csv(path, sep=r"\s+" if separator == " " else separator, encoding=ENCODING, **how)
    except pd.errors.EmptyDataError:
        return []
    columns = [[field.strip() for field in frame[name]] for name in frame]
    if "" in columns[-1]:
        _require_fields(path, separator, len(columns))
    return [typed_cells(column) if typed else np.array(column, object) for column in columns]


def _numbers(path: str, separator: str, skipped: int) -> list[np.ndarray]:
    """The columns of a file with only numbers below its names; fast, since a table of scores may be large."""
    how = {"delimiter": None if separator == " " else separator, "comments": None, "quotechar": '"'}
    with Path(path).open(encoding=ENCODING) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # no data below the names
        table = np.loadtxt(file, skiprows=skipped, ndmin=2, **how)
    return list(table.T) if len(table) else []


def _require_fields(path: str, separator: str, width: int) -> None:
    """Refuse a line with fewer fields than the others, which pandas would fill with blank fields."""
    with Path(path).open(encoding=ENCODING, newline="") as file:
        lines = map(str.split, file) if separator == " " else csv.reader(file, delimiter=separator)
        for number, fields in enumerate(filter(None, lines), 1):
            if not len(fields) == width and any(field.strip() for field in fields):
                raise BadInput(path, f"row {number}", f"found {len(fields)} fields", f"{width}, as in the others")


def typed_cells(cells: list[str]) -> np.ndarray:
    """Cells as True and False or as numbers if all of them are such, else as texts."""
    if {cell.lower() for cell in set(cells)} <= BOOLEANS.keys():
        return np.array([BOOLEANS[cell.lower()] for cell in cells])
    return np.array(cells, float if all(map(is_number, cells)) else object)


def _continues(first: list[str], columns: list[np.ndarray]) -> bool:
    """Whether each field of the first line repeats in the texts below it, so that the line has no names."""
    return all(
        column.dtype.kind == "O" and (column == field).any() for field, column in zip(first, columns, strict=True)
    )


def is_number(text: str) -> bool:
    """Whether a field is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text  # Python reads 1_0 as 10


def _require_names(path: str, names: list[str], columns: int, *, repeated: bool) -> None:
    if len(names) != columns:
        raise BadInput(path, "row 1", f"found {columns} fields", f"{len(names)}, as names")
    if "" in names[1:]:
        raise BadInput(path, f"column {names.index('', 1) + 1}", "no name", "a name for each column but an index")
    (name, times), *_ = Counter(names).most_common(1)
    if times > 1 and not repeated:
        raise BadInput(path, f"column {name}", f"found {times} of this name", "one")


def is_zipped(path: str) -> bool:
    """Whether a file is a zip archive, like a study's data."""
    return _begins(path, b"PK\x03\x04")


def is_array(path: str) -> bool:
    """Whether a file is an .npy; other files with the suffix .npy or .npz are refused unless they are zipped."""
    if _begins(path, b"\x93NUMPY"):
        return True
    if Path(path).suffix in (".npy", ".npz") and not is_zipped(path):
        raise BadInput(path, "", "not a NumPy array", "a .npy file that numpy.save wrote, or CSV")
    return False


def require_array(path: str, array: np.ndarray, most: int) -> None:
    """Refuse an array that is empty, has values other than finite numbers, or has more than `most` dimensions."""
    if array.dtype.kind not in "biuf" or array.ndim not in range(1, most + 1):
        raise BadInput(path, "", f"found {array.dtype} of shape {array.shape}", f"numbers in 1 to {most} dimensions")
    if 0 in array.shape:
        raise BadInput(path, "", f"found shape {array.shape}", "at least one run and one example")
    require_numbers(path, array)


def require_numbers(path: str, values: np.ndarray) -> None:
    """Refuse numbers that are not finite."""
    for place, part in enumerate(values):
        if not np.isfinite(part).all():
            where = (place, *np.argwhere(~np.isfinite(part))[0]) if part.ndim else (place,)
            raise BadInput(path, f"[{', '.join(map(str, where))}]", f"found {values[where]}", "finite numbers")


def require_squares(path: str, values: np.ndarray) -> None:
    """Refuse numbers so large that their squares may overflow."""
    if np.abs(values).max() > LARGEST:
        raise BadInput(path, "", f"found {np.abs(values).max():g}", f"numbers within {LARGEST:g} of 0")


def shapes_of(named: dict[str, np.ndarray]) -> str:
    """The arrays of an archive in words."""
    return ", ".join(f"{name} of shape {array.shape}" for name, array in named.items()) or "no array"


def _begins(path: str | Path, mark: bytes) -> bool:
    with readable(path, "a .npy or CSV file"), Path(path).open("rb") as file:
        return file.read(len(mark)) == mark


# The lines of a table of predictions, by runs and examples


def columns_of_role(table: "pd.DataFrame", role: str) -> list[str]:
    """The columns that have a role by their names."""
    return [name for name in table if role_of(name) == role] if has_names(table) else []


def _column(path: str, table: "pd.DataFrame", name: str) -> np.ndarray:
    return stack_columns(path, table, [table.columns.get_loc(name)])[:, 0]


def stack_columns(path: str, table: "pd.DataFrame", places: Sequence[int]) -> np.ndarray:
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
    """The start of the first text that is not a number, for messages."""
    return next((str(value) for value in values.flat if not is_number(value)), str(values.flat[0]))[:40]


def layout_of_lines(path: str, table: "pd.DataFrame") -> tuple[np.ndarray, np.ndarray | None, list[int] | None]:
    """The lines of each run, [S, N], with one example per column; the examples' ids; the numbers of the runs."""
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
    """The order of an archive's examples by its arrays of ids or indices, as for a table, and their ids."""
    of_names = {name: array for name, array in named.items() if identifies_examples(name)}
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


def identifies_examples(name: str) -> bool:
    """Whether an array of an archive identifies examples by its name."""
    return role_of(name) in ("example", "index")


def _identified(
    path: str, rows: np.ndarray, named: Iterable[tuple[str, np.ndarray]], wanted: str
) -> tuple[np.ndarray, np.ndarray | None]:
    """The lines of each run, [S, N], in one order of examples, and the examples' ids; an index is tried last."""
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
    """The name of the column of labels, and its labels, [N], for these lines of each run, [S, N]."""
    names = columns_of_role(table, "label")
    columns = [_column(path, table, name)[rows] for name in names]
    for name, column in zip(names, columns, strict=True):
        if (column != column[0]).any():
            raise BadInput(path, name, "found two labels of one example", "the same in each run")
        if not np.array_equal(column[0], columns[0][0]):
            raise BadInput(path, name, f"differs from {names[0]}", "one column of labels")
    return (names[0], columns[0][0]) if names else None


def matching_order(ids: np.ndarray, wanted: np.ndarray) -> np.ndarray | None:
    """The order that puts examples into the order of `wanted`; None if the examples differ."""
    keys, theirs = np.array(_keys(ids)), np.array(_keys(wanted))
    if are_places(ids) and are_places(wanted) and len(ids) == len(wanted):
        return np.arange(len(ids))
    order, other = np.argsort(keys), np.argsort(theirs)
    if not np.array_equal(keys[order], theirs[other]):
        return None
    return order[np.argsort(other)]


def require_matching_order(path: str, ids: np.ndarray, source: str, wanted: np.ndarray) -> np.ndarray:
    """The order that puts a file's examples into the order of `wanted`; a file with other examples is refused."""
    order = matching_order(ids, wanted)
    if order is None:
        allowed = "the same, once each, by their ids or index, or neither in the file"
        raise BadInput(path, "", f"found other examples than in {source}", allowed)
    return order


def _keys(values: np.ndarray) -> list[str]:
    """Texts that identify values, whole numbers without a fraction."""
    return [f"{value:.17g}" for value in values] if values.dtype.kind == "f" else [str(value) for value in values]


def are_places(numbers: Sequence[float] | np.ndarray | None) -> bool:
    """Whether these are 0 to N-1 or 1 to N, in any order."""
    ordered = np.sort(np.asarray([] if numbers is None else numbers))
    if ordered.dtype.kind not in "iuf" or not len(ordered) or ordered[0] not in (0, 1):
        return False
    return bool((ordered - ordered[0] == np.arange(len(ordered))).all())
