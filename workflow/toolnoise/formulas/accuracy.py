"""Accuracy of each run, over all examples and per class.

All values are fractions between 0 and 1, never percent, and exactly count / number: runs with equally many correct
predictions have bit-equal accuracies.
"""

import numpy as np

from toolnoise.formulas.likeliest import keeps_likeliest


def predictions(logits: np.ndarray) -> np.ndarray:
    """The predicted class of each run and example, [S, N], from logits [S, N, C] or from the likeliest classes [S, N].

    Ties go to the first class.
    """
    if keeps_likeliest(logits):
        return logits["classes"][..., 0]
    # The smallest integers: of many runs, predictions may have as many bytes as the memory.
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
    if not classes:  # more than have rows of their own
        return result
    sizes = np.bincount(labels, minlength=classes)
    for run, right in enumerate(predictions == labels):
        np.divide(np.bincount(labels[right], minlength=classes), sizes, out=result[run], where=sizes > 0)
    return result
