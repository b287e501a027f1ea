"""`tn.gate`: whether new runs pass, against those of a reference."""

from typing import Any

from toolnoise.api import given
from toolnoise.api.results import Verdict, rows_of
from toolnoise.base.errors import BadArgument
from toolnoise.comparison import regression_gate
from toolnoise.comparison.metric_names import require_directions
from toolnoise.comparison.metric_runs import require_own_sessions
from toolnoise.comparison.metric_tables import read_runs


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
    asked = given.asked_of_tables(metric, session=session, lower=lower, higher=higher)
    tables = given.metric_tables([new, reference])
    of_both = [read_runs([table], asked, arms_are="in files") for table in tables]
    files = list(map(given.called, tables))
    further, known = map(regression_gate.values_of, of_both, files)
    (direction,) = of_both[0].metrics
    if one_sided:
        require_directions([direction])
    worse = None if not one_sided else "higher" if direction.lower else "lower"
    values = regression_gate.gated(known, further, metric, level=level, worse=worse, files=(files[1], files[0]))
    if one_sided:
        values["verdict"] += f"; {direction.better}"
    return Verdict(values["verdict"], values, rows_of(values), passed=values["passes"])
