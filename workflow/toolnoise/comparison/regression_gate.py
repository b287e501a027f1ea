"""Whether new runs pass: whether their mean is where the mean of further runs of the reference would be.

They pass if the mean of m new runs is in an interval that contains the mean of m further runs of the reference in 99 %
of cases. It is exact for normal runs: mean +- t * SD * sqrt(1 / n + 1 / m), where t has n - 1 degrees of freedom (Hahn
and Meeker 1991, chapter 4).
"""

import math
from typing import Any

import numpy as np
from scipy import stats

from toolnoise.base.errors import BadInput
from toolnoise.base.printing import decimals_by_uncertainty, rounded_text
from toolnoise.comparison.metric_runs import LEFT, Runs
from toolnoise.stats.estimates import standard_deviation

LEVEL = 0.01  # the share of cases in which unchanged runs fail


def values_of(runs: Runs, file: str) -> np.ndarray:
    """The values of the runs in a table, which is refused if a run has no finite value: it may have failed."""
    (metric,) = runs.metrics
    if left := [note for note in runs.notes if note.startswith(LEFT)]:
        raise BadInput(file, f"column {metric.name}", f"found runs to leave out ({left[0]})", "a number for each run")
    return runs.numbers[metric.name].to_numpy()


def gate_runs(
    reference: np.ndarray,
    new: np.ndarray,
    metric: str,
    *,
    level: float = LEVEL,
    worse: str | None = None,
    files: tuple[str, str] = ("reference", "new"),
) -> dict[str, Any]:
    """Test whether new runs are further runs of the reference: `passes`, the numbers, and a line (`verdict`).

    If `worse` is "higher" or "lower", only values on that side fail. `files` name both tables in messages.
    """
    runs, further = len(reference), len(new)
    if runs < 2:
        raise BadInput(files[0], "", f"found {runs} run", "two or more, for an SD")
    mean, sd, value = float(reference.mean()), float(standard_deviation(reference)), float(new.mean())
    if sd and np.array_equal(reference, new):
        raise BadInput(files[1], "", f"found the {runs} runs of {files[0]}", "further runs")
    # A one-sided interval has the whole level on its side.
    tail = level if worse else level / 2
    reach = float(stats.t.isf(tail, runs - 1)) * sd * math.sqrt(1 / runs + 1 / further)
    low = None if worse == "higher" else mean - reach
    high = None if worse == "lower" else mean + reach
    passes = (low is None or value >= low) and (high is None or value <= high)
    places = _places(reach, value, low, high)
    least, most = (None if end is None else rounded_text(end, places) for end in (low, high))
    allowed = f"at most {most}" if least is None else f"at least {least}" if most is None else f"{least} to {most}"
    of, mean_of = "one further run", ""
    if further > 1:
        of, mean_of = f"the mean of {further} further runs", f" (mean of {further} runs)"
    verdict = (
        f"{'pass' if passes else 'FAIL'}: {metric} {rounded_text(value, places)}{mean_of}; allowed {allowed}, which "
        f"holds for {of} of the reference in {100 * (1 - level):g} % of cases (mean {rounded_text(mean, places)}, "
        f"SD {sd:.3g}, {runs} runs)"
    )
    known = {"reference_mean": mean, "reference_sd": sd, "reference_runs": runs, "verdict": verdict}
    return {"passes": passes, "value": value, "new_runs": further, "low": low, "high": high, "level": level} | known


def _places(reach: float, value: float, *bounds: float | None) -> int | None:
    """The decimals for a value and its bounds, by the width; more if different numbers would print alike."""
    places = decimals_by_uncertainty(reach)
    others = [bound for bound in bounds if bound not in (None, value)]
    while places is not None and rounded_text(value, places) in [rounded_text(other, places) for other in others]:
        places += 1
    return places
