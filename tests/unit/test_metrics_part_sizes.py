"""The SD at other sizes of a test set, against all subsets of a few examples and by NumPy alone."""

import itertools

import numpy as np
import pytest

from toolnoise.analyses.rarity.metric import sd_by_size, sizes
from toolnoise.stats.spread import root_mean_square, sd_chi2
from toolnoise.stats.testset import independent_errors_sd

DRAWS = np.random.Generator(np.random.Philox(11))
# Runs that are better or worse as a whole, on examples that are easy or hard.
WRONG = DRAWS.random((6, 16)) < np.clip(DRAWS.normal(0.4, 0.15, (6, 1)) + DRAWS.normal(0, 0.2, 16), 0.02, 0.98)


def found(wrong, groups=None):
    rows = sd_by_size(wrong, groups or [np.arange(len(wrong))])
    return {(name, size): estimate for name, size, estimate in rows}


def test_sizes_are_halved_down_to_eight():
    assert sizes(1000) == [1000, 500, 250, 125, 62, 31, 15]
    assert sizes(9) == [9]
    assert sizes(0) == []


def test_the_variance_is_the_mean_over_all_parts_of_the_size():
    every = [WRONG[:, list(part)].mean(axis=1).var(ddof=1) for part in itertools.combinations(range(16), 8)]
    assert found(WRONG)["sd", 8].value ** 2 == pytest.approx(np.mean(every), rel=1e-12)


def test_at_full_size_it_is_the_sd_of_the_runs():
    whole = found(WRONG)
    assert whole["sd", 16].value == pytest.approx(sd_chi2(WRONG.mean(axis=1)).value, rel=1e-12)
    assert whole["sd_independent_null", 16].value == pytest.approx(independent_errors_sd(WRONG), rel=1e-12)
    assert whole["sd_independent_null", 8].value == pytest.approx(np.sqrt(2) * independent_errors_sd(WRONG), rel=1e-12)


def test_variances_are_averaged_over_draws_and_the_interval_is_over_draws():
    groups = [np.array([0, 1]), np.array([2, 3]), np.array([4, 5])]
    each = [WRONG[group].mean(axis=1).std(ddof=1) for group in groups]
    assert found(WRONG, groups)["sd", 16] == pytest.approx(root_mean_square(np.array(each)), rel=1e-12)
    # A draw of one run has no variance of its own.
    assert found(WRONG[:5], [*groups[:2], np.array([4])])["sd", 16].value == pytest.approx(
        np.sqrt(np.mean(np.square(each[:2])))
    )


@pytest.mark.parametrize("runs", [0, 1, 2])
def test_too_few_runs_have_no_interval(runs):
    for estimate in found(WRONG[:runs]).values():
        assert np.isnan(estimate[1:]).all()
        assert np.isnan(estimate.value) == (runs < 2)


def test_equal_runs_have_an_sd_of_0():
    assert found(np.repeat(WRONG[:1], 4, axis=0))["sd", 8] == pytest.approx((0, np.nan, np.nan), nan_ok=True)
