import numpy as np
import pytest

from toolnoise.analyses.frameworks.metric import (
    EXAMPLES,
    RUNS,
    Predicted,
    inference,
    parting,
    total,
)
from toolnoise.formulas.equal_runs import first_epochs
from toolnoise.formulas.weights import relative_distances


def logits(predicted):
    """Logits of so many runs and examples that give these classes."""
    return np.eye(2, dtype=np.float32)[np.array(predicted)]


# Two runs on ten examples: trained apart they differ on the first 5 and on the first 3 ...
A = logits([[0] * 10, [0] * 10])
B = logits([[1] * 5 + [0] * 5, [1] * 3 + [0] * 7])
# ... and predicted on the other framework, the first run of A on one more, the second run of B on two.
A_THERE = logits([[1] + [0] * 9, [0] * 10])
B_THERE = logits([[1] * 5 + [0] * 5, [1] * 5 + [0] * 5])
ONE, OTHER = Predicted(A, A_THERE), Predicted(B, B_THERE)


def test_trainings_part_is_what_is_left_of_the_churn_after_the_mean_of_inference_both_ways():
    found = dict(total(ONE, OTHER, RUNS))
    assert found["churn"].value == pytest.approx(0.4, rel=1e-15)
    # Run by run: 0.5 - (0.1 + 0) / 2 and 0.3 - (0 + 0.2) / 2.
    assert found["churn_training"] == pytest.approx((0.325, -1, 1), rel=1e-15)  # of two runs, whose t is 12.7
    assert found["churn"].low == 0


def test_it_may_be_negative_where_inference_alone_moves_answers_apart_that_training_had_together():
    found = dict(total(Predicted(A, A_THERE), Predicted(A, A), RUNS))
    assert found["churn"].value == 0
    assert found["churn_training"].value == -0.025


def test_where_replicates_are_bit_equal_intervals_are_over_examples():
    equal = [Predicted(*(np.repeat(part[:1], 5, axis=0) for part in both)) for both in (ONE, OTHER)]
    found = dict(total(*equal, EXAMPLES))
    # Wilson's interval of 5 of 10, from its formula: (5 + z^2 / 2 -+ z sqrt(2.5 + z^2 / 4)) / (10 + z^2).
    assert found["churn"] == pytest.approx((0.5, 0.2365931, 0.7634069), rel=1e-6)
    rest = np.array([0.5] + [1.0] * 4 + [0.0] * 5)
    half = 2.2621572 * rest.std(ddof=1) / np.sqrt(10)  # t at .975 with 9 degrees of freedom
    assert found["churn_training"] == pytest.approx((0.45, 0.45 - half, 0.45 + half), rel=1e-7)
    assert dict(inference(equal[0], EXAMPLES))["churn_inference"].value == 0.1
    assert dict(total(*(Predicted(*(part[:1] for part in both)) for both in equal), EXAMPLES)) == found


def test_no_churn_on_a_few_examples_is_not_no_churn_on_all():
    found = dict(total(Predicted(A, A), Predicted(A, A), EXAMPLES))
    assert found["churn"] == pytest.approx((0, 0, 0.2775328), rel=1e-6)  # z^2 / (10 + z^2)
    assert found["churn_training"] == (0, 0, 0)


def test_inference_alone_is_measured_on_the_very_same_networks():
    here = np.array([[[3.0, 4.0], [0.0, 2.0]], [[3.0, 4.0], [0.0, 2.0]]], np.float32)
    there = here.copy()
    there[0, 0] += (0.03, 0.04)  # a hundredth of its length
    there[1, 1, 1] -= 0.5  # of 2
    found = dict(inference(Predicted(here, there), RUNS))
    # Equal by luck, since the logits differ.
    assert found["churn_inference"].value == 0 < found["churn_inference"].high
    assert found["logits_max_difference"].value == pytest.approx(0.5, rel=1e-6)
    assert found["logits_relative_difference"].value == pytest.approx((0.0099501 / 2 + 0.2828427 / 2) / 2, rel=1e-5)
    one = dict(inference(Predicted(here[:1], there[:1]), EXAMPLES))
    assert one["logits_max_difference"].value == pytest.approx(0.04, rel=1e-5)
    assert np.isnan(one["logits_max_difference"][1:]).all()
    assert one["logits_relative_difference"].value == pytest.approx(0.0099501 / 2, rel=1e-5)
    assert one["logits_relative_difference"].high > 0.01


def test_predictions_that_are_bit_equal_elsewhere_are_exactly_no_distance_away():
    for over in (RUNS, EXAMPLES):
        found = dict(inference(Predicted(B, B), over))
        assert found["logits_relative_difference"] == (0, 0, 0)
        assert found["logits_max_difference"].value == found["churn_inference"].value == 0


@pytest.mark.parametrize("over", [RUNS, EXAMPLES])
def test_without_runs_everything_is_undefined(over):
    nobody = Predicted(A[:0], A_THERE[:0])
    for _, estimate in [*total(nobody, nobody, over), *inference(nobody, over)]:
        assert np.isnan(estimate).all()


def test_relative_distances_are_over_the_length_of_both_and_never_infinite():
    a = np.array([[3, 4], [0, 0], [0, 0], [1e-30, 0], [1, 2]], np.float32)
    b = np.array([[3, 3], [0, 0], [0, 1], [2e-30, 0], [-1, -2]], np.float32)
    wanted = [1 / np.sqrt((25 + 18) / 2), 0, np.sqrt(2), 1 / np.sqrt(2.5), 2]
    assert relative_distances(a, b) == pytest.approx(wanted, rel=1e-6)
    assert relative_distances(b, a).tolist() == relative_distances(a, b).tolist()


def test_the_first_epoch_is_that_after_which_something_differs_for_the_first_time():
    one = [["a", "b", "c"], ["d", "e", "f"], ["g", "h", "i"]]
    other = [["a", "b", "x"], ["d", "x", "f"], ["g", "x", "x"]]
    assert first_epochs(one, other) == pytest.approx([np.nan, 2, 1], nan_ok=True)


def test_of_runs_that_part_the_first_epochs_are_averaged_and_the_others_counted():
    (_, share, runs), (_, epoch, parted) = parting(np.array([2.0, np.nan, 4.0]))
    assert (share.value, runs, epoch.value, parted) == (2 / 3, 3, 3, 2)
    assert (share.low, share.high) == pytest.approx((0.2076596, 0.9385081), rel=1e-6)
    assert epoch.low == 1
    (_, never, _), (_, none, parted) = parting(np.full(3, np.nan))
    assert never.value == parted == 0
    assert np.isnan(none).all()
