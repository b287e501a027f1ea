"""Rarity: the figure's numbers, and the SD at other sizes of a test set."""

import itertools

import numpy as np
import pandas as pd
import pytest

from toolnoise import streams
from toolnoise.analyses.rarity import draw as rarity
from toolnoise.analyses.rarity.metric import sd_by_size, sizes
from toolnoise.datasets.counting import COUNTS
from toolnoise.figures import selection
from toolnoise.formulas.accuracy import predictions
from toolnoise.formulas.groups import of_difficulty, of_size, rates
from toolnoise.formulas.stability import STABILITY, of_all_draws, stability
from toolnoise.formulas.weights import apart
from toolnoise.stats.spread import root_mean_square, sd_chi2
from toolnoise.stats.testset import independent_errors_sd

# The numbers of the figure `rarity`, from metric files that the measures wrote


LABELS = np.arange(200) % 2
DEER = (LABELS == 1) & (np.arange(200) % 5 == 0)
SHARES = {"deer-10": 10, "deer-100": 100}
RUNS = 5


def logits_of(dataset):
    draws = np.random.Generator(np.random.Philox(SHARES[dataset]))
    return (draws.normal(size=(RUNS, 200, 2)) + 0.8 * np.eye(2)[LABELS]).astype(np.float32)


@pytest.fixture(scope="module")
def found():
    """The rows of the figure for two data sets, given with the larger share first."""
    rows, counts = [], []
    for dataset, count in reversed(SHARES.items()):
        cell = ("small", dataset, "cpu", "algo")
        logits = logits_of(dataset)
        measured = stability(logits, LABELS, {"deer": DEER}, apart(np.ones((RUNS, 3))), streams.key(0, "init", 1))
        measured += of_all_draws(predictions(logits), LABELS, 2, {"deer": DEER}, [np.arange(RUNS)], measured)
        measured.append(("n_draws", "all", (float(RUNS), np.nan, np.nan)))
        rows += [(*cell, metric, group, *estimate, RUNS, 0) for metric, group, estimate in measured]
        counts += [(dataset, "train", "all", "all", 1000), (dataset, "train", "deer", "all", count)]
        counts += [(dataset, "test", name, "1", number) for name, number in (("all", 100), ("deer", 20))]
    tables = (pd.DataFrame(given, columns=list(columns)) for given, columns in ((rows, STABILITY), (counts, COUNTS)))
    return rarity.against_share(*tables, ["cpu"], [["small", dataset] for dataset in SHARES])


def one(found, dataset, quantity):
    (row,) = found[(found["dataset"] == dataset) & (found["quantity"] == quantity)].itertuples()
    return row


def test_rows_are_in_the_order_of_the_shares(found):
    assert found["share"].unique().tolist() == [0.01, 0.1]


@pytest.mark.parametrize("dataset", SHARES)
def test_the_groups_noise_is_that_of_its_own_test_examples(dataset, found):
    predicted = predictions(logits_of(dataset))
    errors = (predicted != LABELS)[:, DEER]
    assert one(found, dataset, "rate").value == pytest.approx(errors.mean())
    assert one(found, dataset, "sd").value == pytest.approx(errors.mean(axis=1).std(ddof=1))
    pairs = [(a, b) for a in range(RUNS) for b in range(a)]
    assert one(found, dataset, "churn").value == pytest.approx(
        np.mean([(predicted[a] != predicted[b])[DEER].mean() for a, b in pairs])
    )


@pytest.mark.parametrize("dataset", SHARES)
def test_nulls_scale_the_sd_of_all_by_size_and_by_difficulty(dataset, found):
    part, whole = (
        rates(predictions(logits_of(dataset)), LABELS, 2, member)["fnr"] for member in (DEER, np.ones(200, bool))
    )
    of_all = np.std(whole.values, ddof=1)
    for name, null in (("size", of_size([part], [whole])), ("difficulty", of_difficulty([part], [whole]))):
        row = one(found, dataset, f"sd by {name}")
        assert (row.value, row.ci_low, row.ci_high) == pytest.approx(of_all * np.array(null.range(RUNS - 1)))
    assert one(found, dataset, "sd by size").value == pytest.approx(np.sqrt(5) * of_all)


