"""`tn.keep`: which of many changes, tried one after another, to keep."""

from typing import Any

from toolnoise.api import given
from toolnoise.api.results import Result
from toolnoise.base.errors import BadInput
from toolnoise.comparison import keep as rules
from toolnoise.comparison import loop_tables
from toolnoise.comparison.metric_names import directed, require_directions
from toolnoise.comparison.metric_runs import require_own_sessions


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
    require_own_sessions(metric, session)
    (direction,) = metrics = directed((metric,), () if lower else None, () if higher else None)
    require_directions(metrics)
    rule = rules.STRICT if strict else rules.RULE
    if given.is_path(table):
        frame = loop_tables.read_loop_table(str(table), metric, by)
    elif hasattr(table, "columns") and len(table):
        frame = loop_tables.loop_table_of_frame(table)
    else:
        raise BadInput("table", "", f"found {type(table).__name__}", "a path or a DataFrame with a line a run")
    runs = loop_tables.runs_of_loop(frame, metric, by, max(rule))
    values = -runs.values if direction.lower else runs.values
    loop = rules.replay(zip(runs.changes, values.tolist(), strict=True), rule)
    answer = rules.answer(loop)
    found = rules.as_json(loop, answer)
    read = [f"the column {runs.column} says the change", direction.better]
    text = "\n".join([rules.as_text(loop, answer, found, metric), *read])
    return Result(text, found, found["changes"])
