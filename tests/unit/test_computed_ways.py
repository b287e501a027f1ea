"""One training computed in other ways: which toolings are such ways, and what is measured of them."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_equal

from toolnoise import steps
from toolnoise.analyses.invariances import draw, metric
from toolnoise.analyses.invariances.study import tasks, ways
from toolnoise.stats.estimates import Estimate
from toolnoise.study import entries
from toolnoise.study.cells import Task

TASK = Task("smallcnn", "digits")
TORCH = {"accelerator": "cpu", "engine": "torch", "impl_noise": "reduction-order"}
OWN = {
    "two": TORCH | {"world": 2},
    "plain": TORCH,
    "parts": TORCH | {"accumulate": 4, "impl_noise": "native"},
    "threads": TORCH | {"threads": 2},
    "both": TORCH | {"accumulate": 2, "threads": 2},
}


@pytest.fixture
def divided(written, built):
    """A study on toolings that divide batches and on others."""
    written["hardware"] = OWN
    block = {"hardware": ["cpu", *OWN], "variants": ["algo", "impl", "control"], "seeds": 2}
    written["grid"] = [written["grid"][0] | block]
    return built(written)


def test_a_way_differs_in_one_setting_from_the_first_that_divides_no_batch(divided):
    assert ways(divided, TASK) == {"plain": "", "two": "world 2", "parts": "accumulate 4", "threads": "threads 2"}
    (job,) = (job for job in steps.jobs(divided) if job.verb == "measure-ways")
    assert {variant for _, variant in job.parameters["cells"]} == {"algo", "control"}
    assert {name for name, _ in job.parameters["cells"]} == {"plain", "two", "parts", "threads"}
    (figure,) = (figure for figure in divided.figures if figure.notebook == "invariances")
    assert steps.metric_files(divided, figure)["invariances"] == [
        "results/tiny/metrics/invariances/smallcnn/digits.csv"
    ]


def test_a_study_whose_toolings_divide_no_batch_has_no_ways(built, written):
    assert tasks(built(written)) == []


def test_a_run_in_several_processes_keeps_as_many_cores_busy(divided):
    assert [entries.cores(divided.tooling(name), {}) for name in ("plain", "two", "threads")] == [1, 2, 2]


GENERATOR = np.random.default_rng(5)
# [draw, example, class]
LOGITS = GENERATOR.normal(size=(4, 60, 3))
OTHERS = LOGITS + 0.3 * GENERATOR.normal(size=LOGITS.shape)
LOSSES = np.array([2.0, 1.0, 0.5, 0.25])


def measured(logits, others, losses, other_losses, equal):
    return {name: found for name, _, found in metric.way(logits, others, losses, other_losses, equal)}


def test_a_way_is_measured_by_draw_and_against_other_draws():
    found = measured(LOGITS, OTHERS, LOSSES, LOSSES * (1 + np.array([1e-7, -3e-7, 0, 0])), 0)
    here, there = LOGITS.argmax(axis=2), OTHERS.argmax(axis=2)
    churn = (here != there).mean(axis=1)
    between = [(here[a] != here[b]).mean() for a in range(4) for b in range(a)]
    assert found["churn"].value == pytest.approx(churn.mean(), rel=1e-15)
    assert found["churn"].low < found["churn"].value < found["churn"].high
    assert found["churn_to_seeds"].value == pytest.approx(churn.mean() / np.mean(between), rel=1e-15)
    assert found["churn_to_seeds"].low < found["churn_to_seeds"].value < found["churn_to_seeds"].high
    assert found["first_loss_difference"].value == pytest.approx(3e-7, rel=1e-6)
    assert found["bit_equal"].value == 0


def test_a_way_of_equal_bits_is_exactly_zero_without_an_interval():
    found = measured(LOGITS, LOGITS, LOSSES, LOSSES, 4)
    assert_equal(found["churn"], Estimate(0.0))
    assert found["churn_to_seeds"].value == found["first_loss_difference"].value == 0
    assert found["bit_equal"].value == 1


def test_equal_answers_of_other_bits_are_no_certainty():
    found = measured(LOGITS, LOGITS + 1e-9, LOSSES, LOSSES, 0)
    assert found["churn"].value == 0
    assert np.isnan(found["churn"].high)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            [0.02, 0.5],
            "Other ways to compute the training change up to 0.50 (0.40 to 0.60) of what a new seed changes "
            "(world 4 on smallcnn-bn)",
        ),
        ([0.0, 0.0], "None of 2 other ways to compute the training changes an answer"),
        ([np.nan, np.nan], "Which ways to compute one training change answers?"),
    ],
)
def test_the_title_names_the_way_that_changes_most(values, said):
    rows = pd.DataFrame(
        {"model": ["smallcnn", "smallcnn-bn"], "dataset": "digits", "setting": ["threads 2", "world 4"]}
        | {"metric": "churn_to_seeds", "value": values, "ci_low": 0.4, "ci_high": 0.6}
    )
    assert draw.of_ways(rows) == said


def test_what_differs_in_no_bit_is_marked():
    row = pd.Series({"model": "m", "dataset": "d", "other_hardware": "h", "setting": "world 2"})
    keys = pd.MultiIndex.from_tuples([("m", "d", "h")])
    assert draw.named(row, pd.Series([1.0], keys), pd.Series([0.0], keys)) == "world 2 (=)"
    assert draw.named(row, pd.Series([0.0], keys), pd.Series([2.7e-7], keys)) == "world 2 (3e-07)"


def test_a_run_on_originals_has_eight_cores_to_decode_them():
    tooling = {"threads": 1}
    assert entries.cores(tooling, {"stored_size": "original"}) == 8
    assert entries.cores(tooling, {"stored_size": 256}) == entries.cores(tooling, {"reader": "digits"}) == 1
    assert entries.cores({"threads": 12}, {"stored_size": "original"}) == 12
