"""`tn.gate`: whether new runs pass, against those of a reference or against a target."""

import math
from functools import partial
from typing import Any, Literal

from toolnoise.api import given
from toolnoise.api.results import Verdict, rows_of
from toolnoise.base.errors import BadArgument
from toolnoise.comparison import regression_gate
from toolnoise.comparison.metric_names import require_directions
from toolnoise.comparison.metric_runs import require_own_sessions
from toolnoise.comparison.metric_tables import read_runs


def gate(
    new: Any,
    reference: Any = None,
    *,
    metric: str,
    one_sided: bool = False,
    lower: bool = False,
    higher: bool = False,
    session: str | None = None,
    level: float | None = None,
    preset: Literal["mlperf", "record"] | None = None,
    target: float | None = None,
) -> Verdict:
    """Whether new runs are further runs of the reference: `passed`; or whether they pass by the rule of a `preset`.

    Both are a table with a line a run, a path or a DataFrame, or a list of numbers. Arguments are those of
    `toolnoise gate`.

    >>> import toolnoise as tn
    >>> tn.gate([3.25], [3.1, 3.2, 3.3, 3.2], metric="loss").passed
    True
    """
    _require_fitting(reference, preset, target, level)
    for name, value in (("level", level), ("lower", lower), ("higher", higher), ("one_sided", one_sided)):
        if preset and value:
            raise BadArgument(name, f"found preset {preset}, too", "one of them")
    if (lower or higher) and not one_sided:
        raise BadArgument("lower" if lower else "higher", "found no one_sided", "both: without, better runs fail, too")
    require_own_sessions(metric, session)
    ways: dict[str, Any] = {"lower": lower, "higher": higher, "by": None, "seed": None, "last": False, "best": False}
    asked = given.asked_of_tables(metric, session=session, **ways)
    named, tables = given.metric_tables([new] if reference is None else [new, reference])
    arms = [read_runs([paths], asked, arms_are="in files", tables=tables) for paths in named]
    further, *known = (regression_gate.runs_of_metric(*each) for each in zip(arms, map(", ".join, named), strict=True))
    (direction,) = arms[0].metrics
    if one_sided:
        require_directions([direction])
    if preset == "record":
        gated = regression_gate.record(further, metric, target or 0.0)
    elif preset == "mlperf":
        gated = regression_gate.mlperf(known[0], further, metric)
    else:
        worse = None if not one_sided else "higher" if direction.lower else "lower"
        level = regression_gate.LEVEL if level is None else level
        gated = regression_gate.consistent(known[0], further, metric, level=level, worse=worse)
    line = f"{gated.line}; {direction.better}" if one_sided else gated.line
    values = gated.numbers | {"verdict": line}
    return Verdict(line, values, partial(rows_of, values), passed=gated.passes)


def _require_fitting(reference: Any, preset: str | None, target: float | None, level: float | None) -> None:
    """Refuse what the rule does not have, and its own that is not given."""
    if preset not in (None, "mlperf", "record"):
        raise BadArgument("preset", f"found {preset}", "mlperf or record")
    if (reference is None) != (preset == "record"):
        what, allowed = ("found nothing", "a CSV") if reference is None else ("found one", "none with preset record")
        raise BadArgument("reference", what, allowed)
    if (target is None) == (preset == "record"):
        allowed = "a loss, such as 3.28" if preset == "record" else "only with preset record"
        raise BadArgument("target", "found nothing" if target is None else "found one", allowed)
    if target is not None and not math.isfinite(target):
        raise BadArgument("target", f"found {target}", "a number")
    if level is not None and not 0 < level < 1:
        raise BadArgument("level", f"found {level:g}", "a share between 0 and 1, such as 0.01")
