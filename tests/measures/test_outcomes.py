"""Outcomes with several units an example: their scores, their groups, and intervals in which they stay together."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.special import expit, log_softmax

from toolnoise.base.arrays import write_npz
from toolnoise.base.errors import BadInput
from toolnoise.datasets import prepared
from toolnoise.formulas import likeliest
from toolnoise.formulas.accuracy import example_entropies, predictions
from toolnoise.formulas.churn import ExampleChurn
from toolnoise.formulas.groups import distribution_wise_variance, independent_errors_sd
from toolnoise.formulas.outcomes import LABELS, MASKS, TOKENS, unit_scores
from toolnoise.pages import cell_page
from toolnoise.papers.language import measure as metric
from toolnoise.stats.estimates import Estimate

RANDOM = np.random.default_rng(20261126)
SEGMENTS, LENGTH, SIGNS = 6, 5, 4
TEXT = RANDOM.integers(0, SIGNS, (2 * SEGMENTS, LENGTH + 1))
OF_TEXT = {
    "train_images": TEXT[:SEGMENTS, :-1].astype(np.uint16),
    "train_labels": TEXT[:SEGMENTS, 1:],
    "test_images": TEXT[SEGMENTS:, :-1].astype(np.uint16),
    "test_labels": TEXT[SEGMENTS:, 1:],
    "maximum": np.array(255),
    "classes": np.array(list("abcd")),
    "outcome": np.array(TOKENS),
}


def pictures_with(labels, **further):
    """Prepared pictures of 3 x 3 pixels with these labels of both parts."""
    images = RANDOM.integers(0, 256, (len(labels), 3, 3, 1)).astype(np.uint8)
    both = {f"{part}_images": images for part in ("train", "test")} | {
        f"{part}_labels": labels for part in ("train", "test")
    }
    return {**both, "maximum": np.array(255), **further}


MANY = RANDOM.integers(0, 2, (8, 3))
MALE = RANDOM.integers(0, 2, (8, 1)).astype(bool)
OF_MANY = pictures_with(
    MANY,
    classes=np.array(["no", "yes"]),
    outcome=np.array(LABELS),
    asked=np.array(["blond", "young", "smiling"]),
    groups=np.array(["male"]),
    train_groups=MALE,
    test_groups=MALE,
)
OF_MASKS = pictures_with(
    RANDOM.integers(0, 2, (8, 3, 3)), classes=np.array(["ground", "thing"]), outcome=np.array(MASKS)
)


def loaded(arrays, tmp_path):
    write_npz(tmp_path / "data.npz", arrays)
    return prepared.load(tmp_path / "data.npz")


@pytest.mark.parametrize(
    ("arrays", "units", "shape", "scores"),
    [
        (OF_TEXT, LENGTH, (LENGTH,), (LENGTH, SIGNS)),
        (OF_MANY, 3, (3, 3, 1), (3,)),
        (OF_MASKS, 9, (3, 3, 1), (3, 3, 2)),
    ],
    ids=[TOKENS, LABELS, MASKS],
)
def test_an_example_has_as_many_units_as_labels_side_by_side(arrays, units, shape, scores, tmp_path):
    data = loaded(arrays, tmp_path)
    test = data.test
    assert (test.units, test.shape, data.output_shape) == (units, shape, scores)
    assert len(test.labels) == units * len(test)
    np.testing.assert_array_equal(test.labels, np.asarray(arrays["test_labels"]).reshape(-1))
    some = test.chosen(slice(2, 4))
    np.testing.assert_array_equal(some.labels, test.labels[2 * units : 4 * units])
    np.testing.assert_array_equal(prepared.targets(tmp_path / "data.npz")["test_labels"], test.targets)
    if arrays is OF_TEXT:
        # A network reads tokens as whole numbers, whatever the recipe normalises.
        assert data.train.images.dtype == np.int32
        np.testing.assert_array_equal(data.train.images, arrays["train_images"])
        seen = replace(data.train, normalise="per-image").middle(slice(1, 3))
        np.testing.assert_array_equal(seen, data.train.pixels[1:3])


def test_each_of_many_labels_is_a_group_and_so_is_each_sub_group_of_it(tmp_path):
    data = loaded(OF_MANY, tmp_path)
    members = {name: mask.reshape(8, 3) for name, mask in data.members(data.test).items()}
    of_labels = [f"{label}:{name}" for label in ("blond", "young", "smiling") for name in ("all", "male")]
    assert list(members) == ["male", *of_labels]
    np.testing.assert_array_equal(members["male"], np.broadcast_to(MALE, (8, 3)))
    for place, label in enumerate(("blond", "young", "smiling")):
        column = np.arange(3) == place
        np.testing.assert_array_equal(members[f"{label}:all"], np.broadcast_to(column, (8, 3)))
        np.testing.assert_array_equal(members[f"{label}:male"], MALE & column)


WRONG = {
    "an outcome that nobody knows": (OF_TEXT, {"outcome": np.array("words")}, "outcome"),
    "a token beyond the vocabulary": (OF_TEXT, {"test_images": OF_TEXT["test_images"] + np.uint16(9)}, "test_images"),
    "labels without names": (OF_MANY, {"asked": np.array([], "U4")}, "asked"),
    "a mask of another size": (OF_MASKS, {"train_labels": np.zeros((8, 3, 2), int)}, "train_labels"),
}


@pytest.mark.parametrize(("arrays", "changed", "key"), WRONG.values(), ids=list(WRONG))
def test_data_of_an_outcome_that_do_not_fit_it_are_refused(arrays, changed, key, tmp_path):
    with pytest.raises(BadInput) as refused:
        loaded(arrays | changed, tmp_path)
    assert key in str(refused.value)


def test_scores_of_many_labels_have_the_probability_and_the_loss_of_their_log_odds():
    odds = (RANDOM.standard_normal((7, 3)) * 10).astype(np.float32)
    labels = RANDOM.integers(0, 2, (7, 3))
    scores = unit_scores(LABELS, odds)
    yes = expit(odds.astype(np.float64)).reshape(-1)
    exact = -log_softmax(scores.astype(np.float64), axis=1)
    np.testing.assert_allclose(np.exp(-exact[:, 1]), yes, rtol=1e-12)
    expected = np.logaddexp(0, np.where(labels, -1, 1) * odds.astype(np.float64)).reshape(-1)
    np.testing.assert_allclose(example_entropies(scores, labels.reshape(-1)), expected, rtol=1e-12, atol=1e-15)


RUNS = 5
PREDICTED = RANDOM.integers(0, 3, (RUNS, SEGMENTS * LENGTH))


def churn_by_hand(predicted, times):
    """The churn of each segment by its definition: pairs of different runs, as often as both are drawn."""
    segments = predicted.reshape(len(predicted), -1, LENGTH)
    pairs = [(a, b) for a, b in itertools.product(range(len(predicted)), repeat=2) if a != b]
    weights = np.array([times[a] * times[b] for a, b in pairs], float)
    apart = np.array([(segments[a] != segments[b]).mean(axis=1) for a, b in pairs])
    return weights @ apart / weights.sum()


def test_churn_of_a_segment_is_the_mean_of_its_tokens():
    measure = ExampleChurn(PREDICTED, LENGTH)
    times = RANDOM.multinomial(RUNS, np.full(RUNS, 1 / RUNS), 6)
    times = times[times.max(axis=1) < RUNS]
    expected = [churn_by_hand(PREDICTED, row) for row in times]
    np.testing.assert_allclose(measure(times), expected, rtol=1e-12)
    without = [churn_by_hand(PREDICTED, np.arange(RUNS) != run).mean() for run in range(RUNS)]
    np.testing.assert_allclose(measure.without_each(), without, rtol=1e-12)


def test_the_variance_that_a_test_set_explains_counts_segments_whose_tokens_err_together():
    """Tokens that err together vary like one: counted one by one they would hide the variance between segments."""
    together = np.repeat(RANDOM.integers(0, 2, (400, 50)), LENGTH, axis=1).astype(bool)
    of_segments = together.reshape(400, 50, LENGTH).mean(axis=2)
    expected = np.sqrt(of_segments.var(axis=0, ddof=1).sum()) / 50
    np.testing.assert_allclose(independent_errors_sd(of_segments), expected, rtol=1e-12)
    sd = Estimate(*[float(together.mean(axis=1).std(ddof=1))] * 3)
    share = distribution_wise_variance([of_segments], sd).value / sd.value**2
    one_by_one = distribution_wise_variance([together], sd).value / sd.value**2
    assert abs(share) < 0.3 < one_by_one


LOGITS = (RANDOM.standard_normal((RUNS, SEGMENTS * LENGTH, 7)) * 3).astype(np.float32)


def test_divergence_is_that_of_jensen_and_shannon_in_bits(monkeypatch):
    shares = np.exp(log_softmax(LOGITS.astype(np.float64), axis=-1))
    found = metric.divergences(LOGITS)
    for a, b in itertools.combinations(range(RUNS), 2):
        expected = np.mean(jensenshannon(shares[a], shares[b], base=2, axis=1) ** 2)
        np.testing.assert_allclose(found[[a, b], [b, a]], expected, rtol=1e-12)
    assert (metric.divergences(np.stack([LOGITS[0]] * 3)) == 0).all()
    # However many tokens are computed at once.
    monkeypatch.setattr(metric, "BLOCK", 60)
    np.testing.assert_allclose(metric.divergences(LOGITS), found, rtol=1e-12)


def test_sequences_part_at_their_first_difference_and_never_meet_again():
    tokens = np.array([[[1, 2, 3, 4]], [[1, 2, 9, 4]], [[7, 2, 3, 4]], [[1, 2, 3, 4]]])
    np.testing.assert_allclose(metric.share_changed(tokens)[0], [0, 1, 1, 0])
    np.testing.assert_allclose(metric.share_after_parting(tokens)[0], [0, 1 / 2, 1, 0])


def test_the_page_shows_the_text_before_a_token(tmp_path):
    data = loaded(OF_TEXT, tmp_path)
    token = LENGTH + 2  # the third of the second segment
    before = "".join("abcd"[sign] for sign in OF_TEXT["test_images"][1, :3])
    assert cell_page.contexts(data, [token, token], most=100) == {str(token): before}
    assert cell_page.contexts(data, [token], most=2) == {}
    assert cell_page.encoded_pictures(data.test, [token], most=10_000) == {}


VOCABULARY, UNITS = 300, 12
WIDE = (RANDOM.standard_normal((3, UNITS, VOCABULARY)) * 4).astype(np.float32)
TARGETS = RANDOM.integers(0, VOCABULARY, UNITS)


def kept(logits=WIDE, labels=TARGETS):
    return np.stack([likeliest.likeliest(run, labels) for run in logits])


def test_the_likeliest_classes_of_a_unit_have_their_exact_log_probabilities_and_so_has_the_rest():
    exact = log_softmax(WIDE.astype(np.float64), axis=-1)
    found = kept()
    order = np.argsort(-exact, axis=-1, kind="stable")[..., : likeliest.KEPT]
    np.testing.assert_array_equal(found["classes"], order)
    np.testing.assert_array_equal(found["scores"], np.take_along_axis(exact, order, axis=-1).astype(np.float32))
    others = exact.copy()
    np.put_along_axis(others, order, -np.inf, axis=-1)
    np.testing.assert_allclose(found["rest"], np.log(np.exp(others).sum(axis=-1)), rtol=1e-6)
    labels = np.broadcast_to(TARGETS, (3, UNITS))[..., np.newaxis]
    np.testing.assert_array_equal(found["label"], np.take_along_axis(exact, labels, axis=-1)[..., 0].astype(np.float32))


def test_answers_and_losses_follow_from_the_likeliest_classes():
    found = kept()
    np.testing.assert_array_equal(predictions(found), WIDE.argmax(axis=-1))
    for run, logits in zip(found, WIDE, strict=True):
        losses = example_entropies(logits, TARGETS)
        np.testing.assert_allclose(example_entropies(run, TARGETS), losses, rtol=1e-6)


def test_the_divergence_from_the_likeliest_classes_is_a_lower_bound_and_near():
    peaked = WIDE + 6 * np.eye(VOCABULARY, dtype=np.float32)[RANDOM.integers(0, VOCABULARY, (3, UNITS))]
    exact, least = metric.divergences(peaked), metric.least_divergences(kept(peaked))
    upper = np.triu_indices(3, 1)
    assert (least[upper] <= exact[upper] + 1e-6).all()
    assert (least[upper] > 0.8 * exact[upper]).all()
    others, rough = metric.divergences(WIDE)[upper], metric.least_divergences(kept())[upper]
    assert (rough <= others + 1e-6).all()
    assert (rough > 0.3 * others).all()
    np.testing.assert_array_equal(metric.least_divergences(kept(peaked[[0, 0]])), 0)
