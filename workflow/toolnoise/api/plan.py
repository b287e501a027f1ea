"""`tn.plan`: how many runs does a claim need, or what can so many runs show?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from toolnoise.api import given, tables
from toolnoise.api.results import Result, for_figures
from toolnoise.base.errors import BadInput
from toolnoise.comparison import sample_size
from toolnoise.comparison.tables import arguments
from toolnoise.comparison.tables import pilot as pilots
from toolnoise.stats.power import LEVEL, POWER

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, repr=False)
class Planned(Result):
    """A plan; it can be drawn into a file, a panel for each kind of claim."""

    figure: Callable[[str], None] = field(kw_only=True, compare=False)

    def write_figure(self, path: str) -> None:
        """Write the figure; the suffix is the format."""
        with for_figures():
            self.figure(path)


def plan(
    *,
    gain: float | Sequence[float] | None = None,
    ratio: float | Sequence[float] | None = None,
    margin: float | Sequence[float] | None = None,
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
) -> Planned:
    """The runs per arm that claims need, or what numbers of runs can show; arguments are those of `toolnoise plan`.

    `gain` and `sd` are in percentage points of accuracy. `pilot` is a study's stability.csv, of which `model`,
    `dataset`, `hardware` and `variant` choose a cell; or with `metric` tables with one number a run, in its own unit:
    files, DataFrames or arrays, one for each arm.

    >>> import toolnoise as tn
    >>> tn.plan(sd=0.3, gain=0.3)["needed"][0]["runs_per_arm"]
    17
    """
    cell = dict(zip(arguments.CELL, (model, dataset, hardware, variant), strict=True))
    of_tables = given.of_tables(by=by, seed=seed, session=session, last=last, best=best, lower=lower, higher=higher)
    spread: sample_size.Spread | None
    if metric:
        given.refuse({"sd": sd, "sd_runs": sd_runs, **cell}, "found --metric, which reads tables")
        if not (arms := given.arms(pilot)):
            raise BadInput("command line", "--metric", "given without --pilot", "the tables of the pilot")
        asked = arguments.of([metric] if isinstance(metric, str) else metric, **of_tables)
        with tables.as_files(arms) as files:
            spread = pilots.spread([file for each in files for file in each], asked, given.texts(arm))
        spread = spread._replace(notes=tuple(map(tables.given_as, spread.notes)))
    else:
        given.refuse({**of_tables, "arm": arm}, "is for tables, found without --metric")
        paths = given.paths(pilot)
        if paths is None and given.arms(pilot):
            raise BadInput("pilot", "", f"found {type(pilot).__name__}", "a path, or metric with a table of runs")
        spread = sample_size.spread_of(paths, cell, None if sd is None else float(sd), sd_runs)
    planned = sample_size.plan(spread, _several(gain), _several(ratio), _several(margin), _several(runs), level, power)
    values = sample_size.as_json(planned)
    text, rows, picture = sample_size.as_text(planned), partial(_rows, values), partial(_picture, planned)
    return Planned(text, values, rows, picture, figure=partial(_figure, planned))


def _rows(values: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return [*values["needed"], *values["shown"]]


def _picture(planned: sample_size.SampleSize, axes: "Axes | None") -> "Axes":
    from toolnoise.comparison import figures

    return figures.draw_power(planned, axes)


def _figure(planned: sample_size.SampleSize, path: str) -> None:
    from toolnoise.comparison import figures

    figures.write_power(planned, path)


def _several(given: Any) -> Any:
    """A number or several, also NumPy's, as a list of Python's."""
    return None if given is None else np.atleast_1d(given).tolist()
