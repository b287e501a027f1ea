"""Classes and sub-groups: what their measures promise, their shares of the data, and their names."""

import numpy as np
import pytest

from toolnoise.formulas.groups import Rate, of_difficulty, of_size, rates, ratio_rows, unlike
from toolnoise.formulas.sd_ratio import by_size
from toolnoise.papers.notebook_values import NAMES, class_names
from toolnoise.study import config

EVERYONE = np.ones(8, bool)
LABELS = np.array([0, 0, 0, 0, 0, 1, 1, 1])
SOME = np.array([1, 1, 0, 0, 0, 1, 0, 0], bool)


def test_rates_are_shares_of_the_examples_that_they_are_over():
    # Run 0 takes two negatives for positives and one positive for a negative; run 1 is always right.
    predicted = np.array([[1, 0, 1, 0, 0, 0, 1, 1], LABELS])
    found = rates(predicted, LABELS, 2, EVERYONE)
    assert {name: (rate.values.tolist(), rate.examples) for name, rate in found.items()} == {
        "accuracy": ([5 / 8, 1.0], 8),
        "fpr": ([2 / 5, 0.0], 5),  # FP / (FP + TN)
        "fnr": ([1 / 3, 0.0], 3),  # FN / (FN + TP); the authors' code divides by FP + TN
    }
    found = rates(predicted, LABELS, 2, SOME)
    assert {name: (rate.values.tolist(), rate.examples) for name, rate in found.items()} == {
        "accuracy": ([1 / 3, 1.0], 3),
        "fpr": ([1 / 2, 0.0], 2),
        "fnr": ([1.0, 0.0], 1),
    }
    # Over no example it is undefined.
    found = rates(LABELS[np.newaxis], LABELS, 2, EVERYONE & (LABELS == 0))
    assert np.isnan(found["fnr"].values).all()
    assert found["fpr"].values.tolist() == [0.0]
    rows = ratio_rows("fnr", "nobody", [found["fnr"]], [Rate(np.zeros(1), 3, np.nan)])
    assert np.isnan([estimate for *_, estimate in rows]).all()


# CelebA's test set, blond (positive) or not, male and female: the counts that group-DRO (Sagawa et al. 2020) lists.
BLOND = {"Male": 180, "Female": 2480}
OTHER = {"Male": 7535, "Female": 9767}


@pytest.mark.parametrize(
    ("rate", "group", "ratio"),
    [
        ("fnr", "Male", 3.84),
        ("fpr", "Male", 1.52),
        ("fpr", "Female", 1.33),
        ("accuracy", "Male", 1.61),
        ("accuracy", "Female", 1.28),
    ],
)
def test_group_sizes_alone_make_most_of_the_papers_ratios_for_celeba(rate, group, ratio):
    labels = np.repeat([1, 1, 0, 0], [*BLOND.values(), *OTHER.values()])
    male = np.repeat([True, False, True, False], [*BLOND.values(), *OTHER.values()])
    member = male if group == "Male" else ~male
    predicted = labels[np.newaxis]
    part = rates(predicted, labels, 2, member)[rate]
    whole = rates(predicted, labels, 2, np.ones(len(labels), bool))[rate]
    assert round(of_size([part], [whole]).expected, 2) == ratio
    # The paper's own ratios of men's FNR are within what their number makes.
    _, low, high = by_size(BLOND["Male"], sum(BLOND.values())).range(9)
    assert low < 3.61 < 4.66 < high


def test_of_parts_that_differ_by_size_alone_few_stand_out_and_the_one_that_does_is_found():
    generator = np.random.Generator(np.random.Philox(2))
    classes = generator.normal(0, 0.05, (10, 10))
    classes[3] *= 15

    def pvalues(null, classes, independent_sd):
        whole = Rate(classes.mean(axis=0), 100, independent_sd / np.sqrt(10))
        return unlike(null, [([Rate(values, 10, independent_sd)], [whole]) for values in classes])

    for null in (of_size, of_difficulty):
        assert pvalues(null, classes, 0.05)[3] < 0.01
        nothing = Rate(np.full(10, np.nan), 0, np.nan)
        assert np.isnan(unlike(null, [([nothing], [Rate(classes[0], 100, 0.05)])])).all()
        alike = [generator.normal(0, 1, (10, 10)) for _ in range(300)]
        assert np.mean([pvalues(null, runs, 1.0).min() < 0.05 for runs in alike]) < 0.09  # any of the ten


REGISTRY = config.registered("datasets")


def test_official_data_under_another_name_have_the_names_of_their_classes():
    mine = REGISTRY["cifar10"] | {"path": "elsewhere.tar.gz"}
    assert class_names(mine, REGISTRY)[:2] == ["airplane", "automobile"]
    assert all(len(set(names)) == 10 for names in NAMES.values())
    for only_the_data_tell in (REGISTRY["digits"], {"reader": "folder", "path": "data/mine"}):
        assert class_names(only_the_data_tell, REGISTRY) == []