def test_churn_by_difficulty_is_the_groups_own_if_its_place_in_the_range_is_that_of_all():
    churn, place, rate = 0.2, 0.4, 0.3
    by_errors = rarity._churn_by_errors(churn, place, rate, rarity.Estimate(place, 0.3, 0.5))
    assert by_errors.value == pytest.approx(churn)
    least = (churn - place * 0.6) / (1 - place)
    assert by_errors.high == pytest.approx(least + 0.5 * (0.6 - least))


def test_several_draws_of_two_runs_have_a_degree_of_freedom_each():
    assert selection.freedom(10, 5) == 5
    assert selection.freedom(10, 10) == 9
    assert selection.freedom(10, 1) == 9


# The SD at other sizes of a test set, against all subsets of a few examples and by NumPy alone


DRAWS = np.random.Generator(np.random.Philox(11))
# Runs that are better or worse as a whole, on examples that are easy or hard.
WRONG = DRAWS.random((6, 16)) < np.clip(DRAWS.normal(0.4, 0.15, (6, 1)) + DRAWS.normal(0, 0.2, 16), 0.02, 0.98)


def found_sizes(wrong, groups=None):
    rows = sd_by_size(wrong, groups or [np.arange(len(wrong))])
    return {(name, size): estimate for name, size, estimate in rows}


def test_sizes_are_halved_down_to_eight():
    assert sizes(1000) == [1000, 500, 250, 125, 62, 31, 15]
    assert sizes(9) == [9]
    assert sizes(0) == []


def test_the_variance_is_the_mean_over_all_parts_of_the_size():
    every = [WRONG[:, list(part)].mean(axis=1).var(ddof=1) for part in itertools.combinations(range(16), 8)]
    assert found_sizes(WRONG)["sd", 8].value ** 2 == pytest.approx(np.mean(every), rel=1e-12)


def test_at_full_size_it_is_the_sd_of_the_runs():
    whole = found_sizes(WRONG)
    assert whole["sd", 16].value == pytest.approx(sd_chi2(WRONG.mean(axis=1)).value, rel=1e-12)
    assert whole["sd_independent_null", 16].value == pytest.approx(independent_errors_sd(WRONG), rel=1e-12)
    assert whole["sd_independent_null", 8].value == pytest.approx(np.sqrt(2) * independent_errors_sd(WRONG), rel=1e-12)


def test_variances_are_averaged_over_draws_and_the_interval_is_over_draws():
    groups = [np.array([0, 1]), np.array([2, 3]), np.array([4, 5])]
    each = [WRONG[group].mean(axis=1).std(ddof=1) for group in groups]
    wanted = root_mean_square(np.array(each)).within(0, 0.5)
    assert found_sizes(WRONG, groups)["sd", 16] == pytest.approx(wanted, rel=1e-12)
    # A draw of one run has no variance of its own.
    assert found_sizes(WRONG[:5], [*groups[:2], np.array([4])])["sd", 16].value == pytest.approx(
        np.sqrt(np.mean(np.square(each[:2])))
    )


@pytest.mark.parametrize("runs", [0, 1, 2])
def test_too_few_runs_have_no_interval(runs):
    for estimate in found_sizes(WRONG[:runs]).values():
        assert np.isnan(estimate[1:]).all()
        assert np.isnan(estimate.value) == (runs < 2)


def test_equal_runs_have_an_sd_of_0():
    assert found_sizes(np.repeat(WRONG[:1], 4, axis=0))["sd", 8] == pytest.approx((0, np.nan, np.nan), nan_ok=True)
