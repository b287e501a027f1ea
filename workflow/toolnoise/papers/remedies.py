"""The noise of a cell that remains with remedies, and how much each reduces it: measure by measure, and in one number.

Summers & Dinneen report a "variability reduction" without a formula. The formula was inferred from their table: the
mean, over their five measures, of the relative reduction of each, with correlation taken as its distance from 1. It
gives all eight of their values (resources/published-remedies.csv). With correlation itself in its place, the values
come out lower.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toolnoise.base import metric_files
from toolnoise.base.errors import BadInput
from toolnoise.base.job import Dumps, Input, Output, PlaceNames
from toolnoise.base.metric_files import CELL, MEASURE, Columns
from toolnoise.base.shapes import TEXT
from toolnoise.dumps.stacks import read_stack, require_logits
from toolnoise.formulas import Row
from toolnoise.formulas.accuracy import accuracies, cross_entropies, predictions
from toolnoise.formulas.churn import churn
from toolnoise.formulas.declared import within_range
from toolnoise.formulas.equal_runs import bit_equal, rate_step
from toolnoise.formulas.groups import spread_rows
from toolnoise.formulas.stability import diversity_rows
from toolnoise.measures.reading import count_finished, predictions_of
from toolnoise.stats.estimates import UNDEFINED, Estimate, standard_deviation, t_interval
from toolnoise.stats.jackknife import (
    Pairs,
    pairs_without_each,
    pairwise_jackknife,
    pairwise_mean,
    pairwise_similarity,
    sd_without_each,
    standard_error,
)

# Each row is about a remedy for noise, or about `single` runs without one.
REMEDIES: Columns = {**CELL, "remedy": str, **MEASURE}

# Each is 0 for equal runs, except correlation, which is 1. The paper does not say which correlation it uses.
MEASURES = ("accuracy_sd", "cross_entropy_sd", "churn", "correlation", "ensemble_accuracy_change")
FEWEST = 3  # runs needed for the measures without one run
SINGLE = "single"  # runs without a remedy


class Measured(NamedTuple):
    """Measures of some runs: accuracy and cross-entropy of each run, [S]; the others over pairs of runs.

    Correlations are distances, 1 - r. `equal` states whether the logits of the runs are bit-equal.
    """

    examples: int
    equal: bool
    accuracies: np.ndarray
    cross_entropies: np.ndarray
    churn: Pairs
    pearson: Pairs
    spearman: Pairs
    accuracy_change: Pairs
    cross_entropy_change: Pairs

    @property
    def measures(self) -> dict[str, np.ndarray]:
        """The five measures; correlation is Spearman's."""
        return self._five(standard_deviation, lambda pairs: pairwise_mean(pairs).value)

    @property
    def measures_without_each(self) -> dict[str, np.ndarray]:
        """The five measures without the first run, without the second, and so on, each [S]."""
        return self._five(sd_without_each, pairs_without_each)

    def _five(self, spread: Any, over_pairs: Any) -> dict[str, np.ndarray]:
        return {
            "accuracy_sd": spread(self.accuracies),
            "cross_entropy_sd": spread(self.cross_entropies),
            "churn": over_pairs(self.churn),
            "correlation": 1 - over_pairs(self.spearman),
            "ensemble_accuracy_change": over_pairs(self.accuracy_change),
        }

    def rows(self) -> list[Row]:
        """Each measure with its interval, as in a cell's stability."""
        estimates = [
            ("churn", pairwise_jackknife(self.churn)),
            ("correlation_pearson", pairwise_similarity(self.pearson)),
            ("correlation_spearman", pairwise_similarity(self.spearman)),
            ("ensemble_accuracy_change", pairwise_mean(self.accuracy_change)),
            ("ensemble_cross_entropy_change", pairwise_mean(self.cross_entropy_change)),
        ]
        step = rate_step(self.examples, self.equal)
        rows = [
            *spread_rows("accuracy", "all", self.accuracies, step),
            *spread_rows("cross_entropy", "all", self.cross_entropies),
            *((metric, "all", estimate) for metric, estimate in estimates),
        ]
        return within_range(rows)


def measure_runs(logits: np.ndarray, labels: np.ndarray) -> Measured:
    """Measure runs from their logits [S, N, C]."""
    predicted = predictions(logits)
    return Measured(
        len(labels),
        bit_equal(logits),
        accuracies(predicted, labels),
        cross_entropies(logits, labels),
        churn(predicted),
        *diversity_rows(logits, labels),
    )


