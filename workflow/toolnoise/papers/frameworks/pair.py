"""Differences between two toolings that train from equal draws."""

from collections.abc import Sequence
from hashlib import sha256

import numpy as np

from toolnoise.base import metric_files
from toolnoise.base.job import Input, Output, PlaceNames, WholeRuns
from toolnoise.measures.reading import TrainedVectors, counts, predictions_of, runs_at
from toolnoise.papers.frameworks.cross_tooling import CROSS_TOOLING, cross_tooling
from toolnoise.stats import draws
from toolnoise.stats.draws import Drawn


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
    count = len(units), counts(finished)[1]
    metric_files.write(out, CROSS_TOOLING, [(*pair, *names, *estimate, *count) for *names, estimate in rows])


def _units(drawn: Sequence[Drawn], *contents: np.ndarray) -> list[np.ndarray]:
    """The independent pairs of runs: those that share a draw are one, and so are those of equal bits."""
    alike = [tuple(sha256(content[run].tobytes()).digest() for content in contents) for run in range(len(drawn))]
    return draws.members(draws.merged(draws.units(drawn)[0], alike))
