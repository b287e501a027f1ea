"""Whether new runs pass: against the runs of a reference, or against a target, by one of three rules.

Runs come from a table with a line for each (`runs_of_metric`).

* Consistent with the reference: the mean of m new runs lies in the interval that has it in 99 % of cases if they are
  further runs of the reference. Exact for normal runs: mean +- t * SD * sqrt(1 / n + 1 / m), with t of n - 1 degrees
  of freedom (Hahn and Meeker 1991, chapter 4).
* `mlperf`: MLPerf Training's reference convergence points. New runs may not need significantly fewer epochs than the
  reference (mlcommons/training_policies, training_rules.adoc, "Reference Convergence Points", at d73e20f1; computed as
  by mlcommons/logging, rcp_checker.py, at 7bbf7926).
* `record`: the rule of the speedrun modded-nanogpt: the mean loss is below the target at p < 0.01, by Student's
  one-sided test of one sample (KellerJordan/modded-nanogpt, README.md, "Rules", at f411b3d3).
"""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from toolnoise.base.errors import BadInput
from toolnoise.base.printing import decimals_by_uncertainty, rounded_text
from toolnoise.comparison.metric_runs import LEFT, Runs
from toolnoise.stats.estimates import standard_deviation

MLPERF_LEVEL, MLPERF_FEWEST, RECORD_LEVEL = 0.05, 3, 0.01
LEVEL = 0.01  # of unchanged runs, this share fails


class RunsOfMetric(NamedTuple):
    """The values of a metric, in the order of the file."""

    file: str
    values: np.ndarray


class Gated(NamedTuple):
    """A verdict in one line, and its numbers by name."""

    passes: bool
    line: str
    numbers: dict[str, Any]


def runs_of_metric(runs: Runs, file: str) -> RunsOfMetric:
    """The runs in a table, each with a finite value; where one lacks it, all are refused: it may have failed."""
    (metric,) = runs.metrics
    if left := [note for note in runs.notes if note.startswith(LEFT)]:
        raise BadInput(file, f"column {metric.name}", f"found runs to leave out ({left[0]})", "a number for each run")
    return RunsOfMetric(file, runs.numbers[metric.name].to_numpy())


def consistent(
    reference: RunsOfMetric, new: RunsOfMetric, metric: str, *, level: float = LEVEL, worse: str | None = None
) -> Gated:
    """Whether new runs are further runs of the reference; with `worse`, "higher" or "lower", only that side fails."""
    runs, further = len(reference.values), len(new.values)
    if runs < 2:
        raise BadInput(reference.file, "", f"found {runs} run", "two or more, for an SD")
    mean, sd = float(reference.values.mean()), float(standard_deviation(reference.values))
    if sd and np.array_equal(reference.values, new.values):
        raise BadInput(new.file, "", f"found the {runs} runs of {reference.file}", "further runs")
    # The interval of one side has all of the level there.
    tail = level if worse else level / 2
    reach = float(stats.t.isf(tail, runs - 1)) * sd * math.sqrt(1 / runs + 1 / further)
    low = None if worse == "higher" else mean - reach
    high = None if worse == "lower" else mean + reach
    value = float(new.values.mean())
    passes = (low is None or value >= low) and (high is None or value <= high)
    places = _places(reach, value, low, high)
    least, most = (None if end is None else rounded_text(end, places) for end in (low, high))
    allowed = f"at most {most}" if least is None else f"at least {least}" if most is None else f"{least} to {most}"
    of = "one further run" if further == 1 else f"the mean of {further} further runs"
    line = (
        f"{metric} {_value(value, further, places)}; allowed {allowed}, which holds for {of} of the reference in "
        f"{100 * (1 - level):g} % of cases (mean {rounded_text(mean, places)}, SD {sd:.3g}, {runs} runs)"
    )
    numbers = {"value": value, "new_runs": further, "low": low, "high": high, "level": level}
    return _gated(passes, line, numbers | {"reference_mean": mean, "reference_sd": sd, "reference_runs": runs})