def variability_reduction(single: Mapping[str, Any], remedied: Mapping[str, Any]) -> Any:
    """The mean relative reduction of the five measures from single to remedied runs; 1 removes all variability."""
    return sum(1 - _distance(remedied, name) / _distance(single, name) for name in MEASURES) / len(MEASURES)


def noise_reduction(single: Measured, remedied: Measured, *, same_runs: bool) -> Estimate:
    """The reduction with its interval by the jackknife over runs.

    If the remedy uses the very runs that `single` measures, both leave out the same run together. Other runs are an
    independent sample, and the variances add. If a measure of the single runs is 0 or unknown, there is nothing to
    reduce.
    """
    before, after = single.measures, remedied.measures
    if not _is_noisy(before):
        return UNDEFINED
    value, fewest = float(variability_reduction(before, after)), min(len(single.accuracies), len(remedied.accuracies))
    if fewest < FEWEST or not _is_noisy(single.measures_without_each):
        return Estimate(value)
    before_without, after_without = single.measures_without_each, remedied.measures_without_each
    if same_runs:
        error = standard_error(variability_reduction(before_without, after_without))
    else:
        parts = variability_reduction(before_without, after), variability_reduction(before, after_without)
        error = np.hypot(*map(standard_error, parts))
    return t_interval(value, error, fewest - 1).within(-np.inf, 1)


def _is_noisy(measures: Mapping[str, Any]) -> bool:
    return all(np.all(_distance(measures, name) > 0) for name in MEASURES)


def _distance(measures: Mapping[str, Any], name: str) -> Any:
    # Averaging two runs may also do harm, which counts as much as a gain of the same size.
    return 1 - measures[name] if name == "correlation" else abs(measures[name])


class Remedied(NamedTuple):
    """Logits (remedy x run x example x class) with the name of each remedy, the seed and the status of each run."""

    logits: np.ndarray
    remedies: list[str]
    seeds: list[int]
    diverged: list[bool]


def read_remedied(logits: str | Path) -> Remedied:
    """Read a dump under remedies and check that it is whole and fits the index beside it."""
    axes = {"remedies": 0, "seeds": 1, "diverged": 1}
    stack, entry = read_stack(logits, Path(logits).with_suffix(".json"), axes, "remedy", {"remedies": [TEXT]})
    require_logits(logits, np.moveaxis(stack, 1, 0), entry["diverged"])
    return Remedied(stack, *(entry[name] for name in axes))


def measure(
    cell: PlaceNames,
    study_seed: int,  # noqa: ARG001 (every measure of a cell is given it)
    data: Input,
    logits: Input,
    index: Input,
    remedied: Dumps = (),
    single: Dumps = (),
    *,
    out: Output,
) -> None:
    """Write the noise of a cell that remains with remedies, and its noise without a remedy.

    `remedied` is the dump under remedies. `single` is the dump of other runs, with which these are compared. Either may
    be empty. Diverged runs are excluded and counted as missing.
    """
    dump, dataset = predictions_of(data, logits, index)
    labels, finished = dataset.test.labels, dump.finished
    by_remedy = {SINGLE: measure_runs(dump.kept, labels)}
    for path in remedied:
        stack = read_remedied(path)
        if stack.logits.shape[1:] != dump.logits.shape or stack.seeds != dump.seeds:
            raise BadInput(path, "", f"found runs {stack.seeds}, each {stack.logits.shape[2:]}", f"those of {logits}")
        for name, of_runs in zip(stack.remedies, stack.logits, strict=True):
            print(f"measuring {name}", flush=True)
            by_remedy[name] = measure_runs(of_runs[finished], labels)
    before = by_remedy[SINGLE]
    for path in single:
        other, _ = predictions_of(data, path, Path(path).with_suffix(".json"))
        before = measure_runs(other.kept, labels)
    rows = []
    for name, measured in by_remedy.items():
        rows += [(name, *row) for row in measured.rows()]
        if measured is not before:
            reduced = noise_reduction(before, measured, same_runs=not single)
            rows.append((name, "variability_reduction", "all", reduced))
    metric_files.write_metrics(
        out, REMEDIES, [(*cell, *names, *estimate, *count_finished(finished)) for *names, estimate in rows]
    )
