"""Components of an example's correctness, against those of each example and of each draw."""

import numpy as np
import pytest

from toolnoise.formulas.variance_components import PARTS, rows
from toolnoise.stats.components import components
from toolnoise.stats.estimates import positive_mean_t


def correctness(right, crossed):
    draws, runs, examples = right.shape
    predicted, table = right.reshape(-1, examples).astype(int), np.arange(draws * runs).reshape(draws, runs)
    found = {metric: estimate for metric, _, estimate in rows(predicted, np.ones(examples, int), table, crossed)}
    return {name: found[f"correctness_variance_{name}"] for name in PARTS}


@pytest.fixture
def right():
    draws = np.random.Generator(np.random.Philox(4))
    return draws.random((4, 3, 50)) < draws.random((4, 1, 50))


@pytest.mark.parametrize("crossed", [True, False])
@pytest.mark.parametrize("draws", [2, 4])
def test_each_part_is_the_mean_over_examples(right, draws, crossed):
    right = right[:draws]
    found = correctness(right, crossed)
    each = [components(right[:, :, example].astype(float), crossed) for example in range(50)]
    for name, part in PARTS.items():
        assert found[name].value == pytest.approx(np.mean([getattr(one, part).value for one in each]), nan_ok=True)
    assert np.isnan(found["algo"].low) == np.isnan(found["impl"].low) == (draws == 2)


def test_noise_within_draws_has_the_interval_of_a_mean_over_draws(right):
    right[0] = right[0, 0]  # without noise
    found = correctness(right, crossed=True)
    variances = right.var(axis=1, ddof=1).mean(axis=1)
    assert variances[0] == 0
    assert found["impl"] == pytest.approx(positive_mean_t(variances))
    # Each draw's rest, and what of it is the draw's own: see stats/components.py.
    rest = right - right.mean(axis=1, keepdims=True) - right.mean(axis=0) + right.mean(axis=(0, 1))
    squares = np.square(rest).sum(axis=1).mean(axis=1) * 4 / (3 * 2)
    assert found["interaction"] == pytest.approx(positive_mean_t((3 * squares - squares.mean()) / 2))
