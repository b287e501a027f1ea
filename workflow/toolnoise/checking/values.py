"""Stability of runs that predict numbers or leave losses, and of runs that left only metrics (docs/measures.md)."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

import numpy as np

from toolnoise.formulas import Row
from toolnoise.formulas.declared import ANY, METRICS, Metric, bounded, spread
from toolnoise.formulas.equal_runs import bit_equal, value_step
from toolnoise.formulas.groups import spread_rows
from toolnoise.formulas.stability import distances
from toolnoise.formulas.weights import Apart
from toolnoise.stats.estimates import Estimate
from toolnoise.stats.jackknife import Pairs, pairwise_jackknife, within_blocks


class Numbers(Protocol):
    """How runs of numbers [S, U] are measured on the units of a group, a mask of all units."""

    def each(self, found: np.ndarray, member: np.ndarray) -> dict[str, np.ndarray]:
        """The measures of each run, [S], from its numbers of the group."""

    def rows(self, found: np.ndarray, member: np.ndarray, group: str, step: float, stream: int) -> list[Row]:
        """The mean and the SD over runs of each measure."""


class Errors(NamedTuple):
    """Predicted values against true ones [U]."""

    labels: np.ndarray

    def each(self, found: np.ndarray, member: np.ndarray) -> dict[str, np.ndarray]:
        """The mean absolute error and the root mean squared error of each run."""
        if not found.size:
            return dict.fromkeys(("mean_absolute_error", "rmse"), np.full(len(found), np.nan))
        wrong = found - self.labels[member]
        return {"mean_absolute_error": np.abs(wrong).mean(axis=1), "rmse": np.sqrt(np.square(wrong).mean(axis=1))}

    def rows(self, found: np.ndarray, member: np.ndarray, group: str, step: float, stream: int) -> list[Row]:
        """The mean and the SD over runs of both."""
        each = self.each(found, member)
        return [row for metric, runs in each.items() for row in spread_rows(metric, group, runs, step, stream)]


class Losses:
    """Negative log-likelihoods of tokens, in nats."""

    def each(self, found: np.ndarray, member: np.ndarray) -> dict[str, np.ndarray]:  # noqa: ARG002 (as of errors)
        """The mean loss of each run, and its exponential, the perplexity."""
        losses = found.mean(axis=1) if found.size else np.full(len(found), np.nan)
        return {"loss": losses, "perplexity": _perplexity(losses)}

    def rows(self, found: np.ndarray, member: np.ndarray, group: str, step: float, stream: int) -> list[Row]:
        """The mean and the SD over runs of the loss, and what they are for the perplexity.

        That of the mean loss is the exponential of its estimate, bounds included: exact. Its SDs are those of the loss
        times it (the delta method): right up to a share of about the SD of the loss.
        """
        (_, _, mean), *sds = rows = spread_rows("loss", group, self.each(found, member)["loss"], step, stream)
        perplexity = Estimate(*_perplexity(np.array(mean)).tolist())
        scaled = ((metric.replace("loss", "perplexity"), perplexity.value * np.array(sd)) for metric, _, sd in sds)
        return [
            *rows,
            ("perplexity_mean", group, perplexity),
            *((metric, group, Estimate(*sd.tolist())) for metric, sd in scaled),
        ]


def _perplexity(losses: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):  # of losses above 709 nats, it is too large for a float
        return np.exp(losses)


def pairwise_difference(found: np.ndarray) -> np.ndarray:
    """The mean absolute difference between the numbers of each two runs, [S, S]."""
    return np.array([np.abs(found - run).mean(axis=1) if run.size else np.full(len(found), np.nan) for run in found])


def stability(
    measured: Numbers, numbers: np.ndarray, groups: Mapping[str, np.ndarray], weights: Apart, stream: int
) -> list[Row]:
    """Measures and differences of the runs' numbers [S, U], over the units of each group."""
    equal = bit_equal(numbers) and weights.equal
    rows: list[Row] = []
    for group, member in groups.items():
        chosen = numbers[:, member]
        rows += measured.rows(chosen, member, group, value_step(equal), stream)

        def of(runs: slice, chosen: np.ndarray = chosen) -> list[Pairs]:
            return [Pairs.of(pairwise_difference(chosen[runs]))]

        difference = pairwise_jackknife(*within_blocks(len(chosen), of))
        rows.append(("mean_absolute_difference", group, difference))
    return bounded([*rows, *distances(weights)])


def of_metrics(by_name: Mapping[str, np.ndarray], weights: Apart, stream: int) -> list[Row]:
    """Mean and SD of each metric, by its name, from its value in each run [S]."""
    step = value_step(bit_equal(np.stack(list(by_name.values()), axis=1)) and weights.equal)
    rows = [row for name, of_runs in by_name.items() for row in spread_rows(name, "all", of_runs, step, stream)]
    return [*rows, *distances(weights)]


def declared_as(names: Iterable[str]) -> dict[str, Metric]:
    """The declarations of the rows of metrics with these names, about which nothing is known, and of distances."""
    return dict(METRICS) | {metric: declared for name in names for metric, declared in spread(name, ANY).items()}
