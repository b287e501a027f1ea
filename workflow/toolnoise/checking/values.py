"""Stability of runs that predict numbers, and of runs that left only metrics (docs/measures.md)."""

from collections.abc import Iterable, Mapping

import numpy as np

from toolnoise.formulas import Row
from toolnoise.formulas.declared import ANY, METRICS, Metric, bounded, spread
from toolnoise.formulas.equal_runs import bit_equal, value_step
from toolnoise.formulas.stability import distances
from toolnoise.formulas.weights import Apart
from toolnoise.stats.estimates import mean_t
from toolnoise.stats.jackknife import Pairs, pairwise_jackknife, within_blocks
from toolnoise.stats.spread import sd_bootstrap, sd_chi2, sd_robust


def errors(predicted: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
    """The error of each run, [S], from predicted values [S, N] and true ones [N]."""
    if not len(labels):
        return dict.fromkeys(("mean_absolute_error", "rmse"), np.full(len(predicted), np.nan))
    wrong = predicted - labels
    return {"mean_absolute_error": np.abs(wrong).mean(axis=1), "rmse": np.sqrt(np.square(wrong).mean(axis=1))}


def pairwise_difference(predicted: np.ndarray) -> np.ndarray:
    """The mean absolute difference between the values of each two runs, [S, S]."""
    return np.array(
        [np.abs(predicted - run).mean(axis=1) if run.size else np.full(len(predicted), np.nan) for run in predicted]
    )


def stability(
    predicted: np.ndarray, labels: np.ndarray, groups: Mapping[str, np.ndarray], weights: Apart, stream: int
) -> list[Row]:
    """Errors and differences of the runs' values [S, N], over the examples of each group."""
    equal = bit_equal(predicted) and weights.equal
    rows: list[Row] = []
    for group, member in groups.items():
        chosen = predicted[:, member]
        for metric, of_runs in errors(chosen, labels[member]).items():
            rows += _spread(metric, group, of_runs, equal, stream)

        def of(runs: slice, chosen: np.ndarray = chosen) -> list[Pairs]:
            return [Pairs.of(pairwise_difference(chosen[runs]))]

        difference = pairwise_jackknife(*within_blocks(len(chosen), of))
        rows.append(("mean_absolute_difference", group, difference))
    return bounded([*rows, *distances(weights)])


def of_metrics(by_name: Mapping[str, np.ndarray], weights: Apart, stream: int) -> list[Row]:
    """Mean and SD of each metric, by its name, from its value in each run [S]."""
    equal = bit_equal(np.stack(list(by_name.values()), axis=1)) and weights.equal
    rows = [row for name, of_runs in by_name.items() for row in _spread(name, "all", of_runs, equal, stream)]
    return [*rows, *distances(weights)]


def declared_as(names: Iterable[str]) -> dict[str, Metric]:
    """The declarations of the rows of metrics with these names, about which nothing is known, and of distances."""
    return dict(METRICS) | {metric: declared for name in names for metric, declared in spread(name, ANY).items()}


def _spread(metric: str, group: str, of_runs: np.ndarray, equal: bool, stream: int) -> list[Row]:
    step = value_step(equal)
    return [
        (f"{metric}_mean", group, mean_t(of_runs, step)),
        (f"{metric}_sd", group, sd_chi2(of_runs, step)),
        (f"{metric}_sd_bootstrap", group, sd_bootstrap(of_runs, stream, step)),
        (f"{metric}_sd_robust", group, sd_robust(of_runs, step)),
    ]
