"""`tn.plan`: how many runs does a claim need, or what can so many runs show?"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from toolnoise.api import given
from toolnoise.api.results import Result
from toolnoise.base.errors import BadInput
from toolnoise.comparison import sample_size
from toolnoise.comparison.tables import arguments
from toolnoise.comparison.tables import pilot as pilots
from toolnoise.stats.power import LEVEL, POWER
from toolnoise.study.cells import Cell

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, repr=False)
class Planned(Result):
    """A plan; it can be drawn into a file, a panel for each kind of claim."""

    figure: Callable[[str], None] = field(default=lambda _: None, compare=False)

    def write_figure(self, path: str) -> None:
        """Write the figure; the suffix is the format."""
        self.figure(path)


def plan(
    *,
    gain: float | Sequence[float] | None = None,
    ratio: float | Sequence[float] | None = None,
    margin: float | Sequence[float] | None = None,
    runs: int | Sequence[int] | None = None,
    sd: float | None = None,
    sd_runs: int | None = None,
    pilot: str | Sequence[str] | None = None,
    metric: str | Sequence[str] | None = None,
    by: str | None = None,
    seed: str | None = None,
    last: bool = False,
    best: bool = False,
    lower: Sequence[str] | None = None,
    higher: Sequence[str] | None = None,
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
    `dataset`, `hardware` and `variant` choose a cell; or with `metric` tables with one number a run, in its own unit.

    >>> import toolnoise as tn
    >>> tn.plan(sd=0.3, gain=0.3)["needed"][0]["runs_per_arm"]
    17
    """
    files = given.paths(pilot) if pilot else None
    cell = dict(zip(Cell._fields, (model, dataset, hardware, variant), strict=True))
    tables: dict[str, Any] = {"by": by, "seed": seed, "last": last, "best": best, "lower": lower, "higher": higher}
    spread: sample_size.Spread | None
    if metric:
        given.refuse({"sd": sd, "sd_runs": sd_runs, **cell}, "found --metric, which reads tables")
        if not files:
            raise BadInput("command line", "--metric", "given without --pilot", "the tables of the pilot")
        asked = arguments.of([metric] if isinstance(metric, str) else metric, **tables)
        spread = pilots.spread(files, asked, [arm] if isinstance(arm, str) else arm)
    else:
        given.refuse({**tables, "arm": arm}, "is for tables, found without --metric")
        spread = sample_size.spread_of(files, cell, sd, sd_runs)
    planned = sample_size.plan(spread, _several(gain), _several(ratio), _several(margin), _several(runs), level, power)
    values = sample_size.as_json(planned)

    def picture(axes: "Axes | None") -> "Axes":
        from toolnoise.comparison import power_curves

        return power_curves.first(planned, axes)

    def figure(path: str) -> None:
        from toolnoise.comparison import power_curves

        power_curves.draw(planned, path)

    return Planned(sample_size.as_text(planned), values, lambda: [*values["needed"], *values["shown"]], picture, figure)


def _several(given: Any) -> Any:
    return [given] if isinstance(given, int | float) else given
