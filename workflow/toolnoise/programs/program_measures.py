"""The measures of a cell whose runs come from a training program.

Logits have the measures of any cell, except those of identical runs: too little is known about the program's epochs.
Predicted classes have all measures that need no scores. Values and losses have the mean absolute difference between
runs in place of churn. A metric alone has a mean and an SD. docs/statistics.md has their formulas.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toolnoise.base import metric_files, shapes
from toolnoise.base.errors import BadInput
from toolnoise.base.job import Input, Output, PlaceNames, WholeRuns
from toolnoise.base.shapes import TEXT
from toolnoise.datasets import prepared
from toolnoise.dumps import stacks
from toolnoise.dumps.stacks import Predictions
from toolnoise.formulas import Row, outcomes
from toolnoise.formulas.declared import ANY, METRICS, Metric, declare_spread, within_range
from toolnoise.formulas.equal_runs import bit_equal, equality_row
from toolnoise.formulas.groups import spread_rows
from toolnoise.formulas.per_run import RUNS, Values
from toolnoise.formulas.stability import STABILITY, distance_rows
from toolnoise.formulas.weights import Apart, weight_distances
from toolnoise.measures import by_draw, noise
from toolnoise.measures.noise import Noise
from toolnoise.measures.reading import TrainedVectors, finished_runs, predictions_of
from toolnoise.stats.estimates import Estimate
from toolnoise.stats.jackknife import Pairs, pairwise_jackknife, within_blocks


class Errors(NamedTuple):
    """Predicted values against true ones [U]."""

    labels: np.ndarray

    def each(self, numbers: np.ndarray, member: np.ndarray) -> dict[str, np.ndarray]:
        """The mean absolute error and the root mean squared error of each run."""
        if not numbers.size:
            return dict.fromkeys(("mean_absolute_error", "rmse"), np.full(len(numbers), np.nan))
        wrong = numbers - self.labels[member]
        return {"mean_absolute_error": np.abs(wrong).mean(axis=1), "rmse": np.sqrt(np.square(wrong).mean(axis=1))}

    def rows(self, numbers: np.ndarray, member: np.ndarray, group: str) -> list[Row]:
        """The mean and the SD over runs of both."""
        by_metric = self.each(numbers, member)
        return [row for metric, runs in by_metric.items() for row in spread_rows(metric, group, runs)]


class Losses:
    """Negative log-likelihoods of tokens, in nats."""

    def each(self, numbers: np.ndarray, member: np.ndarray) -> dict[str, np.ndarray]:  # noqa: ARG002 (as of errors)
        """The mean loss of each run, and its exponential, the perplexity."""
        losses = numbers.mean(axis=1) if numbers.size else np.full(len(numbers), np.nan)
        return {"loss": losses, "perplexity": _perplexity(losses)}

    def rows(self, numbers: np.ndarray, member: np.ndarray, group: str) -> list[Row]:
        """The mean and the SD over runs of the loss, and those of the perplexity.

        The perplexity of the mean loss is exactly the exponential of its estimate, bounds included. The SDs are those
        of the loss times this perplexity (the delta method), with a relative error of about the SD of the loss.
        """
        (_, _, mean), *sds = rows = spread_rows("loss", group, self.each(numbers, member)["loss"])
        perplexity = Estimate(*_perplexity(np.array(mean)).tolist())
        scaled = ((metric.replace("loss", "perplexity"), perplexity.value * np.array(sd)) for metric, _, sd in sds)
        return [
            *rows,
            ("perplexity_mean", group, perplexity),
            *((metric, group, Estimate(*sd.tolist())) for metric, sd in scaled),
        ]


def _perplexity(losses: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):  # for losses above 709 nats, it is too large for a float
        return np.exp(losses)


Numbers = Errors | Losses
# How the numbers of runs are measured, and the units of each group.
Measured = tuple[Numbers, dict[str, np.ndarray]]


def measure(
    cell: PlaceNames,
    study_seed: int,
    outcome: str,
    data: Input,
    logits: Input,
    index: Input,
    records: WholeRuns,
    *,
    out: Output,
    out_runs: Output,
) -> None:
    """Write the measures of one cell from what else its runs left."""
    if outcome == outcomes.CLASSES:
        rows = noise.measure_runs(cell, study_seed, *predictions_of(data, logits, index), records)
    else:
        dump = stacks.read_predictions(logits, index)
        vectors = TrainedVectors(finished_runs(records, dump))
        if outcome in MEASURED:
            rows = _of_numbers(cell, MEASURED[outcome](dump, data, index), dump, vectors)
        else:
            rows = _of_metrics(cell, dump, _names(index, dump), vectors)
    metric_files.write_metrics(out, STABILITY, rows.stability)
    metric_files.write_metrics(out_runs, RUNS, rows.runs)


def _of_numbers(cell: Sequence[str], measured: Measured, dump: Predictions, vectors: TrainedVectors) -> Noise:
    of_runs, groups = measured
    stack = dump.kept
    run_values = [
        (metric, group, values)
        for group, member in groups.items()
        for metric, values in of_runs.each(stack[:, member], member).items()
    ]

    def of_draw(chosen: np.ndarray, weights: Apart) -> list[Row]:
        return stability_of_numbers(of_runs, noise.some_of(stack, chosen), groups, weights)

    return _rows(cell, dump, vectors, of_draw, run_values)


def _values(dump: Predictions, data: str | Path, index: str | Path) -> Measured:  # noqa: ARG001 (as of losses)
    """How values are measured; each of several columns is a group, too."""
    stored = prepared.targets_of_test(data)
    labels = stored["test_labels"].astype(np.float64)
    if dump.logits.shape[1] != labels.size:
        raise BadInput(data, "test_labels", f"found {labels.size}", f"the {dump.logits.shape[1]} values of the dump")
    columns = labels.shape[1] if labels.ndim > 1 else 1
    groups = _groups(stored, np.full(len(labels), columns))
    for place, name in enumerate(stored.get("asked", ())):
        groups[str(name)] = np.arange(labels.size) % columns == place
    return Errors(labels.reshape(-1)), groups


def _losses(dump: Predictions, data: str | Path, index: str | Path) -> Measured:
    lengths = shapes.read_json_of_shape(index, {"lengths": [shapes.POSITIVE]}, "the index that dump-outcomes wrote")[
        "lengths"
    ]
    if sum(lengths) != dump.logits.shape[1]:
        raise BadInput(index, "lengths", f"found {sum(lengths)} tokens", f"the {dump.logits.shape[1]} of the dump")
    return Losses(), _groups(prepared.targets_of_test(data), np.array(lengths))


# How the numbers of each outcome are measured, and the units of each group.
MEASURED: Mapping[str, Callable[..., Measured]] = {outcomes.VALUES: _values, outcomes.LOSSES: _losses}


def _groups(stored: Mapping[str, np.ndarray], times: np.ndarray) -> dict[str, np.ndarray]:
    """The units of each group of examples; `times` has each example's number of units."""
    members = zip(map(str, stored.get("groups", ())), stored.get("test_groups", np.empty((0, 0))).T, strict=True)
    return {"all": np.ones(times.sum(), bool)} | {name: member.repeat(times) for name, member in members}


