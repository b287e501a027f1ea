"""`tn.plan`: how many runs does a claim need, or what can so many runs show?"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from toolnoise.api.results import Result
from toolnoise.comparison import sample_size
from toolnoise.stats.power import LEVEL, POWER
from toolnoise.study.cells import Cell

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plan(
    *,
    gain: float | Sequence[float] | None = None,
    ratio: float | Sequence[float] | None = None,
    margin: float | Sequence[float] | None = None,
    runs: int | Sequence[int] | None = None,
    sd: float | None = None,
    sd_runs: int | None = None,
    pilot: str | None = None,
    level: float = LEVEL,
    power: float = POWER,
    **cell: str,
) -> Result:
    """The runs per arm that claims need, or what numbers of runs can show; arguments are those of `toolnoise plan`.

    `gain` and `sd` are in percentage points of accuracy. `pilot` is a study's stability.csv, of which `model`,
    `dataset`, `hardware` and `variant` choose a cell.

    >>> import toolnoise as tn
    >>> tn.plan(sd=0.3, gain=0.3)["needed"][0]["runs_per_arm"]
    17
    """
    wanted = {name: cell.pop(name, None) for name in Cell._fields}
    if cell:
        raise TypeError(f"plan() got an unexpected keyword argument {next(iter(cell))!r}")
    spread = sample_size.spread_of(pilot, wanted, sd, sd_runs)
    return of_spread(spread, gain, ratio, margin, runs, level, power)


def of_spread(
    spread: Any,
    gain: float | Sequence[float] | None,
    ratio: float | Sequence[float] | None,
    margin: float | Sequence[float] | None,
    runs: int | Sequence[int] | None,
    level: float,
    power: float,
) -> Result:
    """The same for an SD that is known."""
    planned = sample_size.plan(spread, _several(gain), _several(ratio), _several(margin), _several(runs), level, power)
    values = sample_size.as_json(planned)

    def picture(axes: "Axes | None") -> "Axes":
        from toolnoise.comparison import power_curves

        return power_curves.first(planned, axes)

    return Result(sample_size.as_text(planned), values, lambda: [*values["needed"], *values["shown"]], picture)


def _several(given: Any) -> Any:
    return [given] if isinstance(given, int | float) else given
