"""`tn.plan`, `tn.gate`, `tn.keep`: how many runs a claim needs, whether new runs pass, and which changes to keep."""

from collections.abc import Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np

from toolnoise.api import values as inputs
from toolnoise.api.values import Result, Verdict, rows_of
from toolnoise.base.errors import BadArgument, BadInput
from toolnoise.comparison import keep as rules
from toolnoise.comparison import regression_gate, sample_size
from toolnoise.comparison.metric_runs import read_runs, require_own_sessions
from toolnoise.comparison.naming import require_directions, with_directions
from toolnoise.stats.significance import LEVEL, POWER


def plan(
    *,
    gain: float | Sequence[float] | None = None,
    sd: float | None = None,
    sd_runs: int | None = None,
    pilot: Any = None,
    metric: str | Sequence[str] | None = None,
    by: str | None = None,
    seed: str | None = None,
    session: str | None = None,
    last: bool = False,
    best: bool = False,
    lower: bool | str | Sequence[str] = False,
    higher: bool | str | Sequence[str] = False,
    arm: str | Sequence[str] | None = None,
    level: float = LEVEL,
    power: float = POWER,
) -> Result:
    """The runs per arm that a gain needs.

    `gain` and `sd` are in percentage points of accuracy. `pilot` is a study's stability.csv, of which `arm` has words
    that choose a cell; or with `metric` tables with one number a run, in its own unit: files, DataFrames or arrays, one
    for each arm.

    >>> import toolnoise as tn
    >>> tn.plan(sd=0.3, gain=0.3)["needed"][0]["runs_per_arm"]
    17
    """
    of_tables: dict[str, Any] = {"by": by, "seed": seed, "session": session, "last": last, "best": best}
    of_tables |= {"lower": lower, "higher": higher}
    if metric:
        _refuse({"sd": sd, "sd_runs": sd_runs}, "found metric, which reads tables")
        arms, asked = _arms(pilot), inputs.asked_of_tables(metric, **of_tables)
        if not arms:
            raise BadArgument("metric", "given without pilot", "the tables of the pilot")
        tables = [table for of_arm in inputs.metric_tables(arms) for table in of_arm]
        runs = read_runs([[table] for table in tables], asked, arms_are="or one")
        spread = sample_size.spread_of_runs(runs, inputs.name_for_messages(tables), inputs.as_texts(arm))
    else:
        _refuse(of_tables, "is for tables, found without metric")
        paths = inputs.paths_of_arm(pilot)
        if paths is None and pilot is not None:
            raise BadInput("pilot", "", f"found {type(pilot).__name__}", "a path, or metric with a table of runs")
        spread = sample_size.spread_of(paths, inputs.as_texts(arm), None if sd is None else float(sd), sd_runs)
    # One number or several, also from NumPy.
    gains = [] if gain is None else np.atleast_1d(gain).tolist()
    values = sample_size.plan(spread, gains, level, power)
    return Result(sample_size.as_text(spread, values), values, values["needed"])


def _arms(pilot: Any) -> list[Any]:
    """The arms of a pilot: several for a list of paths or tables, else one, such as a list of numbers, or none."""
    if isinstance(pilot, list | tuple) and not (pilot and isinstance(pilot[0], Number)):
        return list(pilot)
    return [] if pilot is None else [pilot]


def _refuse(arguments: Mapping[str, Any], why: str) -> None:
    for name, value in arguments.items():
        if value is not None and value is not False:
            raise BadArgument(name, why, "leave it out")


def gate(
    new: Any,
    reference: Any,
    *,
    metric: str,
    one_sided: bool = False,
    lower: bool = False,
    higher: bool = False,
    session: str | None = None,
    level: float = regression_gate.LEVEL,
) -> Verdict:
    """Whether new runs are further runs of the reference: `passed`.

    Both are a table with a line a run, a path or a DataFrame, or a list of numbers. Of unchanged runs, the share
    `level` fails. If `one_sided`, only worse runs fail: those with a higher metric if `lower` is better.

    >>> import toolnoise as tn
    >>> tn.gate([3.25], [3.1, 3.2, 3.3, 3.2], metric="loss").passed
    True
    """
    if not 0 < level < 1:
        raise BadArgument("level", f"found {level:g}", "a share between 0 and 1, such as 0.01")
    if (lower or higher) and not one_sided:
        raise BadArgument("lower" if lower else "higher", "found no one_sided", "both: without, better runs fail, too")
    require_own_sessions(metric, session)
    asked = inputs.asked_of_tables(metric, session=session, lower=lower, higher=higher)
    tables = inputs.metric_tables([new, reference])
    of_both = [read_runs([table], asked, arms_are="in files") for table in tables]
    files = list(map(inputs.name_for_messages, tables))
    further, known = map(regression_gate.values_of, of_both, files)
    (direction,) = of_both[0].metrics
    if one_sided:
        require_directions([direction])
    worse = None if not one_sided else "higher" if direction.lower else "lower"
    values = regression_gate.gate_runs(known, further, metric, level=level, worse=worse, files=(files[1], files[0]))
    if one_sided:
        values["verdict"] += f"; {direction.better}"
    return Verdict(values["verdict"], values, rows_of(values), passed=values["passes"])


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
    (direction,) = metrics = with_directions((metric,), () if lower else None, () if higher else None)
    require_directions(metrics)
    rule = rules.STRICT if strict else rules.RULE
    if inputs.is_path(table):
        frame = rules.read_loop_table(str(table), metric, by)
    elif hasattr(table, "columns") and len(table):
        frame = rules.loop_table_of_frame(inputs.as_pandas(table))
    else:
        raise BadInput("table", "", f"found {type(table).__name__}", "a path or a DataFrame with a line a run")
    changes, values, column = rules.runs_of_loop(frame, metric, by, max(rule))
    values = -values if direction.lower else values
    loop = rules.replay(zip(changes, values.tolist(), strict=True), rule)
    answer = rules.answer(loop)
    found = rules.as_json(loop, answer)
    read = [f"the column {column} says the change", direction.better]
    text = "\n".join([rules.as_text(loop, answer, found, metric), *read])
    return Result(text, found, found["changes"])
