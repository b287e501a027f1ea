"""Differences between many toolings that train from equal draws, and which part of a tooling explains them.

Run s is trained on every tooling from the same weights and batches, so two toolings differ by themselves alone. Each
draw gives a matrix of distances between toolings. Independent observations are the draws, so all intervals are over
draws, and the distance between two draws on one tooling ("two seeds") is the yardstick.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from toolnoise.base.metric_files import ESTIMATE, MEASURE, Columns
from toolnoise.formulas import Row
from toolnoise.formulas.declared import DISTANCE, SHARE
from toolnoise.formulas.equal_runs import first_epochs
from toolnoise.stats.contrasts import ratio
from toolnoise.stats.estimates import Estimate, mean_t, wilson
from toolnoise.stats.quantities import Arm, jackknifed


class ToolingPart(NamedTuple):
    """A tooling's framework and version, kernels, instruction set and number of threads."""

    framework: str
    version: str
    kernels: str
    isa: str
    threads: str


# What two toolings may differ in. The last two rows of a metric are of all pairs, and of those that are not bit-equal.
FACTORS = ToolingPart._fields
ANY, DIFFERENT, SEED = "any", "any, not bit-equal", "seed"
# No bound of an interval is outside; shares of distances that are explained are within SHARE, too.
RANGES = {
    "churn": SHARE,
    "l2_unit": DISTANCE,
    "logits_relative_difference": DISTANCE,
    "bit_equal": SHARE,
    "first_epoch": (1, np.inf),
}

ATLAS: Columns = {**dict.fromkeys(("model", "dataset", "hardware", "other_hardware"), str), **MEASURE}
# `pairs` is the number of pairs of toolings that differ only in the factor; of frameworks, in kernels and version, too.
ATLAS_FACTORS: Columns = {**dict.fromkeys(("model", "dataset", "factor", "metric"), str), "pairs": int, **ESTIMATE}
ATLAS_TOOLINGS: Columns = dict.fromkeys(("model", "dataset", "hardware", *FACTORS, "environment"), str)


class Distances(NamedTuple):
    """One measure: the distance between any two toolings, [D, T, T], and between any two draws on one, [T, D, D]."""

    toolings: np.ndarray
    draws: np.ndarray
    # The exponent by which a distance becomes a square of Euclidean distances: churn is one already.
    power: int


def distances(of: Callable[[np.ndarray], np.ndarray], values: np.ndarray, power: int) -> Distances:
    """Distances of values [T, D, ...] by a function that gives the distance between every two of the first axis."""
    return Distances(
        np.stack([of(values[:, draw]) for draw in range(values.shape[1])]), np.stack([of(row) for row in values]), power
    )


def relative(logits: np.ndarray) -> np.ndarray:
    """The mean over examples of the distance between logits of every two runs [S, N, C], relative to their lengths."""
    values = logits.astype(np.float64)
    lengths = np.square(values).sum(axis=2)
    matrix = np.zeros((len(values), len(values)))
    for run, scores in enumerate(values):
        apart = np.linalg.norm(values[run + 1 :] - scores, axis=2)
        both = np.sqrt((lengths[run + 1 :] + lengths[run]) / 2)
        matrix[run, run + 1 :] = np.divide(apart, both, out=np.zeros_like(apart), where=both > 0).mean(axis=1)
    return matrix + matrix.T


def equal(digests: np.ndarray) -> np.ndarray:
    """Which toolings have equal bits in each draw, [D, T, T], from digests of runs [T, D]."""
    return np.stack([draw[:, np.newaxis] == draw for draw in digests.T])


def partings(histories: np.ndarray) -> np.ndarray:
    """The first epoch after which weights differ, [D, T, T]; NaN if they never do; from digests [T, D, E]."""
    toolings, draws = histories.shape[:2]
    epochs = np.full((draws, toolings, toolings), np.nan)
    for tooling in range(toolings):
        for other in range(tooling):
            first = first_epochs(histories[tooling].T, histories[other].T)
            epochs[:, tooling, other] = epochs[:, other, tooling] = first
    return epochs


def pair(
    measured: dict[str, Distances], alike: np.ndarray, first: np.ndarray, tooling: int, other: int
) -> list[tuple[Row, int]]:
    """The rows of two toolings, each with the number of its draws."""
    both, apart = alike[:, tooling, other], first[:, tooling, other]
    parted, count = apart[~np.isnan(apart)], len(both)
    rows = [((metric, "all", mean_t(gaps.toolings[:, tooling, other])), count) for metric, gaps in measured.items()]
    rows.append((("bit_equal", "all", wilson(int(both.sum()), count)), count))
    rows.append((("first_epoch", "all", mean_t(parted)), len(parted)))
    return [((metric, group, estimate.within(*RANGES[metric])), number) for (metric, group, estimate), number in rows]


