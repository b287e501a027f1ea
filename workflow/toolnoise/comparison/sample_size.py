"""How many seeds? The runs that a gain needs, for two arms of equal size.

The SD comes from a pilot's metric file or from the user. A pilot's SD is itself uncertain, so values are given with
their range over the SD's 95 % interval. Everything is in percentage points of accuracy, or in the unit of a metric in a
table. Power is exact for normal runs: that of a noncentral t, averaged over the degrees of freedom of Welch's test.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from toolnoise.base import files, metric_files
from toolnoise.base.errors import BadArgument, BadInput
from toolnoise.base.printing import align_columns
from toolnoise.comparison.compared_metrics import ROUNDING, plan_of
from toolnoise.comparison.designs import FEWEST
from toolnoise.comparison.metric_runs import Runs, require_own_sessions
from toolnoise.comparison.naming import require_directions
from toolnoise.formulas.stability import STABILITY
from toolnoise.stats.estimates import Estimate, sd_interval, standard_deviation
from toolnoise.stats.significance import LEVEL, MOST_RUNS, runs_needed

# Limits, in SDs, of the differences for which power is computed: nothing changes beyond them, and SciPy is wrong at 0.
FEWEST_SDS, MOST_SDS = 1e-9, 1000
# Quantiles of the ratio of two variances; the ratio and its inverse have the same power.
RATIOS = (np.arange(50) + 0.5) / 100

Counts = int | np.ndarray


def difference_power(runs: Counts, difference: float, sd: float, level: float = LEVEL) -> float | np.ndarray:
    """Power of Welch's two-sided test of two means with equal SDs; 0 with fewer than `FEWEST` runs per arm.

    With equal numbers of runs the statistic is Student's. Its critical value varies with the ratio of the variances,
    which is independent of the statistic: the power is the mean over that ratio.
    """
    runs = np.asarray(runs, float)[..., np.newaxis]
    ratio = stats.f.ppf(RATIOS, runs - 1, runs - 1)
    freedom = (runs - 1) * (1 + ratio) ** 2 / (1 + ratio**2)
    critical = stats.f.isf(level, 1, freedom)
    # The square of a noncentral t is a noncentral F, which combines both tails in one.
    shift = np.clip(difference / sd if sd else np.inf, FEWEST_SDS, MOST_SDS) ** 2 * runs / 2
    return np.where(runs[..., 0] < FEWEST, 0.0, stats.ncf.sf(critical, 1, 2 * (runs - 1), shift).mean(axis=-1))[()]


def chance_difference(difference: float, sd: float, runs: int, freedom: float | None = None) -> float:
    """The probability that two means of `runs` runs of one method differ by this much or more, in either direction.

    The distribution is Student's t if the SD has these degrees of freedom, and normal if the SD is taken as known.
    """
    distance = difference / (sd * np.sqrt(2 / runs))
    return float(2 * (stats.norm.sf(distance) if freedom is None else stats.t.sf(distance, freedom)))


CELL = 4  # columns of a study's metric file that name a cell: model, data set, hardware, variant
POINTS = 100  # percentage points in a fraction of 1
LEAST_POINTS = 1e-6  # no study could show a smaller gain


class Spread(NamedTuple):
    """The SD of one arm's runs, in percentage points or in the `unit` of another `quantity`, which may have none.

    An SD given without its number of runs has no interval. `notes` say how a table was read.
    """

    sd: Estimate
    runs: int | None
    source: str
    quantity: str = "accuracy"
    unit: str = "points"
    notes: tuple[str, ...] = ()
    # The degrees of freedom of two arms' common SD, and the runs of the smaller arm.
    freedom: float | None = None
    of_an_arm: int | None = None

    def with_unit(self, number: str) -> str:
        """A number with its unit."""
        return f"{number} {self.unit}".strip()


def plan(spread: Spread, gains: Sequence[float], level: float, wanted: float) -> dict[str, Any]:
    """The runs that gains need, as plain values; None if no number is enough, or for unknown ends of the interval."""
    in_points, share = spread.unit == "points", "a share between 0 and 1, such as 0.05"
    least, most = (LEAST_POINTS, POINTS) if in_points else (1e-300, math.inf)
    points = f"points from 0.000001 to {POINTS}, such as 0.3" if in_points else "more than 0"
    for name, values, fits, allowed in (
        ("level", [level], lambda value: 0 < value < 1, share),
        ("power", [wanted], lambda value: 0 < value < 1, share),
        ("power", [wanted], lambda value: value > level, f"more than the level, {level:g}"),
        ("gain", gains, lambda value: least <= value <= most, points),
    ):
        for value in values:
            if not fits(value):
                raise BadArgument(name, f"found {value:g}", allowed)
    if not gains:
        raise BadArgument("gain", "missing", points)
    bounds = {name: None if math.isnan(end) else end for name, end in spread.sd._asdict().items()}
    return {
        "unit": "percentage points" if in_points else spread.quantity,
        "level": level,
        "power": wanted,
        "sd": bounds | {"runs": spread.runs, "source": spread.source},
        **({"read": list(spread.notes)} if spread.notes else {}),
        "needed": [_needed(spread, gain, level, wanted) for gain in gains],
    }


def spread_of(pilot_files: Sequence[str] | None, arm: Sequence[str], sd: float | None, sd_runs: int | None) -> Spread:
    """The SD of a pilot, or a given one; options that belong to another source are refused."""
    if pilot_files and sd is not None:
        raise BadArgument("sd", "given with pilot", "one of the two")
    if sd is None and sd_runs is not None:
        raise BadArgument("sd_runs", "given without sd", "it is the number of runs behind that SD")
    if not pilot_files:
        if arm:
            raise BadArgument("arm", "given without pilot", "it chooses a cell of that file")
        if sd is None:
            raise BadArgument("sd", "missing: how many runs depends on the SD", "pilot or sd")
        if not LEAST_POINTS <= sd <= POINTS:
            raise BadArgument("sd", f"found {sd:g}", "points from 0.000001 to 100, such as 0.25")
        if sd_runs is not None and not 2 <= sd_runs <= MOST_RUNS:
            raise BadArgument("sd_runs", f"found {sd_runs}", f"2 to {MOST_RUNS} runs")
        return Spread(Estimate(sd) if sd_runs is None else sd_interval(sd, sd_runs), sd_runs, "as given")
    if len(pilot_files) > 1:
        raise BadArgument("pilot", f"found {len(pilot_files)} files", "one, or tables with metric")
    return spread_of_pilot(pilot_files[0], arm)


def spread_of_pilot(path: str, arm: Sequence[str]) -> Spread:
    """The SD of accuracy of one cell of a metric file: the only one whose name has the words of `arm`."""
    with files.readable(path, "a metric file"):
        if not files.read_bytes(path).startswith(metric_files.VERSION[:-1].encode()):
            raise BadInput(path, "", "found no metrics of a study", "with metric, a table of runs")
    rows = metric_files.read_metrics(path, STABILITY)
    rows = rows[(rows["metric"] == "accuracy_sd") & (rows["group"] == "all")]
    lines = list(rows.itertuples(index=False))
    cells = ["/".join(line[:CELL]) for line in lines]
    if not cells:
        raise BadInput(path, "cells", "none with an accuracy", "the SD of another metric may be given as sd")
    words = {word for each in arm for word in each.split("/")}
    matching = [number for number, cell in enumerate(cells) if words <= {*cell.split("/")}]
    if len(matching) != 1:
        what = f"{len(matching) or 'none'} with {' '.join(arm) or 'no choice given'}"
        raise BadInput(path, "cells", what, f"choose by arm one of {', '.join(cells)}")
    row, name = lines[matching[0]], cells[matching[0]]
    if row.n_runs < 2:
        raise BadInput(path, name, f"{row.n_runs} runs", "an SD needs 2 or more")
    if row.value == 0:
        raise BadInput(path, name, "its runs are equal: their SD is 0", "a cell with noise")
    sd = Estimate(*(POINTS * part for part in (row.value, row.ci_low, row.ci_high)))
    # An interval may be undefined, or begin at 0.
    if not LEAST_POINTS <= sd.value <= POINTS or any(end < 0 or math.isinf(end) for end in sd):
        what = f"found an SD of {sd.value:.3g} ({sd.low:.3g} to {sd.high:.3g}) points"
        raise BadInput(path, name, what, "from 0.000001 to 100")
    return Spread(sd, int(row.n_runs), name)


def spread_of_runs(runs: Runs, file: str, arms: Sequence[str] | None = None) -> Spread:
    """The SD of the runs of one arm, or pooled over two: `arms`, or all arms if None; `file` is for messages."""
    metric, *more = runs.metrics
    if more:
        named = ", ".join(each.name for each in runs.metrics)
        raise BadArgument("metric", f"found {named}", "one metric to plan for")
    require_directions([metric])  # a gain is better
    require_own_sessions(metric.name, runs.session)
    chosen = _chosen_arms(runs, arms)
    of_arms = [runs.of(arm, metric.name) for arm in chosen]
    values = [of["value"].to_numpy() for of in of_arms]
    for arm, of in zip(chosen, values, strict=True):
        if len(of) < 2:
            raise BadInput(file, arm, f"found {len(of)} run", "an SD needs 2 or more")
    variances, counts = np.array([standard_deviation(of) ** 2 for of in values]), list(map(len, values))
    sd = float(np.sqrt(variances.mean()))
    if not np.isfinite(sd) or sd <= ROUNDING * max(np.abs(of).max() for of in values):
        raise BadInput(file, " and ".join(chosen), "its runs are equal: their SD is 0", "runs with noise")
    # The SD is pooled over both arms, which assumes equal SDs; correlated pairs add fewer degrees of freedom.
    alike = _alike(*of_arms) if len(chosen) == 2 else 0.0
    freedom = variances.sum() ** 2 / (sum(variances**2 / (np.array(counts) - 1)) + alike)
    # The note on the direction does not matter here.
    notes, source = tuple(runs.described[:-1]), " and ".join(chosen) + (", each" if len(chosen) == 2 else "")
    of = sd_interval(sd, freedom + 1)
    return Spread(of, sum(counts), source, metric.name, metric.unit, notes, freedom, min(counts))


def _chosen_arms(runs: Runs, arms: Sequence[str] | None) -> list[str]:
    """The arms that the plan is for."""
    for arm in arms or ():
        if arm not in runs.arms:
            raise BadArgument("arm", f"found {arm}", f"of the arms: {', '.join(runs.arms)}")
    chosen = list(dict.fromkeys(arms or runs.arms))
    if not 1 <= len(chosen) <= 2:
        what = f"found {len(chosen)} arms" if chosen else "found no run with the metric"
        raise BadArgument("arm", what, f"one or two of {', '.join(runs.arms) or 'some'}")
    return chosen


def _alike(a: pd.DataFrame, b: pd.DataFrame) -> float:
    """The term of seeds in both arms in the denominator of the degrees of freedom: 2 cov^2 / (pairs - 1)."""
    plan = plan_of(a, b)
    means = plan.means(a["value"].to_numpy(), b["value"].to_numpy())
    first, second = (of_arm[: plan.shared] for of_arm in means)
    # Pairs with equal differences add nothing.
    least = ROUNDING * max(np.abs(first).max(initial=0), np.abs(second).max(initial=0))
    if plan.shared < 2 or standard_deviation(second - first) <= least:
        return 0.0
    return 2 * float(np.cov(first, second)[0, 1]) ** 2 / (plan.shared - 1)


def as_text(spread: Spread, values: dict[str, Any]) -> str:
    """The plan as printed text."""
    interval = f" ({spread.sd.low:.3g} to {spread.sd.high:.3g}, from {spread.runs} runs)" if spread.runs else ""
    sd = spread.with_unit(f"{spread.sd.value:.3g}")
    lines = [*spread.notes, f"SD of {spread.quantity}, {spread.source}: {sd}{interval}"]
    tests = f"two-sided tests at level {values['level']:.3g}, power {values['power']:.3g}"
    lines += [f"Two arms with equal numbers of runs; {tests}.", ""]
    sizes = [spread.with_unit(f"{entry['size']:g}") for entry in values["needed"]]
    rows = [(f"a gain of {size}", _ranged(entry)) for size, entry in zip(sizes, values["needed"], strict=True)]
    lines += align_columns([("claim", "runs per arm"), *rows])
    for size, entry in zip(sizes, values["needed"], strict=True):
        lines += ["", f"Without any change, two arms differ by {size} or more, in either direction,"]
        for chance in entry["by_chance"]:
            runs = "one run" if chance["runs_per_arm"] == 1 else f"{chance['runs_per_arm']} runs"
            lines.append(f"  in {_percent(chance['share'])} % of cases with {runs} each")
    return "\n".join(lines)


def _ranged(entry: dict[str, Any]) -> str:
    """A number of runs, over the SD's interval if there is one."""
    value, *ends = (
        f"over {MOST_RUNS:,}" if entry[name] is None else f"{entry[name]:,}"
        for name in ("runs_per_arm", "runs_per_arm_low", "runs_per_arm_high")
        if name in entry
    )
    return f"{value} ({' to '.join(ends)})" if ends else value


def _percent(share: float) -> str:
    if share < 1e-4:
        return "less than 0.01"
    return f"{100 * share:.0f}" if share >= 0.1 else f"{100 * share:.2g}"


def _needed(spread: Spread, gain: float, level: float, wanted: float) -> dict[str, Any]:
    """The fewest runs per arm for a gain: for the SD, and for both ends of its interval if it has one."""
    entry: dict[str, Any] = {"claim": "gain", "size": gain}
    for end, sd in zip(("", "_low", "_high"), spread.sd if spread.runs else spread.sd[:1], strict=False):
        entry[f"runs_per_arm{end}"] = runs_needed(
            partial(difference_power, difference=gain, sd=sd, level=level), wanted
        )
    freedom = (spread.runs - 1 if spread.runs else None) if spread.freedom is None else spread.freedom
    entry["by_chance"] = [
        {"runs_per_arm": runs, "share": chance_difference(gain, spread.sd.value, runs, freedom)}
        for runs in dict.fromkeys((1, spread.of_an_arm or spread.runs or 1))
    ]
    return entry
