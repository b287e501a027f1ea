"""Accuracy and cross-entropy of each run.

Accuracies are fractions between 0 and 1, never percent, and exactly count / number: runs with equally many correct
predictions have bit-equal accuracies. Cross-entropy is in nats: the mean over examples of -log softmax(logits)[label].
"""

import numpy as np

from toolnoise.formulas.likeliest import keeps_likeliest


def predictions(logits: np.ndarray) -> np.ndarray:
    """The predicted class of each run and example, [S, N], from logits [S, N, C] or from the likeliest classes [S, N].

    Ties go to the first class.
    """
    if keeps_likeliest(logits):
        return logits["classes"][..., 0]
    # The smallest integer type, because the predictions of many runs may fill the memory.
    predicted = np.empty(logits.shape[:-1], np.min_scalar_type(max(0, logits.shape[-1] - 1)))
    for run, classes in zip(logits, predicted, strict=True):  # one run at a time: NumPy copies a read-only memory map
        classes[...] = run.argmax(axis=-1)
    return predicted


def accuracies(predictions: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The accuracy of each run, [S], from its predictions [S, N]."""
    return np.count_nonzero(predictions == labels, axis=1) / len(labels)


def class_accuracies(predictions: np.ndarray, labels: np.ndarray, classes: int) -> np.ndarray:
    """The accuracy of each run on the examples of each class, [S, C]; NaN for a class without examples."""
    result = np.full((len(predictions), classes), np.nan)
    if not classes:  # too many for rows of their own
        return result
    sizes = np.bincount(labels, minlength=classes)
    for run, right in enumerate(predictions == labels):
        np.divide(np.bincount(labels[right], minlength=classes), sizes, out=result[run], where=sizes > 0)
    return result


def cross_entropies(logits: np.ndarray, labels: np.ndarray, member: np.ndarray | None = None) -> np.ndarray:
    """The cross-entropy of each run, [S], from logits [S, N, C] and labels [N]; infinite if a label is impossible.

    With `member`, the mean is over the examples that it marks; NaN if it marks none.
    """
    chosen = slice(None) if member is None else member
    if not len(labels[chosen]):
        return np.full(len(logits), np.nan)
    return np.array([example_entropies(run[chosen], labels[chosen]).mean() for run in logits])


def example_entropies(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The cross-entropy of each example, [N], from the logits of one run [N, C], or its likeliest classes [N]."""
    if keeps_likeliest(logits):
        return -logits["label"].astype(np.float64)
    above = logits.astype(np.float64)
    above -= above.max(axis=1, keepdims=True)
    right = np.take_along_axis(above, labels[:, np.newaxis], axis=1)[:, 0]
    return np.log(np.exp(above).sum(axis=1)) - right
