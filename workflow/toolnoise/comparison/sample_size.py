"""How many seeds? The runs that a gain needs, or the gains that a number of runs can show.

The SD comes from a pilot's metric file or from the user. A plan is for two arms with the same number of runs; its
formulas are in two_arm_power.py. A pilot's SD is itself uncertain, so values are given with their range over the SD's
95 % interval. Everything is in percentage points of accuracy, or in the unit of a metric in a table.
Two arms of a pilot that share seeds also say how many runs sharing seeds saves.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from toolnoise.base import files, metric_files
from toolnoise.base.errors import BadArgument, BadInput
from toolnoise.base.printing import aligned
from toolnoise.comparison import comparison, two_arm_power
from toolnoise.comparison.compared_metrics import ROUNDING, plan_of
from toolnoise.comparison.comparison_text import plain
from toolnoise.comparison.designs import FEWEST
from toolnoise.comparison.metric_names import require_directions
from toolnoise.comparison.metric_runs import Runs, require_own_sessions
from toolnoise.formulas.stability import STABILITY
from toolnoise.stats.estimates import TAIL, Estimate, standard_deviation
from toolnoise.stats.power import MOST_RUNS, runs_needed
from toolnoise.stats.spread import sd_interval

CELL = ("model", "dataset", "hardware", "variant")  # what names a cell in a metric file of a study
# Numbers of runs to report on by default.
USUAL_RUNS = (3, 5, 10, 20, 50, 100)
POINTS = 100  # in a fraction
LEAST_POINTS = 1e-6  # no study could show less


class SharedSeeds(NamedTuple):
    """Two arms of a pilot in which as many `seeds` are in both.

    `sd` is that of the differences in pairs, `variance` what is left of the variance of a difference if arms share
    seeds (1 if it saves nothing), `correlation` 1 minus it.
    """

    seeds: int
    sd: Estimate
    variance: Estimate
    correlation: Estimate


class Spread(NamedTuple):
    """The SD of one arm's runs, in percentage points or in the `unit` of another `quantity`, which may have none.

    A guessed SD has no interval and no runs. `notes` say how a table was read.
    """

    sd: Estimate
    runs: int | None
    source: str
    quantity: str = "accuracy"
    unit: str = "points"
    shared: SharedSeeds | None = None
    notes: tuple[str, ...] = ()
    # Of two arms' common SD, its degrees of freedom and the runs of the smaller arm.
    freedom: float | None = None
    of_an_arm: int | None = None

    def with_unit(self, number: str) -> str:
        """A number with its unit."""
        return f"{number} {self.unit}".strip()


class SampleSize(NamedTuple):
    """The question: `gains` to show or, if there are none, numbers of `runs`."""

    spread: Spread
    gains: tuple[float, ...]
    runs: tuple[int, ...]
    level: float
    power: float

    def power_of(self, gain: float, runs: Any, sd: float | None = None, *, paired: bool = False) -> Any:
        """The power to show a gain with this number of runs per arm; `sd` replaces the SD of the plan.

        Arms may be `paired`: runs are seeds that both share, and the SD is that of their differences.
        """
        of = two_arm_power.paired_power if paired else two_arm_power.difference_power
        known = self.spread.shared.sd if paired else self.spread.sd
        return of(runs, gain, known.value if sd is None else sd, self.level)

    def needed(self, gain: float, sd: float | None = None, *, paired: bool = False) -> int | None:
        """The fewest runs per arm for a gain, or seeds that both arms share."""
        return runs_needed(lambda runs: self.power_of(gain, runs, sd, paired=paired), self.power)


def plan(spread: Spread, gains: Sequence[float], runs: Sequence[int], level: float, wanted: float) -> SampleSize:
    """Check the question."""
    in_points, share = spread.unit == "points", "a share between 0 and 1, such as 0.05"
    least, most = (LEAST_POINTS, POINTS) if in_points else (1e-300, math.inf)
    points = f"points from 0.000001 to {POINTS}, such as 0.3" if in_points else "more than 0"
    for name, values, fits, allowed in (
        ("level", [level], lambda value: 0 < value < 1, share),
        ("power", [wanted], lambda value: 0 < value < 1, share),
        ("power", [wanted], lambda value: value > level, f"more than the level, {level:g}"),
        ("gain", gains, lambda value: least <= value <= most, points),
        ("runs", runs, lambda value: 2 <= value <= MOST_RUNS, f"2 to {MOST_RUNS} runs per arm"),
    ):
        for value in values:
            if not fits(value):
                raise BadArgument(name, f"found {value:g}", allowed)
    return SampleSize(spread, tuple(gains), tuple(runs or (() if gains else USUAL_RUNS)), level, wanted)


def spread_of(
    pilot_files: Sequence[str] | None, wanted: dict[str, str | None], sd: float | None, sd_runs: int | None
) -> Spread:
    """The SD of a pilot, or a given one; options that belong to another source are refused."""
    if pilot_files and sd is not None:
        raise BadArgument("sd", "given with pilot", "one of the two")
    if sd is None and sd_runs is not None:
        raise BadArgument("sd_runs", "given without sd", "it is the number of runs behind that SD")
    if not pilot_files:
        for key, name in wanted.items():
            if name is not None:
                raise BadArgument(key, "given without pilot", "it chooses a cell of that file")
        if sd is None:
            raise BadArgument("sd", "missing: how many runs depends on the SD", "pilot or sd")
        return guessed(sd, sd_runs)
    if len(pilot_files) > 1:
        raise BadArgument("pilot", f"found {len(pilot_files)} files", "one, or tables with metric")
    return pilot(pilot_files[0], wanted)


def guessed(sd: float, runs: int | None = None) -> Spread:
    """An SD in percentage points from the user; its number of runs gives it an interval."""
    if not LEAST_POINTS <= sd <= POINTS:
        raise BadArgument("sd", f"found {sd:g}", "points from 0.000001 to 100, such as 0.25")
    if runs is None:
        return Spread(Estimate(sd, math.nan, math.nan), None, "as given")
    if not 2 <= runs <= MOST_RUNS:
        raise BadArgument("sd_runs", f"found {runs}", f"2 to {MOST_RUNS} runs")
    return Spread(sd_interval(sd, runs), runs, "as given")


def pilot(path: str, wanted: dict[str, str | None]) -> Spread:
    """The SD of accuracy of one cell of a metric file; `wanted` must match exactly one cell."""
    with files.readable(path, "a metric file"):
        if not files.read_bytes(path).startswith(metric_files.VERSION[:-1].encode()):
            raise BadInput(path, "", "found no metrics of a study", "with metric, a table of runs")
    rows = metric_files.read(path, STABILITY)
    rows = rows[(rows["metric"] == "accuracy_sd") & (rows["group"] == "all")]
    lines = list(rows.itertuples(index=False))
    cells = [dict(zip(CELL, line[: len(CELL)], strict=True)) for line in lines]
    if not cells:
        raise BadInput(path, "cells", "none with an accuracy", "the SD of another metric may be given as sd")
    wanted = {key: name for key, name in wanted.items() if name is not None}
    matching = [number for number, cell in enumerate(cells) if wanted.items() <= cell.items()]
    if len(matching) != 1:
        asked = ", ".join(f"{key} {name}" for key, name in wanted.items()) or "no choice given"
        allowed = "choose by model, dataset, hardware and variant one of "
        allowed += ", ".join("/".join(cell.values()) for cell in cells)
        raise BadInput(path, "cells", f"{len(matching) or 'none'} with {asked}", allowed)
    row, name = lines[matching[0]], "/".join(cells[matching[0]].values())
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
    """The SD of the runs of an arm, or of two: those named, or the only ones; `file` is for messages."""
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
    shared, covariance, pairs = _shared_seeds(*of_arms) if len(chosen) == 2 else (None, 0.0, 2)
    # Of both arms together, as far as their SDs are alike; runs that agree say the same of it.
    alike = 2 * covariance**2 / max(pairs - 1, 1)
    freedom = variances.sum() ** 2 / (sum(variances**2 / (np.array(counts) - 1)) + alike)
    # The line on what is better says nothing here.
    notes, source = tuple(runs.described[:-1]), " and ".join(chosen) + (", each" if len(chosen) == 2 else "")
    of = sd_interval(sd, freedom + 1)
    return Spread(of, sum(counts), source, metric.name, metric.unit, shared, notes, freedom, min(counts))


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


def _shared_seeds(a: pd.DataFrame, b: pd.DataFrame) -> tuple[SharedSeeds | None, float, int]:
    """What the seeds say that are in both arms, the covariance of their runs, and how many there are."""
    plan = plan_of(a, b)
    means = comparison.unit_means(plan, a["value"].to_numpy(), b["value"].to_numpy())
    first, second = (of_arm[: plan.shared] for of_arm in means)
    if plan.shared < 2:
        return None, 0.0, plan.shared
    difference, total = (float(standard_deviation(each)) for each in (second - first, first + second))
    if difference <= ROUNDING * max(np.abs(first).max(), np.abs(second).max()):
        return None, 0.0, plan.shared
    remaining = remaining_variance(difference**2, total**2, plan.shared)
    correlation = Estimate(*(1 - part for part in (remaining.value, remaining.high, remaining.low)))
    of_pairs = SharedSeeds(plan.shared, sd_interval(difference, plan.shared), remaining, correlation)
    return of_pairs, float(np.cov(first, second)[0, 1]), plan.shared


def remaining_variance(of_differences: float, of_sums: float, pairs: int) -> Estimate:
    """The variance of a difference in pairs over that of unpaired runs, from those of the pairs' differences and sums.

    It is 2 / (1 + S / D). If both arms have one SD, differences and sums are independent, so S / D has an F interval,
    exact with two pairs as with many; if the SDs differ, it is too wide.
    """
    ratio = of_sums / of_differences
    low, high = ratio / stats.f.ppf([1 - TAIL, TAIL], pairs - 1, pairs - 1)
    return Estimate(*(float(2 / (1 + each)) for each in (ratio, high, low)))


def as_json(question: SampleSize) -> dict[str, Any]:
    """The plan for programs; null: so many runs cannot show it, or it needs an SD or interval that was not given."""
    spread = question.spread
    bounds = dict(zip(("value", "low", "high"), map(_defined, spread.sd), strict=True))
    return {
        "unit": "percentage points" if spread.unit == "points" else spread.quantity,
        "level": question.level,
        "power": question.power,
        "sd": bounds | {"runs": spread.runs, "source": spread.source},
        **({"shared_seeds": plain(spread.shared), "read": list(spread.notes)} if spread.notes else {}),
        "needed": [_needed(question, gain) for gain in question.gains],
        "shown": [_shown(question, runs) for runs in question.runs],
    }


def as_text(question: SampleSize, values: dict[str, Any]) -> str:
    """The plan, for a person."""
    return "\n".join(_lines(question, values))


def _lines(question: SampleSize, values: dict[str, Any]) -> Iterator[str]:
    spread = question.spread
    yield from spread.notes
    interval = f" ({spread.sd.low:.3g} to {spread.sd.high:.3g}, from {spread.runs} runs)" if spread.runs else ""
    sd = spread.with_unit(f"{spread.sd.value:.3g}")
    yield f"SD of {spread.quantity}, {spread.source}: {sd}{interval}"
    if spread.shared:
        yield from _of_seeds(spread.shared)
    tests = f"two-sided tests at level {question.level:.3g}, power {question.power:.3g}"
    yield f"Two arms with equal numbers of runs; {tests}."
    if question.gains:
        sizes = [spread.with_unit(f"{gain:g}") for gain in question.gains]
        counts = {"seeds": "seeds, in both arms", "runs_per_arm": "runs per arm"}
        yield ""
        yield from aligned([*_table("claim", [f"a gain of {size}" for size in sizes], values["needed"], counts)])
    if question.runs:
        of = f"a gain, {spread.unit or spread.quantity}"
        gains = {"gain_of_pairs": f"{of}, seeds shared", "gain": of}
        yield ""
        yield from aligned([*_table("runs per arm", list(map(str, question.runs)), values["shown"], gains)])
    for gain, entry in zip(question.gains, values["needed"], strict=True):
        yield ""
        yield f"Without any change, two arms differ by {spread.with_unit(f'{gain:g}')} or more, in either direction,"
        for chance in entry["by_chance"]:
            runs = "one run" if chance["runs_per_arm"] == 1 else f"{chance['runs_per_arm']} runs"
            yield f"  in {_percent(chance['share'])} % of cases with {runs} each"


def _of_seeds(shared: SharedSeeds) -> Iterator[str]:
    """What sharing seeds saves, as far as the pilot says it."""
    of = f"{shared.correlation.value:.2f} ({shared.correlation.low:.2f} to {shared.correlation.high:.2f})"
    left = "{:.3g} ({:.3g} to {:.3g})".format(*shared.variance)
    yield f"Runs of two arms with one seed correlate by {of}, from {shared.seeds} seeds."
    may = "; it may save nothing" if shared.variance.low <= 1 <= shared.variance.high else ""
    yield f"With shared seeds, the variance of a difference is {left} times that of other seeds{may}."


def _table(
    asked: str, names: Sequence[str], entries: Sequence[dict[str, Any]], columns: dict[str, str]
) -> Iterator[tuple[str, ...]]:
    """Those of the columns that there are, with what they have over the SD's interval."""
    columns = {key: heading for key, heading in columns.items() if any(key in entry for entry in entries)}
    yield (asked, *columns.values())
    for name, entry in zip(names, entries, strict=True):
        ends = [[entry.get(f"{key}{end}", math.nan) for end in ("", "_low", "_high")] for key in columns]
        yield (name, *(_ranged(*of, counted="runs_per_arm" in columns) for of in ends))


