"""`tn.compare` of tables with one number a run: files, and DataFrames of pandas or polars."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolnoise.api import given
from toolnoise.api.results import Compared, of_intervals
from toolnoise.base.errors import BadInput
from toolnoise.comparison import read_arms
from toolnoise.comparison.tables import command, text
from toolnoise.comparison.tables.arguments import Asked
from toolnoise.comparison.tables.differences import MetricComparison


def compare(arms: Sequence[Any], asked: Asked, against: str | None, *, all_pairs: bool) -> Compared:
    """Compare the arms in tables by these metrics."""
    if not arms:
        raise BadInput("command line", "ARMS", "missing", "a table, or one for each arm, before --metric")
    with tempfile.TemporaryDirectory(prefix="toolnoise-tables-") as folder:
        files = [given.paths(arm) or _written(place, arm, Path(folder)) for place, arm in enumerate(arms)]
        runs, found = command.compare(files, asked, against, all_pairs=all_pairs)
    # What was a DataFrame lay in no folder of the caller's.
    runs = runs._replace(notes=[note.replace(f"{folder}/", "") for note in runs.notes])
    values = text.as_json(runs, found)
    return Compared(text.as_text(runs, found), values, lambda: _rows(found), _picture(found), _figure(found))


def _written(place: int, table: Any, folder: Path) -> list[str]:
    """A DataFrame as a file with the name of its arm: what is true of files is true of it."""
    path = folder / f"{read_arms.NAMES[place % len(read_arms.NAMES)]}.csv"
    if hasattr(table, "to_csv"):
        named = any(name is not None for name in table.index.names)
        table.to_csv(path, index=named)
    elif hasattr(table, "write_csv"):
        table.write_csv(path)
    else:
        raise BadInput(f"arm {path.stem}", "", f"found {type(table).__name__}", "with a metric: a path or a DataFrame")
    return [str(path)]


def _rows(found: Sequence[MetricComparison]) -> list[Mapping[str, Any]]:
    return [
        {"a": each.a.name, "b": each.b.name, "quantity": each.metric}
        | dict(zip(("value", "low", "high"), each.difference, strict=True))
        | {"pvalue": each.pvalue, "pvalue_holm": each.pvalue_holm, "test": each.test}
        for each in found
    ]


def _picture(found: Sequence[MetricComparison]) -> Callable[[Any], Any]:
    """The intervals of the first metric: others have other units."""
    first = [each for each in found if each.metric == found[0].metric]
    unit = f", {first[0].unit}" if first[0].unit else ""
    rows = [{**row, "quantity": f"{row['b']} - {row['a']}"} for row in _rows(first)]
    finite = [{key: None if value != value else value for key, value in row.items()} for row in rows]
    return of_intervals(f"difference in {first[0].metric}{unit}", finite)


def _figure(found: Sequence[MetricComparison]) -> Callable[[str], None]:
    def write(path: str) -> None:
        from toolnoise.comparison.tables import intervals_figure  # draws with Matplotlib, slow to import

        intervals_figure.draw(found, path)

    return write
