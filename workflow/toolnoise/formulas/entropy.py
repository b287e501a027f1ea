"""Cross-entropy of each run on the labels, in nats: the mean over examples of -log softmax(logits)[label]."""

import numpy as np

from toolnoise.formulas.likeliest import keeps_likeliest


def cross_entropies(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The cross-entropy of each run, [S], from logits [S, N, C] and labels [N]; infinite if a label is impossible."""
    return np.array([example_entropies(run, labels).mean() for run in logits])


def cross_entropies_of(member: np.ndarray, logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The same over the examples of a group, which `member` marks; NaN if it has none."""
    if not member.any():
        return np.full(len(logits), np.nan)
    return np.array([example_entropies(run[member], labels[member]).mean() for run in logits])


def example_entropies(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The cross-entropy of each example, [N], from the logits of one run [N, C], or its likeliest classes [N]."""
    if keeps_likeliest(logits):
        return -logits["label"].astype(np.float64)
    above = logits.astype(np.float64)
    above -= above.max(axis=1, keepdims=True)
    right = np.take_along_axis(above, labels[:, np.newaxis], axis=1)[:, 0]
    return np.log(np.exp(above).sum(axis=1)) - right
