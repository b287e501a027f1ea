"""Tests between identical runs: which sets are compared, and the p-values of SciPy that their analysis uses."""

import numpy as np
import pytest
from scipy import stats

from toolnoise.analyses.identical.metric import CRITERIA
from toolnoise.analyses.identical.significance import levene, mann_whitney
from toolnoise.analyses.identical.significance import tests as compared

DRAWS = np.random.Generator(np.random.Philox(5))


def runs(
    network="lenet1", hardware="v100", variant="impl", criteria=("lowest-loss", "best-accuracy"), count=6, **given
):
    about = {"network": network, "dataset": "mnist", "hardware": hardware, "variant": variant, "status": "counted"}
    names = ("accuracy", "class_accuracy", "convergent", "convergent_epoch")
    values = {name: DRAWS.normal(size=count) for name in names} | given
    return [
        about | {"stopping_type": criterion} | {name: mine[run] for name, mine in values.items()}
        for criterion in criteria
        for run in range(count)
    ]


def sets(rows):
    found = {}
    for one in compared(rows):
        different = [field for field in one.a._fields if getattr(one.a, field) != getattr(one.b, field)]
        found.setdefault(one.comparison, []).append((one.quantity, *different))
    return found


def test_fixed_seeds_are_compared_with_default_runs_of_the_same_training():
    found = sets([*runs(), *runs(variant="algo_impl"), *runs(variant="control")])
    assert found["seeds"] == [("accuracy", "variant"), ("class_accuracy", "variant")]
    assert set(found) == {"seeds", "criteria"}


def test_networks_and_toolings_are_compared_by_their_runs_with_fixed_seeds():
    rows = [*runs(), *runs("lenet5"), *runs(hardware="h100"), *runs("lenet5", variant="algo_impl")]
    found = sets(rows)
    assert found["networks"] == [("accuracy", "network"), ("class_accuracy", "network")]
    assert found["toolings"] == [("accuracy", "hardware"), ("convergent_epoch", "hardware")]


def test_criteria_are_compared_by_the_convergence_of_the_same_runs():
    assert sets(runs())["criteria"] == [("convergent", "stopping_type"), ("convergent_epoch", "stopping_type")]
    assert sets(runs(criteria=("last",))) == {}
    assert {"lowest-loss", "best-accuracy"} <= set(CRITERIA)


def test_only_runs_that_count_and_have_converged_are_tested():
    epochs = np.array([3, 4, np.nan, 5, 6, 7])
    rows = [*runs(convergent_epoch=epochs), *runs(hardware="h100")]
    rows[0]["status"] = "weak"
    accuracy, epoch = (one for one in compared(rows) if one.comparison == "toolings")
    assert (accuracy.n_a, accuracy.n_b, epoch.n_a) == (5, 6, 4)


def test_p_values_are_scipys_levene_around_medians_and_two_sided_mann_whitney():
    a, b = DRAWS.normal(size=16), 2 * DRAWS.normal(size=16) + 1
    assert levene(a, b) == stats.levene(a, b).pvalue
    greater, less = (
        stats.mannwhitneyu(a, b, alternative=side, method="asymptotic").pvalue for side in ("greater", "less")
    )
    assert mann_whitney(a, b) == pytest.approx(2 * min(greater, less))
    (one, _) = (
        one
        for one in compared([*runs(accuracy=a[:6]), *runs(hardware="h100", accuracy=b[:6])])
        if one.comparison == "toolings"
    )
    assert (one.levene, one.mann_whitney) == (levene(a[:6], b[:6]), mann_whitney(a[:6], b[:6]))


@pytest.mark.parametrize("test", [levene, mann_whitney])
def test_equal_runs_and_too_few_have_no_p_value(test):
    same = np.full(5, 0.9)
    assert np.isnan(test(same, same))
    assert np.isnan(test(np.array([]), same))
    assert np.isnan(levene(np.array([1.0]), same))


def test_an_arm_without_spread_differs_from_one_with_some():
    assert 0 < levene(np.full(5, 0.9), np.arange(5.0)) < 0.2
    assert mann_whitney(np.full(5, 0.9), np.full(5, 0.8)) < 0.05
