"""Differences between two toolings: each run on one is compared with the run of the same seed on the other.

Both runs have the same initial weights and batches, so only the implementation differs. Pairs that share a draw of the
algorithm form one unit, and so do pairs of equal bits: under `control` all pairs are copies of one, which has no
interval. Bounds are clipped to the range of each metric.
"""

from collections.abc import Sequence
from hashlib import sha256

import numpy as np

from toolnoise.base import metric_files
from toolnoise.base.job import Input, Output, PlaceNames, WholeRuns
from toolnoise.base.metric_files import MEASURE, PAIR, Columns
from toolnoise.formulas import Row
from toolnoise.formulas.accuracy import accuracies, predictions
from toolnoise.formulas.churn import paired_churn
from toolnoise.formulas.declared import CHANGE, DISTANCE, POSITIVE, SHARE
from toolnoise.formulas.equal_runs import bit_equal, rate_step
from toolnoise.formulas.weights import paired_l2, unit_vectors
from toolnoise.measures.reading import TrainedVectors, count_finished, predictions_of, runs_at
from toolnoise.stats import draws
from toolnoise.stats.draws import Drawn
from toolnoise.stats.estimates import Estimate, mean_t

CROSS_TOOLING: Columns = {**PAIR, **MEASURE}


def cross_tooling(
    logits_a: np.ndarray,
    logits_b: np.ndarray,
    labels: np.ndarray,
    vectors_a: np.ndarray,
    vectors_b: np.ndarray,
    units: Sequence[np.ndarray],
) -> list[Row]:
    """Compare run s of `a` with run s of `b`, aligned by seed; the accuracy difference is b - a.

    `units` has the places of the runs of each unit.
    """
    predicted_a, predicted_b = predictions(logits_a), predictions(logits_b)
    # Units differ in their bits, unless both toolings give the same bits to each.
    equal = bit_equal((logits_a, logits_b)) and bit_equal((vectors_a, vectors_b))
    step = rate_step(len(labels), equal)
    gaps = {
        "churn": (paired_churn(predicted_a, predicted_b), step, SHARE),
        "l2_unit": (paired_l2(unit_vectors(vectors_a), unit_vectors(vectors_b)), np.nan, DISTANCE),
        "l2_raw": (paired_l2(vectors_a, vectors_b), np.nan, POSITIVE),
        "accuracy_difference": (accuracies(predicted_b, labels) - accuracies(predicted_a, labels), step, CHANGE),
    }
    return [
        (metric, "all", _over(units, values, step).within(*limits)) for metric, (values, step, limits) in gaps.items()
    ]


def _over(units: Sequence[np.ndarray], values: np.ndarray, step: float) -> Estimate:
    """The mean over units of the mean within each; equal values have exactly their own mean."""
    return mean_t(np.array([mean_t(values[runs]).value for runs in units]), step)


def measure(
    pair: PlaceNames,
    data: Input,
    logits: Input,
    index: Input,
    records: WholeRuns,
    other_logits: Input,
    other_index: Input,
    other_records: WholeRuns,
    *,
    out: Output,
) -> None:
    """Write the differences between run s on one tooling and run s on the other; `n_runs` is the number of units."""
    first, dataset = predictions_of(data, logits, index)
    other, _ = predictions_of(data, other_logits, other_index)
    shared = [seed for seed in first.seeds if seed in other.seeds]
    places = [[dump.seeds.index(seed) for seed in shared] for dump in (first, other)]
    finished = first.finished[places[0]] & other.finished[places[1]]
    scores, vectors = [], []
    for dump, place, paths in zip((first, other), places, (records, other_records), strict=True):
        kept = np.array(place, int)[finished]
        scores.append(dump.logits[kept])
        vectors.append(TrainedVectors(runs_at(paths, dump, kept))[:])
    units = _units([first.drawn[place] for place in np.array(places[0], int)[finished]], *scores, *vectors)
    rows = cross_tooling(*scores, dataset.test.labels, *vectors, units)
    count = len(units), count_finished(finished)[1]
    metric_files.write_metrics(out, CROSS_TOOLING, [(*pair, *names, *estimate, *count) for *names, estimate in rows])


def _units(drawn: Sequence[Drawn], *contents: np.ndarray) -> list[np.ndarray]:
    """The independent units of pairs: pairs that share a draw are one unit, and so are bit-equal pairs."""
    alike = [tuple(sha256(content[run].tobytes()).digest() for content in contents) for run in range(len(drawn))]
    return draws.members_of_units(draws.merge_equal_runs(draws.units_of_arms(drawn)[0], alike))