def _ranged(value: float | None, low: float | None, high: float | None, *, counted: bool) -> str:
    """A number of runs, or what these show, over the SD's interval; a number of runs that is None is too large."""
    none = f"over {MOST_RUNS:,}" if counted else "none"
    value, low, high = (none if each is None else _short(each) for each in (value, low, high))
    return f"{value} ({low} to {high})" if low and (counted or none not in (low, high)) else value


def _short(number: float) -> str:
    """A number of runs, or three digits; nothing for NaN."""
    return f"{number:,}" if isinstance(number, int) else "" if math.isnan(number) else f"{number:.3g}"


def _percent(share: float) -> str:
    if share < 1e-4:
        return "less than 0.01"
    return f"{100 * share:.0f}" if share >= 0.1 else f"{100 * share:.2g}"


def _needed(question: SampleSize, gain: float) -> dict[str, Any]:
    entry = {"claim": "gain", "size": gain, "runs_per_arm": question.needed(gain)}
    spread = question.spread
    if spread.runs:
        _, low, high = spread.sd
        entry |= {"runs_per_arm_low": question.needed(gain, low), "runs_per_arm_high": question.needed(gain, high)}
    if spread.shared:
        ends = zip(("seeds", "seeds_low", "seeds_high"), spread.shared.sd, strict=True)
        entry |= {name: question.needed(gain, sd, paired=True) for name, sd in ends}
    freedom = (spread.runs - 1 if spread.runs else None) if spread.freedom is None else spread.freedom
    shares = {
        runs: two_arm_power.chance_difference(gain, spread.sd.value, runs, freedom)
        for runs in (1, spread.of_an_arm or spread.runs or 1)
    }
    return entry | {"by_chance": [{"runs_per_arm": runs, "share": share} for runs, share in shares.items()]}


def _shown(question: SampleSize, runs: int) -> dict[str, Any]:
    entry, spread = {"runs_per_arm": runs}, question.spread
    in_sds = two_arm_power.detectable_difference(runs, question.level, question.power) if runs >= FEWEST else math.nan
    for end, sd in zip(("", "_low", "_high"), spread.sd, strict=True):
        entry[f"gain{end}"] = _defined(in_sds * sd)
    if spread.shared:
        in_pairs = two_arm_power.detectable_in_pairs(runs, question.level, question.power)
        for end, sd in zip(("", "_low", "_high"), spread.shared.sd, strict=True):
            entry[f"gain_of_pairs{end}"] = _defined(in_pairs * sd)
    return entry


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value
