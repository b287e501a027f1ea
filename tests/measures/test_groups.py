"""Classes, sub-groups and outcomes with several units an example: rates, scores, intervals, and their names."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import jensenshannon
from scipy.special import expit, log_softmax

from toolnoise.base.arrays import write_npz
from toolnoise.base.errors import BadInput
from toolnoise.datasets import prepared
from toolnoise.datasets.prepared import Data, Split
from toolnoise.formulas import likeliest
from toolnoise.formulas.accuracy import example_entropies, predictions
from toolnoise.formulas.churn import ExampleChurn
from toolnoise.formulas.groups import Rate, by_size, distribution_wise_variance, independent_errors_sd, ratio_rows
from toolnoise.formulas.groups import group_rates as rates_of
from toolnoise.formulas.outcomes import LABELS, MASKS, TOKENS, unit_scores
from toolnoise.formulas.per_run import per_run
from toolnoise.formulas.stability import of_all_draws, stability
from toolnoise.formulas.weights import weight_distances as weights_apart
from toolnoise.pages import cell_page
from toolnoise.papers.language import measure as language
from toolnoise.stats.estimates import Estimate
from toolnoise.study import entries

EVERYONE = np.ones(8, bool)
OF_EIGHT = np.array([0, 0, 0, 0, 0, 1, 1, 1])


def test_rates_are_shares_of_the_examples_that_they_are_over():
    # Run 0 takes two negatives for positives and one positive for a negative; run 1 is always right.
    predicted = np.array([[1, 0, 1, 0, 0, 0, 1, 1], OF_EIGHT])
    found = rates_of(predicted, OF_EIGHT, 2, EVERYONE)
    assert {name: (rate.values.tolist(), rate.examples) for name, rate in found.items()} == {
        "accuracy": ([5 / 8, 1.0], 8),
        "fpr": ([2 / 5, 0.0], 5),  # FP / (FP + TN)
        "fnr": ([1 / 3, 0.0], 3),  # FN / (FN + TP); the authors' code divides by FP + TN
    }
    # Over no example it is undefined.
    found = rates_of(OF_EIGHT[np.newaxis], OF_EIGHT, 2, EVERYONE & (OF_EIGHT == 0))
    assert np.isnan(found["fnr"].values).all()
    assert found["fpr"].values.tolist() == [0.0]
    rows = ratio_rows([("fnr", "nobody", [found["fnr"]], [Rate(np.zeros(1), 3, np.nan)])])
    assert np.isnan([estimate for *_, estimate in rows]).all()


# CelebA's test set, blond (positive) or not, male and female: the counts that group-DRO (Sagawa et al. 2020) lists.
BLOND = {"Male": 180, "Female": 2480}
OTHER = {"Male": 7535, "Female": 9767}


@pytest.mark.parametrize(
    ("rate", "group", "ratio"),
    [
        ("fnr", "Male", 3.84),
        ("accuracy", "Female", 1.28),
    ],
)
def test_group_sizes_alone_make_most_of_the_papers_ratios_for_celeba(rate, group, ratio):
    labels = np.repeat([1, 1, 0, 0], [*BLOND.values(), *OTHER.values()])
    male = np.repeat([True, False, True, False], [*BLOND.values(), *OTHER.values()])
    member = male if group == "Male" else ~male
    predicted = labels[np.newaxis]
    part = rates_of(predicted, labels, 2, member)[rate]
    whole = rates_of(predicted, labels, 2, np.ones(len(labels), bool))[rate]
    assert round(by_size([part], [whole]).expected, 2) == ratio
    # The paper's own ratios of men's FNR are within what their number makes.
    men, people = (Rate(np.zeros(1), examples, np.nan) for examples in (BLOND["Male"], sum(BLOND.values())))
    _, low, high = by_size([men], [people]).range(9)
    assert low < 3.61 < 4.66 < high


def test_of_parts_that_differ_by_size_alone_few_stand_out_and_the_one_that_does_is_found():
    generator = np.random.Generator(np.random.Philox(2))
    classes = generator.normal(0, 0.05, (10, 10))
    classes[3] *= 15

    def pvalues(null, classes, independent_sd):
        whole = Rate(classes.mean(axis=0), 100, independent_sd / np.sqrt(10))
        rows = ratio_rows([("accuracy", "", [Rate(values, 10, independent_sd)], [whole]) for values in classes])
        return np.array([estimate.value for metric, _, estimate in rows if metric == f"accuracy_sd_ratio{null}_holm"])

    for null in ("", "_difficulty"):
        assert pvalues(null, classes, 0.05)[3] < 0.01
        alike = [generator.normal(0, 1, (10, 10)) for _ in range(300)]
        assert np.mean([pvalues(null, runs, 1.0).min() < 0.05 for runs in alike]) < 0.09  # any of the ten


RUNS, PEOPLE = 6, 300
ASKED, GROUPS = ("Blond_Hair", "Male", "Bald"), ("Male", "Old")
RANDOM = np.random.default_rng(40)
MEMBER = RANDOM.random((PEOPLE, 2)) < (0.4, 0.2)
# A sub-group and a label may have one name; nobody is bald.
ANSWERS = np.stack([RANDOM.random(PEOPLE) < 0.3, MEMBER[:, 0], np.zeros(PEOPLE, bool)], axis=1).astype(np.int32)
ODDS = ((2 * ANSWERS - 1) + RANDOM.normal(0, 1, (PEOPLE, 3)) + RANDOM.normal(0, 0.7, (RUNS, PEOPLE, 3))).astype("f4")
LOGITS = np.stack([np.zeros_like(ODDS), ODDS], axis=-1).reshape(RUNS, -1, 2)
RATES = ("accuracy", "fpr", "fnr")


def data_of(answers, asked=()):
    pixels = np.zeros((PEOPLE, 1, 1, 1), np.uint8)
    outcome = "labels" if asked else "label"
    split = Split(pixels, answers, groups=MEMBER, outcome=outcome)
    return Data(split, split, ("no", "yes"), GROUPS, "", asked)


def measured(data, logits):
    """The rows of all measures, by metric and group."""
    test, groups = data.test, data.members(data.test)
    weights = weights_apart(np.random.default_rng(1).normal(size=(RUNS, 9)).astype(np.float32))
    predicted, everyone = logits.argmax(2), [np.arange(RUNS)]
    rows = stability(predicted, test.labels, 2, groups, weights, 7, test.units, logits)
    rows += of_all_draws(predicted, test.labels, 2, groups, everyone, rows, test.units)
    return {(metric, group): estimate for metric, group, estimate in rows}


@pytest.fixture(scope="module")
def many():
    return measured(data_of(ANSWERS, ASKED), LOGITS)


def counted(rate, chosen):
    """A rate of each run on the answers marked by `chosen`, person x label, in float64 from counts."""
    of_rate = chosen & {"accuracy": True, "fpr": ANSWERS == 0, "fnr": ANSWERS == 1}[rate]
    wrong = (
        ((ODDS > 0) != ANSWERS)[:, of_rate].mean(axis=1, dtype=np.float64) if of_rate.any() else np.full(RUNS, np.nan)
    )
    return (1 - wrong if rate == "accuracy" else wrong), int(of_rate.sum())


def chosen(group):
    """The answers that a group covers."""
    label, _, name = group.rpartition(":")
    people = np.ones(PEOPLE, bool) if name == "all" else MEMBER[:, GROUPS.index(name)]
    return people[:, None] & ([not label or name == label for name in ASKED])


EVERY = [*GROUPS, *(f"{label}:{name}" for label in ASKED for name in ("all", *GROUPS))]


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("group", ["all", *EVERY])
def test_each_label_in_each_group_has_its_rates_and_their_sds(group, rate, many):
    values, _ = counted(rate, chosen(group))
    np.testing.assert_allclose(many[f"{rate}_mean", group].value, values.mean(), rtol=1e-12)
    np.testing.assert_allclose(many[f"{rate}_sd", group].value, values.std(ddof=1), rtol=1e-10)
    of_runs = {(metric, name): each for metric, name, each in per_run(LOGITS.argmax(2), None, *LABELS_AND_GROUPS)}
    np.testing.assert_allclose(of_runs[rate, group], values, rtol=1e-12)


OF_MANY = data_of(ANSWERS, ASKED)
LABELS_AND_GROUPS = (OF_MANY.test.labels, 2, OF_MANY.members(OF_MANY.test))


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("group", EVERY)
def test_a_sub_group_of_a_label_is_held_against_that_label_on_all_people(group, rate, many):
    label, _, name = group.rpartition(":")
    whole = f"{label}:all" if label and name != "all" else "all"
    (part, size), (of_all, of_all_size) = counted(rate, chosen(group)), counted(rate, chosen(whole))
    expected = np.sqrt(of_all_size / size) if size else np.nan
    np.testing.assert_allclose(many[f"{rate}_sd_ratio_null", group].value, expected, rtol=1e-12)
    ratio = part.std(ddof=1) / of_all.std(ddof=1)
    np.testing.assert_allclose(many[f"{rate}_sd_ratio", group].value, ratio, rtol=1e-10)


def test_parts_of_one_whole_are_adjusted_together(many):
    def pvalue(rate, group, whole):
        (part, size), (of_all, of_all_size) = counted(rate, chosen(group)), counted(rate, chosen(whole))
        if not 0 < size < of_all_size:
            return np.nan
        distance = np.sinh(np.log(part.std(ddof=1) / of_all.std(ddof=1) / np.sqrt(of_all_size / size)))
        freedom = RUNS - 1
        return 2 * stats.t.sf(abs(distance) * np.sqrt(freedom / (1 - size / of_all_size)), freedom)

    of_all = [name for name in EVERY if ":" not in name or name.endswith(":all")]
    families = [(of_all, "all")]
    families += [([f"{label}:{name}" for name in GROUPS], f"{label}:all") for label in ASKED]
    for groups, whole in families:
        keys = list(itertools.product(groups, RATES))
        pvalues = np.array([pvalue(rate, group, whole) for group, rate in keys])
        left = int(np.isfinite(pvalues).sum())
        highest, expected = 0.0, np.full(len(keys), np.nan)
        for place in np.argsort(pvalues)[:left]:
            highest = max(highest, min(1.0, left * pvalues[place]))
            expected[place], left = highest, left - 1
        found = [many[f"{rate}_sd_ratio_holm", group].value for group, rate in keys]
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_label_among_others_has_the_bits_that_it_would_have_alone(many):
    alone = measured(data_of(ANSWERS[:, 0]), LOGITS.reshape(RUNS, PEOPLE, 3, 2)[:, :, 0])
    of_groups = {key: estimate for key, estimate in alone.items() if key[1] in GROUPS}
    assert len(of_groups) == 2 * (3 * (3 + 5) + 2 + 3)
    for (metric, group), estimate in of_groups.items():
        np.testing.assert_array_equal(many[metric, f"Blond_Hair:{group}"], estimate, err_msg=f"{metric} {group}")


@pytest.mark.parametrize(
    ("entry", "outcome", "label"),
    [
        ({"reader": "celeba", "target": "Bald"}, "label", ""),
        ({"reader": "celeba", "target": "Bald", "targets": "all"}, "labels", "Bald"),
        ({"reader": "faces", "attributes": 2}, "labels", "Blond_Hair"),
        ({"reader": "npz", "outcome": "labels"}, "labels", ""),
        ({"reader": "text"}, "tokens", ""),
    ],
)
def test_an_entry_says_while_a_study_is_planned_what_is_asked(entry, outcome, label):
    assert (entries.outcome_of_dataset(entry), entries.label_shown(entry)) == (outcome, label)
    assert entries.labels_shown({"a": entry}, ["a", "", "a"]) == ({"a": label} if label else None)


# Outcomes with several units an example: their scores, and intervals in which they stay together


NUMBERS = np.random.default_rng(20261126)
SEGMENTS, LENGTH, SIGNS = 6, 5, 4
TEXT = NUMBERS.integers(0, SIGNS, (2 * SEGMENTS, LENGTH + 1))
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
    images = NUMBERS.integers(0, 256, (len(labels), 3, 3, 1)).astype(np.uint8)
    both = {f"{part}_images": images for part in ("train", "test")} | {
        f"{part}_labels": labels for part in ("train", "test")
    }
    return {**both, "maximum": np.array(255), **further}


MANY = NUMBERS.integers(0, 2, (8, 3))
MALE = NUMBERS.integers(0, 2, (8, 1)).astype(bool)
OF_LABELS = pictures_with(
    MANY,
    classes=np.array(["no", "yes"]),
    outcome=np.array(LABELS),
    asked=np.array(["blond", "young", "smiling"]),
    groups=np.array(["male"]),
    train_groups=MALE,
    test_groups=MALE,
)
OF_MASKS = pictures_with(
    NUMBERS.integers(0, 2, (8, 3, 3)), classes=np.array(["ground", "thing"]), outcome=np.array(MASKS)
)


def loaded(arrays, tmp_path):
    write_npz(tmp_path / "data.npz", arrays)
    return prepared.load(tmp_path / "data.npz")


@pytest.mark.parametrize(
    ("arrays", "units", "shape", "scores"),
    [
        (OF_TEXT, LENGTH, (LENGTH,), (LENGTH, SIGNS)),
        (OF_LABELS, 3, (3, 3, 1), (3,)),
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
    np.testing.assert_array_equal(prepared.targets_of_test(tmp_path / "data.npz")["test_labels"], test.targets)
    if arrays is OF_TEXT:
        # A network reads tokens as whole numbers, whatever the recipe normalises.
        assert data.train.images.dtype == np.int32
        np.testing.assert_array_equal(data.train.images, arrays["train_images"])
        seen = replace(data.train, normalise="per-image").middle(slice(1, 3))
        np.testing.assert_array_equal(seen, data.train.pixels[1:3])


WRONG = {
    "an outcome that nobody knows": (OF_TEXT, {"outcome": np.array("words")}, "outcome"),
    "a token beyond the vocabulary": (OF_TEXT, {"test_images": OF_TEXT["test_images"] + np.uint16(9)}, "test_images"),
    "labels without names": (OF_LABELS, {"asked": np.array([], "U4")}, "asked"),
    "a mask of another size": (OF_MASKS, {"train_labels": np.zeros((8, 3, 2), int)}, "train_labels"),
}


@pytest.mark.parametrize(("arrays", "changed", "key"), WRONG.values(), ids=list(WRONG))
def test_data_of_an_outcome_that_do_not_fit_it_are_refused(arrays, changed, key, tmp_path):
    with pytest.raises(BadInput) as refused:
        loaded(arrays | changed, tmp_path)
    assert key in str(refused.value)


def test_scores_of_many_labels_have_the_probability_and_the_loss_of_their_log_odds():
    odds = (NUMBERS.standard_normal((7, 3)) * 10).astype(np.float32)
    labels = NUMBERS.integers(0, 2, (7, 3))
    scores = unit_scores(LABELS, odds)
    yes = expit(odds.astype(np.float64)).reshape(-1)
    exact = -log_softmax(scores.astype(np.float64), axis=1)
    np.testing.assert_allclose(np.exp(-exact[:, 1]), yes, rtol=1e-12)
    expected = np.logaddexp(0, np.where(labels, -1, 1) * odds.astype(np.float64)).reshape(-1)
    np.testing.assert_allclose(example_entropies(scores, labels.reshape(-1)), expected, rtol=1e-12, atol=1e-15)


REPLICATES = 5
PREDICTED = NUMBERS.integers(0, 3, (REPLICATES, SEGMENTS * LENGTH))


def churn_by_hand(predicted, length, times):
    """The churn of each segment by its definition: pairs of different runs, as often as both are drawn."""
    segments = predicted.reshape(len(predicted), -1, length)
    pairs = [(a, b) for a, b in itertools.product(range(len(predicted)), repeat=2) if a != b]
    weights = np.array([times[a] * times[b] for a, b in pairs], float)
    apart = np.array([(segments[a] != segments[b]).mean(axis=1) for a, b in pairs])
    return weights @ apart / weights.sum()


@pytest.mark.parametrize("length", [1, LENGTH])
def test_churn_of_a_segment_is_the_mean_of_its_tokens(length):
    measure = ExampleChurn(PREDICTED, length)
    times = NUMBERS.multinomial(REPLICATES, np.full(REPLICATES, 1 / REPLICATES), 6)
    times = times[times.max(axis=1) < REPLICATES]
    expected = [churn_by_hand(PREDICTED, length, row) for row in times]
    np.testing.assert_allclose(measure(times), expected, rtol=1e-12)
    without = [churn_by_hand(PREDICTED, length, np.arange(REPLICATES) != run).mean() for run in range(REPLICATES)]
    np.testing.assert_allclose(measure.without_each(), without, rtol=1e-12)


def test_the_variance_that_a_test_set_explains_counts_segments_whose_tokens_err_together():
    """Tokens that err together vary like one: counted one by one they would hide the variance between segments."""
    together = np.repeat(NUMBERS.integers(0, 2, (400, 50)), LENGTH, axis=1).astype(bool)
    of_segments = together.reshape(400, 50, LENGTH).mean(axis=2)
    expected = np.sqrt(of_segments.var(axis=0, ddof=1).sum()) / 50
    np.testing.assert_allclose(independent_errors_sd(of_segments), expected, rtol=1e-12)
    sd = Estimate(*[float(together.mean(axis=1).std(ddof=1))] * 3)
    share = distribution_wise_variance([of_segments], sd).value / sd.value**2
    one_by_one = distribution_wise_variance([together], sd).value / sd.value**2
    assert abs(share) < 0.3 < one_by_one


TOKEN_LOGITS = (NUMBERS.standard_normal((REPLICATES, SEGMENTS * LENGTH, 7)) * 3).astype(np.float32)


def test_divergence_is_that_of_jensen_and_shannon_in_bits(monkeypatch):
    shares = np.exp(log_softmax(TOKEN_LOGITS.astype(np.float64), axis=-1))
    found = language.pairwise_divergences(TOKEN_LOGITS)
    for a, b in itertools.combinations(range(REPLICATES), 2):
        expected = np.mean(jensenshannon(shares[a], shares[b], base=2, axis=1) ** 2)
        np.testing.assert_allclose(found[[a, b], [b, a]], expected, rtol=1e-12)
    assert (language.pairwise_divergences(np.stack([TOKEN_LOGITS[0]] * 3)) == 0).all()
    # However many tokens are computed at once.
    monkeypatch.setattr(language, "BLOCK", 60)
    np.testing.assert_allclose(language.pairwise_divergences(TOKEN_LOGITS), found, rtol=1e-12)


def test_sequences_part_at_their_first_difference_and_never_meet_again():
    tokens = np.array([[[1, 2, 3, 4]], [[1, 2, 9, 4]], [[7, 2, 3, 4]], [[1, 2, 3, 4]]])
    np.testing.assert_allclose(language.share_changed(tokens)[0], [0, 1, 1, 0])
    np.testing.assert_allclose(language.share_after_parting(tokens)[0], [0, 1 / 2, 1, 0])


def test_the_page_shows_the_text_before_a_token(tmp_path):
    data = loaded(OF_TEXT, tmp_path)
    token = LENGTH + 2  # the third of the second segment
    before = "".join("abcd"[sign] for sign in OF_TEXT["test_images"][1, :3])
    assert cell_page.contexts_of_tokens(data, [token, token], most=100) == {str(token): before}
    assert cell_page.contexts_of_tokens(data, [token], most=2) == {}
    assert cell_page.encoded_pictures(data.test, [token], most=10_000) == {}


VOCABULARY, UNITS = 300, 12
WIDE = (NUMBERS.standard_normal((3, UNITS, VOCABULARY)) * 4).astype(np.float32)
TARGETS = NUMBERS.integers(0, VOCABULARY, UNITS)


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
    peaked = WIDE + 6 * np.eye(VOCABULARY, dtype=np.float32)[NUMBERS.integers(0, VOCABULARY, (3, UNITS))]
    exact, least = language.pairwise_divergences(peaked), language.least_divergences(kept(peaked))
    upper = np.triu_indices(3, 1)
    assert (least[upper] <= exact[upper] + 1e-6).all()
    assert (least[upper] > 0.8 * exact[upper]).all()
    others, rough = language.pairwise_divergences(WIDE)[upper], language.least_divergences(kept())[upper]
    assert (rough <= others + 1e-6).all()
    assert (rough > 0.3 * others).all()
    np.testing.assert_array_equal(language.least_divergences(kept(peaked[[0, 0]])), 0)
