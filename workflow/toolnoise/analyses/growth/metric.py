"""How the difference between two runs from one start grows, step by step, and how it ends.

Two runs with the same algorithmic draws are bit-equal but for what is compared: the tooling, the order of summation, or
one bit. After each recorded step there are four distances between them:

* `l2_unit`, between the unit-norm vectors of trained weights. Independent directions have the square root of 2.
* `movement`, between the ways that the weights have gone since the start, over the root mean square of their lengths.
  Runs that go independent ways have the square root of 2, however near to their common start they stay.
* `logits`, between the logits of some test examples, over the root mean square of their lengths.
* `churn`, the share of these examples on which the runs predict different classes.

Starts are the independent units. A distance varies by factors, so its mean and its interval are those of its logarithm,
over the starts whose runs have parted: a moved bit that no gradient reaches changes nothing else.

The course of each start is fitted by a power of the number of steps and by an exponential of it, both as straight lines
through the logarithm of `l2_unit`. The fits of a cell are compared, start by start, with the median of the other
toolings: this is how far emulated noise is from that of a tooling.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from toolnoise.base.metric_files import CELL, MEASURE, Columns
from toolnoise.formulas.weights import paired_l2, relative_distances, unit
from toolnoise.stats.estimates import Estimate, mean_t, wilson

REFERENCE: Columns = {**CELL, "over_hardware": str, "over_variant": str}
# The distances after `step` training steps, over the starts whose runs differ then; `differs` is over all starts.
GROWTH: Columns = {**REFERENCE, "step": int, **MEASURE}
# What describes the course of a cell, over its starts.
GROWTH_FITS: Columns = {**REFERENCE, **MEASURE}

DISTANCES = ("l2_unit", "movement", "logits")
CHURN = "churn"
FARTHEST = 2.0  # between opposite vectors
FEWEST = 3  # points of a fit
# A distance that has grown: rounding errors have become another network.
GROWN = 0.01
# What is fitted to the course of a start; those in LEVELS are distances, whose ratios count.
LEVELS = ("first", *(f"{name}_last" for name in DISTANCES), "grown_last")
COMPARED = ("rate", "jump", "rate_last", "grown", f"{CHURN}_last", *LEVELS)
SHARES = ("grown", f"{CHURN}_last")
RANGES = {
    **dict.fromkeys(LEVELS, (0, FARTHEST)),
    **dict.fromkeys(("misfit", "misfit_exponential"), (0, np.inf)),
    **dict.fromkeys(SHARES, (0, 1)),
}
FITS = ("rate_exponential", "misfit", "misfit_exponential", *COMPARED)


# The replicate of each algorithmic source.
Start = tuple[int, ...]


class Course(NamedTuple):
    """The distances between two runs from one start, after each of some steps."""

    steps: np.ndarray
    distances: dict[str, np.ndarray]


def course(
    first: Mapping[int, Mapping[str, np.ndarray]], other: Mapping[int, Mapping[str, np.ndarray]], trained: Sequence[str]
) -> Course:
    """The course of two runs, from what each recorded: by step, its tensors and its `logits`."""
    starts = [_vector(run[0], trained) for run in (first, other)]
    apart = {name: np.zeros(len(first)) for name in (*DISTANCES, CHURN)}
    for place, step in enumerate(first):
        vectors = [_vector(run[step], trained) for run in (first, other)]
        logits = [run[step]["logits"] for run in (first, other)]
        apart["l2_unit"][place] = paired_l2(*(unit(vector[np.newaxis]) for vector in vectors))[0]
        apart["movement"][place] = _relative(*(vector - start for vector, start in zip(vectors, starts, strict=True)))
        apart["logits"][place] = _relative(*logits)
        apart[CHURN][place] = np.mean(logits[0].argmax(axis=1) != logits[1].argmax(axis=1))
    return Course(np.array(list(first)), apart)


def mean_course(courses: Sequence[Course]) -> Course:
    """The mean over several runs of one start."""
    first = courses[0]
    return first._replace(
        distances={name: np.mean([curve.distances[name] for curve in courses], axis=0) for name in first.distances}
    )


def parted(curve: Course) -> bool:
    """Whether a recorded logit has ever differed: a moved bit may be rounded away, or reach no output."""
    return bool(curve.distances["logits"].any())


def levels(courses: Sequence[Course], examples: int) -> Iterator[tuple[int, str, Estimate, int]]:
    """The distances of a cell after each step, over its starts, each with its number of starts."""
    rate_step = 1 / examples if any(map(parted, courses)) else np.nan
    for place, step in enumerate(courses[0].steps):
        apart = [curve for curve in courses if curve.distances["logits"][: place + 1].any()]
        yield int(step), "parted", wilson(len(apart), len(courses)), len(courses)
        for name in DISTANCES:
            yield int(step), name, *_geometric([curve.distances[name][place] for curve in apart])
        churns = np.array([curve.distances[CHURN][place] for curve in courses])
        yield int(step), CHURN, mean_t(churns, rate_step).within(0, 1), len(courses)


def fit(curve: Course) -> dict[str, float]:
    """What describes the course of one start.

    `rate` is the slope of the power (doublings of the distance per doubling of the steps), `rate_exponential` that of
    the exponential (doublings per 100 steps), and `misfit` and `misfit_exponential` are the root mean squares of what
    they leave, in doublings. `jump` is the largest growth from one recorded step to the next, in doublings, and
    `rate_last` the rate from the last but one to the last: 0 if the distance has stopped growing. `first` is the
    distance after one step, and names with `_last` are distances at the end. `grown` is 1 if the last distance exceeds
    GROWN, and `grown_last` is that distance then. If the runs never part, what has no value is NaN.
    """
    steps, distances = curve.steps[1:], curve.distances["l2_unit"][1:]
    seen, last = distances > 0, {f"{name}_last": float(values[-1]) for name, values in curve.distances.items()}
    if not parted(curve) or seen.sum() < FEWEST:
        return dict.fromkeys(FITS, np.nan) | {"grown": 0.0, f"{CHURN}_last": last[f"{CHURN}_last"]}
    steps, logs = steps[seen].astype(np.float64), np.log2(distances[seen])
    rate, misfit = _line(np.log2(steps), logs)
    exponential, misfit_exponential = _line(steps / 100, logs)
    growth = np.diff(logs)
    grown = bool(distances[-1] > GROWN)
    return {
        "rate": rate,
        "rate_exponential": exponential,
        "misfit": misfit,
        "misfit_exponential": misfit_exponential,
        "jump": float(growth.max()),
        "rate_last": float(growth[-1] / np.log2(steps[-1] / steps[-2])),
        "first": float(distances[0]),
        "grown": float(grown),
        "grown_last": float(distances[-1]) if grown else np.nan,
        **last,
    }


def fits(of_starts: Sequence[Mapping[str, float]], examples: float) -> Iterator[tuple[str, Estimate, int]]:
    """The mean of each fit over the starts of a cell, and how much better the power fits than the exponential."""
    if np.isnan([of_start["first"] for of_start in of_starts]).all():
        examples = np.nan  # runs that never part have no churn for sure
    for name in FITS:
        values = np.array([of_start[name] for of_start in of_starts])
        if name == "grown":
            yield name, wilson(int(values.sum()), len(values)), len(values)
        else:
            mean, count = _mean(name, _scaled(name, values), examples)
            yield name, mean.within(*RANGES.get(name, (-np.inf, np.inf))), count
    better = [of_start["misfit_exponential"] - of_start["misfit"] for of_start in of_starts]
    yield "misfit_exponential_minus_power", *_mean("misfit", np.array(better), examples)


def beside(
    of_cell: Mapping[Start, Mapping[str, float]], toolings: Sequence[Mapping[Start, Mapping[str, float]]], examples: int
) -> Iterator[tuple[str, Estimate, int]]:
    """The fits of a cell against the median of toolings, start by start: ratios of distances, differences of the rest.

    One tooling that is far from all others does not move the median.
    """
    for name in COMPARED:
        apart = []
        for start, fitted in of_cell.items():
            theirs = _scaled(name, np.array([tooling[start][name] for tooling in toolings if start in tooling]))
            theirs = theirs[~np.isnan(theirs)]
            apart.append(_scaled(name, np.array(fitted[name])) - np.median(theirs) if len(theirs) else np.nan)
        how = "over" if name in LEVELS else "minus"
        mean, count = _mean(name, np.array(apart), examples)
        yield f"{name}_{how}_toolings", (mean.within(-1, 1) if name in SHARES else mean), count


def _line(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """The slope of the line through some points by least squares, and the root mean square of what it leaves."""
    x, y = x - x.mean(), y - y.mean()
    slope = (x @ y) / (x @ x)
    return float(slope), float(np.sqrt(np.mean(np.square(y - slope * x))))


def _scaled(name: str, values: np.ndarray) -> np.ndarray:
    """Distances as logarithms; a distance of 0 has none."""
    return np.log(np.where(values > 0, values, np.nan)) if name in LEVELS else values


def _mean(name: str, values: np.ndarray, examples: float) -> tuple[Estimate, int]:
    """The mean of scaled values over the starts that have one, in the unit of the fit, and their number."""
    values = values[~np.isnan(values)]
    # Equal shares in all starts do not make a share certain.
    mean = mean_t(values, {"grown": 1.0, f"{CHURN}_last": 1 / examples}.get(name, np.nan))
    return (Estimate(*np.exp(mean).tolist()) if name in LEVELS else mean), len(values)


def _geometric(values: Sequence[float]) -> tuple[Estimate, int]:
    """The geometric mean of distances, over those that are not 0, and their number; 0 if all are."""
    positive = np.array([value for value in values if value > 0])
    if not len(positive):
        return Estimate(0.0), 0
    return Estimate(*np.exp(mean_t(np.log(positive))).tolist()).within(0, FARTHEST), len(positive)


def _vector(tensors: Mapping[str, np.ndarray], trained: Sequence[str]) -> np.ndarray:
    return np.concatenate([np.asarray(tensors[path], np.float64).ravel() for path in trained])


def _relative(a: np.ndarray, b: np.ndarray) -> float:
    return float(relative_distances(a.reshape(1, -1), b.reshape(1, -1))[0])
