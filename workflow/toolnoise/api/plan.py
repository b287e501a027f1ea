"""`tn.plan`: how many runs does a claim need, or what can so many runs show?"""

from collections.abc import Mapping, Sequence
from functools import partial
from numbers import Number
from typing import Any

import numpy as np

from toolnoise.api import given
from toolnoise.api.results import Result
from toolnoise.base.errors import BadArgument, BadInput
from toolnoise.comparison import figures, sample_size
from toolnoise.stats.power import LEVEL, POWER


def plan(
    *,
    gain: float | Sequence[float] | None = None,
    runs: int | Sequence[int] | None = None,
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
    model: str | None = None,
    dataset: str | None = None,
    hardware: str | None = None,
    variant: str | None = None,
    level: float = LEVEL,
    power: float = POWER,
) -> Result:
    """The runs per arm that a gain needs, or the gains that numbers of runs can show.

    `gain` and `sd` are in percentage points of accuracy. `pilot` is a study's stability.csv, of which `model`,
    `dataset`, `hardware` and `variant` choose a cell; or with `metric` tables with one number a run, in its own unit:
    files, DataFrames or arrays, one for each arm.

    >>> import toolnoise as tn
    >>> tn.plan(sd=0.3, gain=0.3)["needed"][0]["runs_per_arm"]
    17
    """
    cell = dict(zip(sample_size.CELL, (model, dataset, hardware, variant), strict=True))
    of_tables: dict[str, Any] = {"by": by, "seed": seed, "session": session, "last": last, "best": best}
    of_tables |= {"lower": lower, "higher": higher}
    if metric:
        _refuse({"sd": sd, "sd_runs": sd_runs, **cell}, "found metric, which reads tables")
        spread = _spread_of_tables(_arms(pilot), given.asked_of_tables(metric, **of_tables), given.texts(arm))
    else:
        _refuse({**of_tables, "arm": arm}, "is for tables, found without metric")
        paths = given.paths(pilot)
        if paths is None and pilot is not None:
            raise BadInput("pilot", "", f"found {type(pilot).__name__}", "a path, or metric with a table of runs")
        spread = sample_size.spread_of(paths, cell, None if sd is None else float(sd), sd_runs)
    planned = sample_size.plan(spread, _several(gain), _several(runs), level, power)
    values = sample_size.as_json(planned)
    rows, picture = [*values["needed"], *values["shown"]], partial(figures.draw_power, planned)
    return Result(sample_size.as_text(planned, values), values, rows, picture)


def _spread_of_tables(arms: Sequence[Any], asked: Any, chosen: Sequence[str]) -> sample_size.Spread:
    from toolnoise.comparison.metric_tables import read_runs

    if not arms:
        raise BadArgument("metric", "given without pilot", "the tables of the pilot")
    tables = [table for of_arm in given.metric_tables(arms) for table in of_arm]
    runs = read_runs([[table] for table in tables], asked, arms_are="or one")
    return sample_size.spread_of_runs(runs, given.called(tables), chosen)


def _arms(pilot: Any) -> list[Any]:
    """What may be several arms: a list of paths or of tables, or else one, such as a list of numbers; or none."""
    if isinstance(pilot, list | tuple) and not (pilot and isinstance(pilot[0], Number)):
        return list(pilot)
    return [] if pilot is None else [pilot]


def _refuse(arguments: Mapping[str, Any], why: str) -> None:
    for name, value in arguments.items():
        if value is not None and value is not False:
            raise BadArgument(name, why, "leave it out")


def _several(given: Any) -> list[Any]:
    """A number or several, also NumPy's, as a list of Python's."""
    return [] if given is None else np.atleast_1d(given).tolist()
