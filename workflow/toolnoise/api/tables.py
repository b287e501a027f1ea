"""Tables with one number a run for `tn.compare` and `tn.plan`: files, DataFrames of pandas or polars, and numbers."""

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from numbers import Number
from pathlib import Path
from typing import Any

import numpy as np

from toolnoise.api import given
from toolnoise.api.results import Compared, of_intervals
from toolnoise.base.errors import BadInput
from toolnoise.comparison import read_arms
from toolnoise.comparison.comparison_text import laid_out
from toolnoise.comparison.tables import differences, reading, text
from toolnoise.comparison.tables.arguments import Asked
from toolnoise.comparison.tables.differences import MetricComparison

FOLDER = "toolnoise-tables-"
# Types of columns that may be classes, or right and wrong.
WHOLE = ("bool", "int", "uint")


def compare(arms: Sequence[Any], asked: Asked, against: str | None, *, all_pairs: bool) -> Compared:
    """Compare the arms in tables by these metrics."""
    if not arms:
        raise BadInput("command line", "ARMS", "missing", "a table, or one for each arm, before --metric")
    with as_files(arms) as files:
        runs = reading.read(files, asked)
        found = differences.compare(runs, against, all_pairs=all_pairs)
    runs = runs._replace(notes=[given_as(note) for note in runs.notes])
    values, drawn, block = text.as_json(runs, found), _picture(found), text.block(runs, found)
    return Compared(laid_out([block]), values, partial(_rows, found), drawn, partial(_figure, found), [block.rows])


@contextmanager
def as_files(arms: Sequence[Any]) -> Iterator[list[list[str]]]:
    """The paths of each arm; what is no path is a file with the name of its arm while the block runs."""
    if len(arms) > len(read_arms.NAMES):
        raise BadInput("command line", "ARMS", f"found {len(arms)}", f"at most {len(read_arms.NAMES)}")
    with tempfile.TemporaryDirectory(prefix=FOLDER) as folder:
        try:
            yield [given.paths(arm) or _written(place, arm, Path(folder)) for place, arm in enumerate(arms)]
        except BadInput as error:
            raise error.saying(given_as(str(error))) from None


def given_as(said: str) -> str:
    """What is said of a file that nobody has given, said of its arm."""
    return re.sub(rf"\S*{FOLDER}[^/\s]+/(\w+)\.csv", r"arm \1", said)


def _written(place: int, table: Any, folder: Path) -> list[str]:
    """A DataFrame, or numbers, as a file with the name of its arm: what is true of files is true of it."""
    path = folder / f"{read_arms.NAMES[place]}.csv"
    named = hasattr(table, "to_csv") and any(name is not None for name in table.index.names)
    if named or (hasattr(table, "to_csv") and table.ndim == 2):
        # Numbers are no names of columns: above numbers, they would be a run.
        table.to_csv(path, index=named, header=named or not all(isinstance(name, Number) for name in table.columns))
    elif hasattr(table, "write_csv"):
        table.write_csv(path)
    else:
        numbers = given.array(f"arm {path.stem}", table)
        if numbers.ndim != 1 or numbers.size == 0 or numbers.dtype.kind not in "fiu":
            what = f"found {numbers.dtype} of shape {numbers.shape}"
            raise BadInput(f"arm {path.stem}", "", what, "with a metric: a path, a DataFrame, or one number a run")
        path.write_text("".join(f"{number!r}\n" for number in numbers.astype(np.float64).tolist()))
    return [str(path)]


def require_predictions(name: str, arm: Any) -> None:
    """Refuse, without labels, what looks like one number a run: say which argument is meant."""
    table = hasattr(arm, "columns") and not all(str(kind).lower().startswith(WHOLE) for kind in arm.dtypes)
    if table or given.arrays(name, arm)[0].ndim == 0 or _fractions(given.arrays(name, arm)[0]):
        what = "a table" if table else "one number a run"
        raise BadInput(name, "", f"found {what}, and no labels", "metric, if these are metrics of runs; or labels")


def _fractions(array: np.ndarray) -> bool:
    return array.ndim == 1 and array.dtype.kind == "f" and bool((array != np.floor(array)).any())


def _rows(found: Sequence[MetricComparison]) -> list[Mapping[str, Any]]:
    return [
        {"a": each.a.name, "b": each.b.name, "quantity": each.metric}
        | dict(zip(("value", "low", "high"), each.difference, strict=True))
        | {"pvalue": each.pvalue, "pvalue_holm": each.pvalue_holm, "test": each.test}
        for each in found
    ]


def _picture(found: Sequence[MetricComparison]) -> Any:
    """The intervals of the first metric: others have other units."""
    first = [each for each in found if each.metric == found[0].metric]
    unit = f", {first[0].unit}" if first[0].unit else ""
    rows = [{**row, "quantity": f"{row['b']} - {row['a']}"} for row in _rows(first)]
    finite = [{key: None if value != value else value for key, value in row.items()} for row in rows]
    return of_intervals(f"difference in {first[0].metric}{unit}", finite)


def _figure(found: Sequence[MetricComparison], path: str) -> None:
    from toolnoise.comparison import figures

    figures.write_differences(found, path)
