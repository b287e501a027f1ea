"""Classes, sub-groups and many labels: the rates of each, what their sizes explain, and their names."""

import itertools

import numpy as np
import pytest
from scipy import stats

from toolnoise.datasets.prepared import Data, Split
from toolnoise.formulas.groups import Rate, by_size, ratio_rows
from toolnoise.formulas.groups import rates as rates_of
from toolnoise.formulas.per_run import per_run
from toolnoise.formulas.stability import of_all_draws, stability
from toolnoise.formulas.weights import apart as weights_apart
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
    assert (entries.outcome(entry), entries.label_shown(entry)) == (outcome, label)
    assert entries.labels_shown({"a": entry}, ["a", "", "a"]) == ({"a": label} if label else None)
