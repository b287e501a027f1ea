"""What is a softmax's output, what is not."""

import numpy as np
import pytest

from toolnoise.formulas.probabilities import kind

LOGITS = np.random.Generator(np.random.Philox(1)).normal(size=(2, 50, 4))
SOFTMAX = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=-1, keepdims=True)


@pytest.mark.parametrize(
    ("scores", "found"),
    [
        (LOGITS, "logits"),
        (np.log(SOFTMAX), "logits"),
        (np.maximum(LOGITS, 0) * 3, "logits"),  # after a ReLU
        (SOFTMAX, "probabilities"),
        (SOFTMAX.astype(np.float16), "probabilities"),
        (np.eye(4)[LOGITS.argmax(axis=-1)], "probabilities"),
        (100 * SOFTMAX, "neither"),  # in percent
        (np.round(255 * SOFTMAX).astype(np.uint8), "neither"),
        (1 / (1 + np.exp(-LOGITS)), "neither"),  # a sigmoid of each class
        (np.where(SOFTMAX > 0.2, SOFTMAX, 0), "neither"),  # only the likely classes
    ],
)
def test_the_kind_of_scores_shows_in_their_range_and_their_sums(scores, found):
    assert kind(scores) == found