def _names(index: str | Path, dump: Predictions) -> list[str]:
    """The names of the metrics in a dump."""
    names = shapes.read_json_of_shape(index, {"metrics": [TEXT]}, "the index that dump-outcomes wrote")["metrics"]
    if [len(names)] != list(dump.logits.shape[1:]) or len(set(names)) < len(names):
        raise BadInput(index, "metrics", f"found {len(names)}", "a name of its own for each metric of the dump")
    return names


def _of_metrics(cell: Sequence[str], dump: Predictions, names: Sequence[str], vectors: TrainedVectors) -> Noise:
    values_of = dict(zip(names, dump.kept.T, strict=True))

    def of_draw(chosen: np.ndarray, weights: Apart) -> list[Row]:
        return of_metrics({name: of_runs[chosen] for name, of_runs in values_of.items()}, weights)

    of_each = [(name, "all", of_runs) for name, of_runs in values_of.items()]
    return _rows(cell, dump, vectors, of_draw, of_each, declared_as(names))


def _rows(
    cell: Sequence[str], dump: Predictions, vectors: TrainedVectors, of_draw: Callable, each: Values, *declared: Any
) -> Noise:
    """The rows of a cell from those of its draws, and from the values of each run."""
    together = by_draw.group_by_draw(dump.kept_draws)
    weights = [weight_distances(vectors.of(chosen)) for chosen in together.groups]
    rows = by_draw.over_draws(list(map(of_draw, together.groups, weights)), *declared)
    return noise.as_rows(cell, dump, together, rows, each + by_draw.distances_by_draw(together, weights), [])


def pairwise_difference(found: np.ndarray) -> np.ndarray:
    """The mean absolute difference between the numbers of each two runs, [S, S]."""
    return np.array([np.abs(found - run).mean(axis=1) if run.size else np.full(len(found), np.nan) for run in found])


def stability_of_numbers(
    measured: Numbers, numbers: np.ndarray, groups: Mapping[str, np.ndarray], weights: Apart
) -> list[Row]:
    """Measures and differences of the runs' numbers [S, U], over the units of each group."""
    rows = [equality_row(bit_equal(numbers) and weights.equal, len(numbers))]
    for group, member in groups.items():
        chosen = numbers[:, member]
        rows += measured.rows(chosen, member, group)

        def of(runs: slice, chosen: np.ndarray = chosen) -> list[Pairs]:
            return [Pairs.of(pairwise_difference(chosen[runs]))]

        difference = pairwise_jackknife(*within_blocks(len(chosen), of))
        rows.append(("mean_absolute_difference", group, difference))
    return within_range([*rows, *distance_rows(weights)])


def of_metrics(by_name: Mapping[str, np.ndarray], weights: Apart) -> list[Row]:
    """Mean and SD of each metric, by its name, from its value in each run [S]."""
    metrics = np.stack(list(by_name.values()), axis=1)
    rows = [row for name, of_runs in by_name.items() for row in spread_rows(name, "all", of_runs)]
    rows += [*distance_rows(weights), equality_row(bit_equal(metrics) and weights.equal, len(metrics))]
    return within_range(rows, declared_as(by_name))


def declared_as(names: Iterable[str]) -> dict[str, Metric]:
    """The declarations of metrics with these names, about which nothing else is known, and of distances."""
    return dict(METRICS) | {
        metric: declared for name in names for metric, declared in declare_spread(name, ANY).items()
    }
