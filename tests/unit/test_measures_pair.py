"""How many independent pairs of runs two toolings have."""

import numpy as np
import pytest

from toolnoise.analyses.frameworks import pair
from toolnoise.analyses.frameworks.cross_tooling import CROSS_TOOLING
from toolnoise.base import arrays, metric_files
from toolnoise.base.noise_sources import SOURCES

NAMES = ("smallcnn", "digits", "cpu", "noisy", "control")


@pytest.fixture
def measured(tmp_path, make_run, make_dump):
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
            paths = make_dump(logits, diverged=diverged, draws=dict.fromkeys(SOURCES, draws))
            kept = [path.rename(tmp_path / f"{name}{path.suffix}") for path in paths]
            sides += [*kept, [make_run(seed) for seed in range(1, len(predicted) + 1)]]
        pair.measure(NAMES, tmp_path / "d.npz", *sides, tmp_path / "out.csv")
        return metric_files.read(tmp_path / "out.csv", CROSS_TOOLING).set_index("metric")

    return measure


def predicted(*counts):
    """So many of eight examples are predicted as the second class, by each run."""
    return np.array([[place < count for place in range(8)] for count in counts], int)


def test_copies_are_one_pair_without_an_interval(measured):
    found = measured(predicted(4, 4, 4), predicted(6, 6, 6), [0, 0, 0], [False] * 3)
    assert set(found["n_runs"]) == {1}
    assert set(found["n_missing"]) == {0}
    assert found.loc["churn", "value"] == 0.25
    assert found["ci_low"].isna().all()


def test_pairs_of_other_draws_are_independent_unless_their_bits_are_equal(measured):
    found = measured(predicted(4, 5, 6, 4), predicted(6, 6, 6, 6), [1, 2, 3, 4], [False] * 4)
    assert set(found["n_runs"]) == {3}
    assert found.loc["churn", "value"] == pytest.approx((2 + 1 + 0) / 8 / 3, rel=1e-15)
    assert found.loc["churn", "ci_high"] > found.loc["churn", "value"]


def test_a_diverged_run_is_missing_and_no_unit(measured):
    found = measured(predicted(4, 5, 6), predicted(6, 6, 6), [1, 2, 3], [False, True, False])
    assert set(found["n_runs"]) == {2}
    assert set(found["n_missing"]) == {1}
