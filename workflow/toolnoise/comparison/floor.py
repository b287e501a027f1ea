"""The SD over seeds to expect, from the late checkpoints of one run.

How far the last checkpoints at one learning rate lie apart becomes an SD over seeds by what bench/floor.py has learnt
from finished studies (resources/learnt/floor.yaml). Under a rate that falls at every step, late checkpoints become
equal, whatever seeds do. So only checkpoints at a rate that stays are taken, and the rate is stated as a share of the
largest, because the spread falls with it.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import yaml
from scipy import stats

from toolnoise.base.errors import BadInput
from toolnoise.base.files import read_text
from toolnoise.base.program import path_of
from toolnoise.comparison import csv_columns
from toolnoise.comparison.column_roles import words_of
from toolnoise.comparison.tables import roles
from toolnoise.stats.estimates import TAIL, Estimate

FEWEST, MOST = 4, 8  # checkpoints: with fewer there is no spread, earlier ones may be those of another network
TREND_LEVEL = 0.05
# In a folder of its own: each YAML file of resources/ is a registry, which every study is read with.
LEARNT = "resources/learnt/floor.yaml"
RATES = ("learning_rate", "lr")
# Columns with several values if lines are of several runs; others may name checkpoints.
OF_RUNS = {*roles.SEEDS, *roles.SURELY_ARMS, *roles.RUNS} - {"id", "name", "version"}
# Words in the name of a metric; an error rate has the spread of its accuracy.
KINDS = {
    "accuracy": {"accuracy", "acc", "error", "top1"},
    "loss": {"loss", "nll", "entropy", "crossentropy"},
}


class Tail(NamedTuple):
    """The spread of the last checkpoints, their number, and their rate as a share of the largest."""

    spread: float
    checkpoints: int
    rate: float


class Cannot(Exception):  # noqa: N818 (an answer, not an error)
    """Why late checkpoints say nothing here."""


class Learnt(NamedTuple):
    """The mean log ratio of the SD over seeds to the spread, a line in log10 of the rate's share, and its variances.

    `between` is the SD over settings, `own` that of a run's spread; the line was fitted through `settings` points whose
    log10 shares have a mean and a sum of squares. No share was below `least`. `covered` is the mean share of runs whose
    interval held when a task was left out.
    """

    intercept: float
    slope: float
    between: float
    own: float
    settings: int
    mean: float
    squares: float
    least: float
    covered: float
    tasks: tuple[str, ...]


class Expected(NamedTuple):
    """The SD over seeds to expect, with its prediction interval, and what it follows from."""

    sd: Estimate
    tail: Tail
    learnt: Learnt

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "sd": self.sd.value,
            "sd_low": self.sd.low,
            "sd_high": self.sd.high,
            "spread": self.tail.spread,
            "checkpoints": self.tail.checkpoints,
            "rate": self.tail.rate,
            "settings": self.learnt.settings,
            "tasks": list(self.learnt.tasks),
            "covered": self.learnt.covered,
        }

    def as_text(self, metric: str, task: str) -> str:
        """For a person."""
        rate = f"{self.tail.rate:.2g} of " if self.tail.rate < 1 else ""
        return (
            f"SD over seeds of {metric}: {self.sd.value:.2g} ({self.sd.low:.2g} to {self.sd.high:.2g}, 95 % prediction "
            f"interval)\nFrom the last {self.tail.checkpoints} checkpoints, with an SD of {self.tail.spread:.2g} at "
            f"{rate}the largest learning rate. Learnt on {self.learnt.settings} settings of {len(self.learnt.tasks)} "
            f"tasks of {task}; with a task left out, the interval held for {100 * self.learnt.covered:.0f} % of its "
            "runs.\nA start for `toolnoise plan --sd`, until there are runs of several seeds."
        )


def history(path: str, metric: str, rate: float | None) -> tuple[np.ndarray, np.ndarray]:
    """The metric and the share of the largest rate of each checkpoint, by its step if a column has it.

    `rate` is that of all if there is no column.
    """
    table = csv_columns.read(path, None, "checkpoints")
    columns = dict(zip(table.names, table.columns, strict=True)) if table.names else {}
    if metric not in columns:
        named = ", ".join(table.names) or "no names"
        raise BadInput(path, f"column {metric}", f"found {named}", "a column of this name, with a line per checkpoint")
    name = next((name for name in RATES if name in columns), None)
    if (name is None) == (rate is None):
        found = f"found a column {name}, too" if name else "found neither it nor a column learning_rate"
        raise BadInput("command line", "--rate", found, "one of them")
    if rate is not None and not 0 < rate <= 1:
        raise BadInput("command line", "--rate", f"found {rate:g}", "a share above 0, at most 1")
    values = columns[metric]
    rates = columns[name] if name else np.full(len(values), rate)
    for column, given in ((metric, values), (name or "", rates)):
        if given.dtype.kind != "f" or not (np.abs(given) <= csv_columns.LARGEST).all():
            raise BadInput(path, f"column {column}", "found what is no finite number", "a number for each checkpoint")
    if rates.min() < 0 or rates.max() == 0:
        raise BadInput(path, f"column {name}", "found no rate above 0, or one below", "learning rates")
    order = _in_order(path, columns, metric)
    return values[order], (rates / rates.max() if name else rates)[order]


def _in_order(path: str, columns: dict[str, np.ndarray], metric: str) -> np.ndarray:
    """The places of one run's checkpoints from the first to the last: by their steps, or as they are without."""
    for name, column in columns.items():
        if roles.plain(name) in OF_RUNS and len(np.unique(column)) > 1:
            raise BadInput(path, f"column {name}", f"found {len(np.unique(column))} values", "checkpoints of one run")
    steps = [name for word in roles.STEPS for name in columns if roles.plain(name) == word and name != metric]
    for name in steps:
        at = columns[name]
        if at.dtype.kind == "f" and np.isfinite(at).all() and len(np.unique(at)) == len(at):
            return np.argsort(at)
    if steps:
        what = "found repeated steps, or what is no finite number"
        raise BadInput(path, f"column {' and '.join(steps)}", what, "one run, with each step once")
    return np.arange(len(columns[metric]))


