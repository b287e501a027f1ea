"""Two toolings: how far apart their runs are, and how many independent pairs of runs they have."""

import numpy as np
import pytest
from numpy.testing import assert_equal

from toolnoise.base import arrays, metric_files
from toolnoise.base.noise_sources import DRAWN
from toolnoise.papers.frameworks import pair
from toolnoise.papers.frameworks.pair import CROSS_TOOLING, cross_tooling
from toolnoise.stats.estimates import Estimate

LABELS = np.array([0, 1, 0, 1])
METRICS = ["churn", "l2_unit", "l2_raw", "accuracy_difference"]


def logits(predicted):
    return np.eye(2, dtype=np.float32)[np.array(predicted)]


A = logits([[0, 1, 0, 1], [0, 1, 0, 0]])
B = logits([[0, 1, 0, 0], [1, 0, 0, 0]])
WEIGHTS_A = np.array([[3, 4], [1, 0]], np.float32)
WEIGHTS_B = np.array([[6, 8], [0, 1]], np.float32)


def measured(*arguments, units=None):
    units = [[run] for run in range(len(arguments[0]))] if units is None else units
    rows = cross_tooling(*arguments, [np.array(runs) for runs in units])
    assert [(metric, group) for metric, group, _ in rows] == [(metric, "all") for metric in METRICS]
    return {metric: estimate for metric, _, estimate in rows}


def test_each_run_is_compared_with_the_run_of_its_seed():
    found = measured(A, B, LABELS, WEIGHTS_A, WEIGHTS_B)
    assert found["churn"].value == (1 / 4 + 2 / 4) / 2
    assert found["l2_raw"].value == pytest.approx((5 + np.sqrt(2)) / 2, rel=1e-15)
    assert found["l2_unit"].value == pytest.approx(np.sqrt(2) / 2, rel=1e-15)
    assert found["accuracy_difference"].value == ((3 / 4 - 1) + (1 / 4 - 3 / 4)) / 2


def test_intervals_within_the_range_are_students():
    a = logits(np.zeros((4, 100), int))
    predicted = np.zeros((4, 100), int)
    for run, different in enumerate([50, 51, 52, 53]):
        predicted[run, :different] = 1
    weights = np.eye(4)
    churn = measured(a, logits(predicted), np.zeros(100, int), weights, weights)["churn"]
    half = 3.1824463 * np.sqrt(5 / 3) / 100 / 2  # t at .975 with 3 degrees of freedom, from a printed table
    assert churn == pytest.approx((0.515, 0.515 - half, 0.515 + half), rel=1e-7)


def test_toolings_under_control_are_compared_once_and_without_interval():
    a, b = np.repeat(A[:1], 5, axis=0), np.repeat(B[:1], 5, axis=0)
    weights = np.repeat(WEIGHTS_A[1:], 5, axis=0), np.repeat(WEIGHTS_B[1:], 5, axis=0)
    found = measured(a, b, LABELS, *weights, units=[range(5)])
    assert found["churn"].value == 0.25
    for value, low, high in found.values():
        assert value != 0
        assert np.isnan([low, high]).all()


def test_a_tooling_against_itself_is_exactly_zero_and_one_run_has_no_interval_and_none_has_nothing():
    for estimate in measured(A, A, LABELS, WEIGHTS_A, WEIGHTS_A).values():
        assert_equal(estimate, Estimate(0.0))
    for value, low, high in measured(A[:1], B[:1], LABELS, WEIGHTS_A[:1], WEIGHTS_B[:1]).values():
        assert np.isfinite(value)
        assert np.isnan([low, high]).all()
    assert np.isnan(list(measured(A[:0], B[:0], LABELS, WEIGHTS_A[:0], WEIGHTS_B[:0]).values())).all()


# How many independent pairs of runs two toolings have


NAMES = ("smallcnn", "digits", "cpu", "noisy", "control")


@pytest.fixture
def measured_pair(tmp_path, make_run, make_dump):
    """Measure a pair of toolings whose runs predict so; returns the rows of the file."""
    labels = np.arange(8) % 2
    splits = [
        {f"{part}_images": np.zeros((8, 2, 2, 1), np.uint8), f"{part}_labels": labels} for part in ("train", "test")
    ]
    arrays.write_npz(
        tmp_path / "d.npz", splits[0] | splits[1] | {"maximum": np.array(255), "classes": np.array(["a", "b"])}
    )

    def measure(one, other, draws, diverged):
        sides = []
        for name, predicted in (("one", one), ("other", other)):
            logits = 4 * np.eye(2, dtype=np.float32)[predicted] - 2
            logits[diverged] = np.nan
            paths = make_dump(logits, name, diverged=diverged, draws=dict.fromkeys(DRAWN, draws))
            sides += [*paths, [make_run(seed) for seed in range(1, len(predicted) + 1)]]
        pair.measure(NAMES, tmp_path / "d.npz", *sides, out=tmp_path / "out.csv")
        return metric_files.read(tmp_path / "out.csv", CROSS_TOOLING).set_index("metric")

    return measure


def predicted(*counts):
    """So many of eight examples are predicted as the second class, by each run."""
    return np.array([[place < count for place in range(8)] for count in counts], int)


def test_copies_are_one_pair_without_an_interval(measured_pair):
    found = measured_pair(predicted(4, 4, 4), predicted(6, 6, 6), [0, 0, 0], [False] * 3)
    assert set(found["n_runs"]) == {1}
    assert set(found["n_missing"]) == {0}
    assert found.loc["churn", "value"] == 0.25
    assert found["ci_low"].isna().all()


def test_pairs_of_other_draws_are_independent_unless_their_bits_are_equal(measured_pair):
    found = measured_pair(predicted(4, 5, 6, 4), predicted(6, 6, 6, 6), [1, 2, 3, 4], [False] * 4)
    assert set(found["n_runs"]) == {3}
    assert found.loc["churn", "value"] == pytest.approx((2 + 1 + 0) / 8 / 3, rel=1e-15)
    assert found.loc["churn", "ci_high"] > found.loc["churn", "value"]


def test_a_diverged_run_is_missing_and_no_unit(measured_pair):
    found = measured_pair(predicted(4, 5, 6), predicted(6, 6, 6), [1, 2, 3], [False, True, False])
    assert set(found["n_runs"]) == {2}
    assert set(found["n_missing"]) == {1}