def factors(
    parts: Sequence[ToolingPart], measured: dict[str, Distances], alike: np.ndarray
) -> Iterator[tuple[str, str, int, Estimate]]:
    """For each factor: distances, their ratio to that of two seeds, the share explained, and the share of bit-equal."""
    draws, everything = len(alike), np.triu(np.ones(alike.shape[1:], bool), 1)
    chosen = {factor: np.broadcast_to(everything & differs_only(parts, factor), alike.shape) for factor in FACTORS}
    chosen |= {ANY: np.broadcast_to(everything, alike.shape), DIFFERENT: everything & ~alike}
    for metric, gaps in measured.items():
        seeds = _of_seeds(gaps.draws)
        for factor, picked in chosen.items():
            if not picked.any():
                continue
            pairs = int(picked.any(axis=0).sum())
            sums, counts = (np.where(picked, gaps.toolings, 0).sum(axis=(1, 2)), picked.sum(axis=(1, 2)))
            means = np.divide(sums, counts, out=np.full(draws, np.nan), where=counts > 0)
            means = means[counts > 0]
            yield factor, metric, pairs, mean_t(means).within(*RANGES[metric])
            yield factor, f"{metric}_to_seeds", pairs, ratio(_of_pairs(sums, counts), seeds)
        yield SEED, metric, len(parts), Estimate(seeds.value)
        for factor, (shares, chance) in explained(parts, gaps.toolings**gaps.power).items():
            pairs = int(chosen[factor][0].sum())
            yield factor, f"{metric}_explained", pairs, mean_t(shares).within(*SHARE)
            yield factor, f"{metric}_explained_by_chance", pairs, Estimate(chance)
    for factor, picked in chosen.items():
        if factor != DIFFERENT and picked.any():
            shares = np.array([alike[draw][picked[draw]].mean() for draw in range(draws)])
            yield factor, "bit_equal", int(picked[0].sum()), mean_t(shares).within(*RANGES["bit_equal"])


def differs_only(parts: Sequence[ToolingPart], factor: str) -> np.ndarray:
    """Which toolings differ in a factor and in nothing else, [T, T].

    Two frameworks never have a version in common, nor all kernels: they may differ in these, too.
    """
    differ = np.array([[[a != b for a, b in zip(part, other, strict=True)] for other in parts] for part in parts])
    free = ("framework", "version", "kernels") if factor == "framework" else (factor,)
    rest = [place for place, name in enumerate(FACTORS) if name not in free]
    return differ[..., FACTORS.index(factor)] & ~differ[..., rest].any(axis=-1)


def explained(parts: Sequence[ToolingPart], squares: np.ndarray) -> dict[str, tuple[np.ndarray, float]]:
    """The share of all squared distances [D, T, T] that each factor explains, over draws [D], and the share by chance.

    Distance-based analysis of variance (McArdle and Anderson 2001), each factor after those before it and all but the
    first within frameworks. By chance, a factor explains its degrees of freedom as a share of all.
    """
    count = len(parts)
    centre = np.eye(count) - 1 / count
    scatter = -0.5 * centre @ squares @ centre
    totals = np.trace(scatter, axis1=1, axis2=2)
    design, before, by_factor = np.ones((count, 1)), 1, {}
    kept = np.full((count, count), 1 / count)
    for factor in FACTORS:
        labels = [(part.framework, getattr(part, factor)) for part in parts]
        columns = [[float(label == kind) for kind in dict.fromkeys(labels)] for label in labels]
        design = np.hstack([design, np.array(columns)])
        basis, sizes, _ = np.linalg.svd(design, full_matrices=False)
        basis = basis[:, sizes > 1e-9 * sizes[0]]
        onto, rank = basis @ basis.T, basis.shape[1]
        if rank > before:
            of_factor = np.einsum("ij,dji->d", onto - kept, scatter)
            shares = np.divide(of_factor, totals, out=np.zeros(len(totals)), where=totals > 0)
            by_factor[factor] = shares, (rank - before) / (count - 1)
        kept, before = onto, rank
    return by_factor


def _of_seeds(within: np.ndarray) -> Arm:
    """The mean distance between two draws on one tooling, over toolings, and without each draw."""
    total = within.mean(axis=0)

    def mean(kept: np.ndarray) -> float:
        return float(total[np.ix_(kept, kept)][np.triu_indices(len(kept), 1)].mean()) if len(kept) > 1 else np.nan

    return jackknifed(mean, len(total))


def _of_pairs(sums: np.ndarray, counts: np.ndarray) -> Arm:
    """The mean distance between toolings over draws, and without each draw."""

    def mean(kept: np.ndarray) -> float:
        return float(sums[kept].sum() / counts[kept].sum()) if counts[kept].any() else np.nan

    return jackknifed(mean, len(sums))