def mlperf(reference: RunsOfMetric, new: RunsOfMetric, metric: str) -> Gated:
    """MLPerf Training's rule for epochs to converge: no significant speedup against at least twice as many runs.

    Means leave out the fastest and the slowest run. As in the checker, the SD is the population SD of all runs of the
    reference and stands for both, and the numbers of runs are those that enter the means.
    """
    runs, wanted = len(new.values), 2 * len(new.values)
    if runs < MLPERF_FEWEST:
        raise BadInput(new.file, "", f"found {runs} runs", f"{MLPERF_FEWEST} or more: two are left out")
    if len(reference.values) < wanted:
        raise BadInput(
            reference.file, "", f"found {len(reference.values)} runs", f"{wanted}, twice those of {new.file}"
        )
    mean, value, sd = olympic_mean(reference.values), olympic_mean(new.values), float(np.std(reference.values))
    inside, compared = len(reference.values) - 2, runs - 2
    critical = float(stats.t.isf(MLPERF_LEVEL, inside + compared - 2))
    least = mean - critical * sd * math.sqrt(1 / inside + 1 / compared) if sd else mean
    places = _places(mean - least, value, least)
    known = f"mean {rounded_text(mean, places)}, SD {sd:.3g}, {len(reference.values)} runs"
    line = (
        f"{metric} {rounded_text(value, places)} (mean of {runs} runs without the fastest and slowest); MLPerf's rule "
        f"allows at least {rounded_text(least, places)} (reference: {known}; one-sided t test, .05)"
    )
    numbers = {"value": value, "new_runs": runs, "low": least, "high": None, "level": MLPERF_LEVEL}
    numbers |= {"reference_mean": mean, "reference_sd": sd, "reference_runs": len(reference.values)}
    return _gated(value >= least, line, numbers)


def record(new: RunsOfMetric, metric: str, target: float) -> Gated:
    """The speedrun's rule: the mean loss is below the target at p < 0.01."""
    runs = len(new.values)
    sd = float(standard_deviation(new.values)) if runs > 1 else math.nan
    if not sd > 0:
        found = f"found {runs} run" if runs < 2 else f"found {runs} equal runs"
        raise BadInput(new.file, f"column {metric}", found, "two or more that differ, for a t test")
    value = float(new.values.mean())
    pvalue = float(stats.t.cdf((value - target) / (sd / math.sqrt(runs)), runs - 1))
    shown = _value(value, runs, decimals_by_uncertainty(sd / math.sqrt(runs)))
    line = (
        f"{metric} {shown}, SD {sd:.3g}; p = {pvalue:.2g} against a mean of {target:g} or more "
        f"(one-sided t test; the record's rule asks for p < {RECORD_LEVEL:g})"
    )
    numbers = {"value": value, "new_runs": runs, "sd": sd, "target": target, "pvalue": pvalue, "level": RECORD_LEVEL}
    return _gated(pvalue < RECORD_LEVEL, line, numbers)


def olympic_mean(values: np.ndarray) -> float:
    """The mean without the smallest and the largest."""
    return float(np.sort(values)[1:-1].mean())


def _places(reach: float, value: float, *bounds: float | None) -> int | None:
    """The decimals of a value and its bounds, by how far they reach; more where they would read alike and are not."""
    places = decimals_by_uncertainty(reach)
    others = [bound for bound in bounds if bound not in (None, value)]
    while places is not None and rounded_text(value, places) in [rounded_text(other, places) for other in others]:
        places += 1
    return places


def _value(value: float, runs: int, places: int | None) -> str:
    return rounded_text(value, places) + (f" (mean of {runs} runs)" if runs > 1 else "")


def _gated(passes: bool, line: str, numbers: dict[str, Any]) -> Gated:
    return Gated(passes, f"{'pass' if passes else 'FAIL'}: {line}", {"passes": passes} | numbers)