def tail(values: Sequence[float], rates: Sequence[float]) -> Tail:
    """The tail of a run, from each checkpoint's metric and learning rate, as a share of the largest."""
    values, rates = np.asarray(values, float), np.asarray(rates, float)
    count = staying(rates)
    if count < FEWEST:
        raise Cannot(f"{count} of the last checkpoints have one learning rate; it takes {FEWEST} or more")
    last = values[-min(count, MOST) :]
    spread = of_checkpoints(last)
    if not spread > 0:
        raise Cannot(f"the last {len(last)} checkpoints are equal")
    if changes(last):
        raise Cannot(f"the last {len(last)} checkpoints still change: their trend has p < {TREND_LEVEL:g}")
    return Tail(spread, len(last), float(rates[-1]))


def staying(rates: np.ndarray) -> int:
    """How many of the last checkpoints have the last one's rate."""
    others = np.flatnonzero(~np.isclose(rates, rates[-1], rtol=1e-3, atol=0))
    return len(rates) - (int(others[-1]) + 1 if len(others) else 0)


def of_checkpoints(values: np.ndarray) -> float:
    """The SD of checkpoints by the differences of neighbours, which a slow trend hardly moves (von Neumann 1941)."""
    return float(np.sqrt(np.mean(np.diff(values) ** 2) / 2))


def changes(values: np.ndarray) -> bool:
    """Whether a line through the checkpoints has a slope, by Student's two-sided test."""
    line = stats.linregress(np.arange(len(values)), values)
    return bool(line.pvalue < TREND_LEVEL)


def learnt(task: str, metric: str) -> Learnt:
    """What was learnt for a kind of task and of metric."""
    known = yaml.safe_load(read_text(path_of(LEARNT)))
    if task not in known:
        raise Cannot(f"learnt on {', '.join(known)}, not on {task}")
    kinds = [kind for kind, words in KINDS.items() if words & {*words_of(metric)}]
    if len(kinds) != 1:
        raise Cannot(f"learnt on {' and '.join(KINDS)}, and {metric} does not say which it is")
    found = known[task][kinds[0]]
    return Learnt(**found | {"tasks": tuple(found["tasks"])})


def expected(learnt: Learnt, tail: Tail) -> Expected:
    """The SD over seeds for a tail; not at a rate that fell further than any that was learnt on."""
    # A rate is stated with few digits.
    if tail.rate < 0.9 * learnt.least:
        raise Cannot(f"the rate fell to {tail.rate:.2g} of the largest; learnt on {learnt.least:.2g} and more")
    ratio = interval(learnt, tail.rate)
    return Expected(Estimate(*(tail.spread * part for part in ratio)), tail, learnt)


def interval(learnt: Learnt, rate: float) -> Estimate:
    """The ratio for a run of a new setting, with its prediction interval."""
    place = math.log10(rate)
    centre = learnt.intercept + learnt.slope * place
    line = 1 / learnt.settings + (place - learnt.mean) ** 2 / learnt.squares
    error = math.sqrt(learnt.between**2 * (1 + line) + learnt.own**2)
    half = float(stats.t.isf(TAIL, learnt.settings - 2)) * error
    return Estimate(math.exp(centre), math.exp(centre - half), math.exp(centre + half))
