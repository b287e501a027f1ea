"""`tn.keep`: which of many changes, tried one after another, to keep."""

from functools import partial
from operator import getitem
from typing import Any

import numpy as np

from toolnoise.api import given
from toolnoise.api.results import Result
from toolnoise.base.errors import BadInput
from toolnoise.comparison import keep as rules
from toolnoise.comparison import keep_text, loop_tables
from toolnoise.comparison.tables import directions, sessions
from toolnoise.comparison.tables.arguments import Asked
from toolnoise.comparison.tables.frame import Frame


def keep(
    table: Any,
    *,
    metric: str,
    lower: bool = False,
    higher: bool = False,
    by: str | None = None,
    session: str | None = None,
    strict: bool = False,
) -> Result:
    """Whether to keep or drop the change that a loop ran last, or to run it again: `["answer"]` is keep, drop or run.

    `table` is a file or a DataFrame with a line a run, in the order in which they were made; the column `by` says the
    change. The first change is the incumbent. Arguments are those of `toolnoise keep`.

    >>> import pandas as pd
    >>> import toolnoise as tn
    >>> runs = pd.DataFrame({"change": ["base"] * 16 + ["relu"], "loss": [3.1, 3.2] * 8 + [3.3]})
    >>> tn.keep(runs, metric="loss")["answer"]
    'drop'
    """
    sessions.require_own_sessions(metric, session)
    said = Asked((metric,), lower=() if lower else None, higher=() if higher else None)
    (direction,) = directed = directions.directed(said)
    directions.require_directions(directed)
    rule = rules.STRICT if strict else rules.RULE
    runs = loop_tables.runs_of_loop(_table(table, metric, by), metric, by, max(rule))
    values = -runs.values if direction.lower else runs.values
    loop = rules.replay(zip(runs.changes, values.tolist(), strict=True), rule)
    answer = rules.answer(loop)
    found = keep_text.as_json(loop, answer)
    read = [f"the column {runs.column} says the change", direction.better]
    return Result(
        "\n".join([keep_text.as_text(loop, answer, found, metric), *read]), found, partial(getitem, found, "changes")
    )


def _table(table: Any, metric: str, by: str | None) -> Frame:
    """A file or a DataFrame of pandas or polars as columns of texts."""
    if given.is_path(table):
        return loop_tables.read_loop_table(str(table), metric, by)
    if not hasattr(table, "columns") or not len(table):
        raise BadInput("table", "", f"found {type(table).__name__}", "a path or a DataFrame with a line a run")
    if len({*table.columns}) < len(table.columns):
        raise BadInput("table", "", "found a column twice", "each once")
    cells = [np.array([*map(str, table[name])], object) for name in table.columns]
    return Frame("table", [*map(str, table.columns)], cells, turned=True)
