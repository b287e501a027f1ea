"""How far runs of a language model end apart: perplexity, next-token distributions, segments and continuations.

A run's perplexity is e to the power of its mean cross-entropy. The divergence of two runs is that of Jensen and
Shannon, in bits: 0 for equal distributions, 1 for distributions without a token in common; its mean is over tokens.
"""

from collections.abc import Mapping

import numpy as np
from scipy.special import softmax, xlogy

from toolnoise.base.metric_files import CELL, MEASURE, Columns
from toolnoise.formulas import Row
from toolnoise.formulas.declared import POSITIVE, SHARE, Metric, bounded, spread
from toolnoise.formulas.entropy import cross_entropies
from toolnoise.formulas.equal_runs import value_step, with_width
from toolnoise.formulas.groups import spread_rows
from toolnoise.stats.estimates import positive_mean_t
from toolnoise.stats.jackknife import Pairs, pairwise_jackknife, within_blocks

LANGUAGE: Columns = {**CELL, **MEASURE}
DECLARED: Mapping[str, Metric] = {
    **spread("perplexity", POSITIVE),
    "divergence": Metric(SHARE, positive_mean_t),
    "segment_churn": Metric(SHARE, positive_mean_t),
    "continuation_churn": Metric(SHARE, positive_mean_t),
    "continuation_left": Metric(SHARE, positive_mean_t),
}
BLOCK = 2**20  # probabilities of all runs in float64 at a time


def language(
    logits: np.ndarray, labels: np.ndarray, units: int, texts: np.ndarray, equal: bool, stream: int
) -> list[Row]:
    """The rows of runs with logits [S, U, C] on labels [U], in segments of `units`, and with continuations [S, P, L].

    `equal` says whether the runs are bit-equal.
    """
    perplexities = np.exp(cross_entropies(logits, labels))
    rows = spread_rows("perplexity", "all", perplexities, value_step(equal), stream)
    answers = logits.argmax(axis=-1).reshape(len(logits), -1, units)

    def of(runs: slice) -> list[Pairs]:
        return [
            Pairs.of(matrix)
            for matrix in (
                divergences(logits[runs]),
                changed(answers[runs]),
                changed(texts[runs]),
                left(texts[runs]),
            )
        ]

    names = ("divergence", "segment_churn", "continuation_churn", "continuation_left")
    pairs = zip(names, within_blocks(len(logits), of), strict=True)
    rows += [(name, "all", pairwise_jackknife(of_pairs)) for name, of_pairs in pairs]
    return bounded(with_width(rows, equal), DECLARED)


def divergences(logits: np.ndarray) -> np.ndarray:
    """The mean Jensen-Shannon divergence of every two runs in bits, [S, S], from logits [S, U, C]."""
    runs, units, classes = logits.shape
    total, step = np.zeros((runs, runs)), max(1, BLOCK // (runs * classes))
    for start in range(0, units, step):
        shares = softmax(logits[:, start : start + step].astype(np.float64), axis=-1)
        entropies = _entropies(shares)
        for run in range(runs):
            for other in range(run + 1, runs):
                between = _entropies((shares[run] + shares[other]) / 2)
                # Rounding aside, no divergence is negative.
                apart = np.maximum(between - (entropies[run] + entropies[other]) / 2, 0)
                total[run, other] += apart.sum()
    return (total + total.T) / (units * np.log(2))


def changed(tokens: np.ndarray) -> np.ndarray:
    """The share of sequences in which two runs differ in a token, [S, S], from their tokens [S, P, L]."""
    return np.array([(tokens != of_run).any(axis=-1).mean(axis=-1) for of_run in tokens]).reshape((len(tokens),) * 2)


def left(tokens: np.ndarray) -> np.ndarray:
    """The share of each sequence from the first token on in which two runs differ; the mean, [S, S]."""
    parted = (np.logical_or.accumulate(tokens != of_run, axis=-1).mean(axis=(1, 2)) for of_run in tokens)
    return np.array(list(parted)).reshape((len(tokens),) * 2)


def _entropies(shares: np.ndarray) -> np.ndarray:
    return -xlogy(shares, shares).sum(axis=-1)
