"""How far runs of a language model end apart: perplexity, next-token distributions, segments and continuations.

A run's perplexity is e to the power of its mean cross-entropy. The divergence of two runs is that of Jensen and
Shannon, in bits: 0 for equal distributions, 1 for distributions without a token in common; its mean is over tokens. It
is a lower bound if a dump keeps only the likeliest tokens.
"""

from collections.abc import Mapping

import numpy as np
from scipy.special import softmax, xlogy

from toolnoise.base import metric_files
from toolnoise.base.errors import BadInput
from toolnoise.base.job import Input, Output, PlaceNames
from toolnoise.base.metric_files import CELL, MEASURE, Columns
from toolnoise.dumps.stacks import read_stack
from toolnoise.formulas import Row
from toolnoise.formulas.accuracy import cross_entropies, predictions
from toolnoise.formulas.declared import PERPLEXITY, SHARE, Metric, declare_spread, within_range
from toolnoise.formulas.groups import spread_rows
from toolnoise.formulas.likeliest import KEPT, keeps_all
from toolnoise.measures import by_draw, noise
from toolnoise.measures.reading import count_finished, predictions_of
from toolnoise.stats.estimates import positive_mean_t
from toolnoise.stats.jackknife import Pairs, pairwise_jackknife, within_blocks

LANGUAGE: Columns = {**CELL, **MEASURE}
DECLARED: Mapping[str, Metric] = {
    **declare_spread("perplexity", PERPLEXITY),
    "divergence": Metric(SHARE, positive_mean_t),
    "segment_churn": Metric(SHARE, positive_mean_t),
    "continuation_churn": Metric(SHARE, positive_mean_t),
    "continuation_left": Metric(SHARE, positive_mean_t),
}
BLOCK = 2**20  # probabilities of all runs in float64 at a time


def language_rows(logits: np.ndarray, labels: np.ndarray, units: int, texts: np.ndarray) -> list[Row]:
    """The rows of runs with logits [S, U, C] on labels [U], in segments of `units`, with continuations [S, P, L]."""
    perplexities = np.exp(cross_entropies(logits, labels))
    rows = spread_rows("perplexity", "all", perplexities)
    answers = predictions(logits).reshape(len(logits), -1, units)

    def of(runs: slice) -> list[Pairs]:
        return [
            Pairs.of(matrix)
            for matrix in (
                pairwise_divergences(logits[runs]) if keeps_all(logits) else least_divergences(logits[runs]),
                share_changed(answers[runs]),
                share_changed(texts[runs]),
                share_after_parting(texts[runs]),
            )
        ]

    names = ("divergence", "segment_churn", "continuation_churn", "continuation_left")
    pairs = zip(names, within_blocks(len(logits), of), strict=True)
    rows += [(name, "all", pairwise_jackknife(of_pairs)) for name, of_pairs in pairs]
    return within_range(rows, DECLARED)


def pairwise_divergences(logits: np.ndarray) -> np.ndarray:
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


def least_divergences(kept: np.ndarray) -> np.ndarray:
    """A lower bound of the divergences, from the likeliest classes of each unit [S, U].

    Classes that both runs have kept stay apart. Those that one run alone has kept are merged, and so are all others;
    the better choice of that run counts. Merging brings no two distributions further apart.
    """
    runs, units = kept.shape
    total, step = np.zeros((runs, runs)), max(1, BLOCK // (runs * KEPT**2))
    for start in range(0, units, step):
        block = kept[:, start : start + step]
        shares = np.exp(block["scores"].astype(np.float64))
        for run in range(runs):
            for other in range(run + 1, runs):
                total[run, other] += _least(block["classes"][[run, other]], shares[[run, other]]).sum()
    return (total + total.T) / (units * np.log(2))


def _least(classes: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """The bound of each unit, [U], from the kept classes of two runs and their shares [2, U, K]: the better of two."""
    same = classes[0][:, :, np.newaxis] == classes[1][:, np.newaxis]
    both = np.stack([np.where(same.any(2), shares[0], 0), (same * shares[1][:, np.newaxis]).sum(axis=2)])
    remaining = np.maximum(1 - both.sum(axis=2), 0)
    bounds = []
    for run, other in ((0, 1), (1, 0)):
        # A class that the other run has not kept is at most as likely there as the least likely class that it has kept.
        alone = np.where(same.any(2 - run), 0, shares[run])
        most = np.count_nonzero(alone, axis=1) * shares[other][:, -1]
        mine = np.minimum(alone.sum(axis=1), remaining[run])
        # The divergence is least if both divide their remaining share alike, or as nearly as the limit allows.
        fraction = np.divide(mine, remaining[run], out=np.zeros_like(mine), where=remaining[run] > 0)
        theirs = np.minimum(remaining[other] * fraction, most)
        parts = {run: mine, other: theirs}
        divided = [np.stack([parts[place], remaining[place] - parts[place]], axis=1) for place in (0, 1)]
        first, second = (np.concatenate([both[place], divided[place]], axis=1) for place in (0, 1))
        bounds.append(_entropies((first + second) / 2) - (_entropies(first) + _entropies(second)) / 2)
    return np.maximum(np.maximum(*bounds), 0)


def share_changed(tokens: np.ndarray) -> np.ndarray:
    """The share of sequences in which two runs differ in a token, [S, S], from their tokens [S, P, L]."""
    return np.array([(tokens != of_run).any(axis=-1).mean(axis=-1) for of_run in tokens]).reshape((len(tokens),) * 2)


def share_after_parting(tokens: np.ndarray) -> np.ndarray:
    """The mean share of a sequence from the first token on in which two runs differ, [S, S]."""
    parted = (np.logical_or.accumulate(tokens != of_run, axis=-1).mean(axis=(1, 2)) for of_run in tokens)
    return np.array(list(parted)).reshape((len(tokens),) * 2)


def _entropies(shares: np.ndarray) -> np.ndarray:
    return -xlogy(shares, shares).sum(axis=-1)


def measure(
    cell: PlaceNames,
    study_seed: int,  # noqa: ARG001 (every measure of a cell is given it)
    data: Input,
    logits: Input,
    index: Input,
    texts: Input,
    texts_index: Input,
    *,
    out: Output,
) -> None:
    """Write the measures of one cell; diverged runs count as missing."""
    dump, dataset = predictions_of(data, logits, index)
    written, about = read_stack(texts, texts_index, {"seeds": 0, "diverged": 0}, "dump-continuations", {})
    if about["seeds"] != dump.seeds or about["diverged"] != dump.diverged:
        raise BadInput(texts_index, "seeds", f"found {about['seeds']}", f"the runs of {index}")
    together, scores = by_draw.group_by_draw(dump.kept_draws), dump.kept
    texts_of = written[dump.finished]

    def of_draw(chosen: np.ndarray) -> list[Row]:
        stack, labels = noise.some_of(scores, chosen), dataset.test.labels
        return language_rows(stack, labels, dataset.test.units, texts_of[chosen])

    rows = by_draw.over_draws([of_draw(chosen) for chosen in together.groups], DECLARED)
    number = count_finished(dump.finished)
    metric_files.write_metrics(out, LANGUAGE, [(*cell, *names, *estimate, *number) for *names, estimate in rows])
