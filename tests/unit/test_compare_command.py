"""What is said of two sets of runs."""

import json

import numpy as np
import pytest

from toolnoise.commands import compare
from toolnoise.dumps.prediction_files import Answers
from toolnoise.metrics.accuracy import accuracies
from toolnoise.stats.two_means import mean_difference, probability_of_improvement

LABELS = np.arange(400) % 4


def arm(share_wrong, runs, seed=1, entropies=None, file="a.npy"):
    """Runs that err on their own examples."""
    rng = np.random.Generator(np.random.Philox(seed))
    wrong = rng.random((runs, len(LABELS))) < share_wrong
    return Answers(file, np.where(wrong, (LABELS + rng.integers(1, 4, wrong.shape)) % 4, LABELS), entropies, None)


def compared(a, b):
    return compare.compare(a, b, LABELS)


def test_the_difference_is_b_less_a_with_welchs_interval():
    a, b = arm(0.4, 6), arm(0.3, 9, 2)
    found = compared(a, b)
    scores = [accuracies(answers.predicted, LABELS) for answers in (a, b)]
    assert found.accuracy_difference == mean_difference(*scores).effect
    assert found.pvalue == mean_difference(*scores).pvalue
    assert found.probability_of_improvement == probability_of_improvement(*scores)
    assert found.accuracy_difference.value == pytest.approx(found.good_flips.value - found.bad_flips.value)
    assert found.churn.value >= found.good_flips.value + found.bad_flips.value
    assert (found.a.n_runs, found.b.n_runs, found.n_examples) == (6, 9, 400)


def test_a_gain_beyond_noise_is_called_one_and_names_the_better():
    better = " ".join(compared(arm(0.4, 6), arm(0.2, 6, 2)).sentences)
    assert better.startswith("B is more accurate by ")
    assert "in 100 % of pairs." in better
    worse = " ".join(compared(arm(0.2, 6, 2), arm(0.4, 6)).sentences)
    assert worse.startswith("A is more accurate by ")
    assert better.split(":")[0][1:] == worse.split(":")[0][1:]


def test_a_difference_within_noise_is_not_called_a_gain():
    found = compared(arm(0.3, 5), arm(0.3, 5, 2))
    assert found.accuracy_difference.low < 0 < found.accuracy_difference.high
    assert found.sentences[0].startswith("No significant difference in accuracy: ")


def test_single_runs_have_a_difference_but_no_verdict():
    found = compared(arm(0.4, 1), arm(0.1, 1, 2))
    assert found.accuracy_difference.value > 0.2
    assert np.isnan([found.accuracy_difference.low, found.pvalue, found.churn.low, found.a.churn.value]).all()
    low, high = found.accuracy_difference_over_examples[1:]
    assert 0 < low < found.accuracy_difference.value < high
    assert found.sentences[0].endswith("with one run of a method, luck cannot be ruled out.")
    assert "trained again" not in " ".join(found.sentences)


def test_what_holds_on_these_examples_alone_says_so():
    # B is right on one example more, in every run but one.
    a = np.repeat(np.where(np.arange(400) < 100, LABELS, (LABELS + 1) % 4)[np.newaxis], 6, axis=0)
    b = a.copy()
    b[1:, 100] = LABELS[100]
    found = compare.compare(*(Answers("a", each, None, None) for each in (a, b)), LABELS)
    assert found.sentences[0].startswith("B is more accurate by 0.21 points")
    assert found.sentences[1].startswith("On other examples of the same kind this may not hold")


def test_equal_answers_change_nothing():
    a = arm(0.3, 3)
    same = a._replace(predicted=np.repeat(a.predicted[:1], 3, axis=0))
    found = compared(same, same)
    assert found.sentences == ["All runs are equally accurate.", "No prediction changes if B replaces A."]
    assert found.churn == found.good_flips == found.bad_flips == found.accuracy_difference == (0, 0, 0)


def test_cross_entropy_is_compared_where_there_are_scores():
    a, b = arm(0.3, 3, entropies=np.array([1.0, 1.1, 1.2])), arm(0.3, 3, 2, entropies=np.array([0.9, 1.0, 1.1]))
    assert compared(a, b).cross_entropy_difference.value == pytest.approx(-0.1)
    assert "cross-entropy" in compare.as_text(compared(a, b))
    for other in (b._replace(entropies=None), b._replace(entropies=np.array([0.9, np.inf, 1.1]))):
        assert compared(a, other).cross_entropy_difference is None
        assert compared(a, other).b.cross_entropy_mean is None
        assert "cross-entropy" not in compare.as_text(compared(a, other))


@pytest.mark.parametrize("runs", [(1, 1), (1, 4), (2, 2), (4, 3)])
def test_every_comparison_can_be_told_and_read_by_programs(runs):
    found = compared(arm(0.5, runs[0]), arm(0.01, runs[1], 2)._replace(missing=2, file="b.npy"))
    text = compare.as_text(found)
    assert "nan" not in text
    assert text.splitlines()[1] == f"B: b.npy, {runs[1]} run{'s' if runs[1] > 1 else ''} (2 diverged)"
    plain = json.loads(json.dumps(compare.as_json(found), allow_nan=False))
    assert plain["accuracy_difference"]["value"] == found.accuracy_difference.value
    assert plain["verdict"] == " ".join(found.sentences)
    assert (plain["pvalue"] is None) == (min(runs) == 1)
    assert plain["b"]["n_missing"] == 2


def test_arms_far_apart_and_hardly_noisy_are_compared_too():
    a = arm(0.5, 1).predicted.repeat(2, axis=0)
    b = LABELS[np.newaxis].repeat(2, axis=0)
    b[1, 0] = 3
    found = compare.compare(Answers("a", a, None, None), Answers("b", b, None, None), LABELS)
    assert found.sentences[0].startswith("B is more accurate by ")
