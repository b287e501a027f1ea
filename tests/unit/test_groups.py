"""Classes and sub-groups: what their measures promise, their shares of the data, and their names."""

import itertools
from collections import Counter

import numpy as np
import pytest
from PIL import Image

from toolnoise.analyses.classes.study import NAMES, class_names
from toolnoise.base import arrays
from toolnoise.datasets import preparation, prepared
from toolnoise.datasets.readers import group_shares
from toolnoise.formulas.groups import Rate, of_difficulty, of_size, rates, ratio_rows, unlike
from toolnoise.stats.sd_ratio import by_difficulty, by_size, sd_ratio
from toolnoise.stats.testset import independent_errors_sd
from toolnoise.study import config

# What the measures of classes and sub-groups promise


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


def test_more_than_two_classes_have_no_positive_one():
    assert list(rates(LABELS[np.newaxis], LABELS, 3, EVERYONE)) == ["accuracy"]


def test_a_rate_over_no_example_is_undefined():
    found = rates(LABELS[np.newaxis], LABELS, 2, EVERYONE & (LABELS == 0))
    assert np.isnan(found["fnr"].values).all()
    assert found["fpr"].values.tolist() == [0.0]
    rows = ratio_rows("fnr", "nobody", [found["fnr"]], [Rate(np.zeros(1), 3, np.nan)])
    assert np.isnan([estimate for *_, estimate in rows]).all()


def test_a_rate_knows_the_sd_of_independent_errors():
    predicted = np.array([[1, 0, 1, 0, 0, 0, 1, 1], LABELS])
    found = rates(predicted, LABELS, 2, EVERYONE)
    assert found["fpr"].independent_sd == independent_errors_sd((predicted == LABELS)[:, LABELS == 0]) > 0


def test_a_part_has_its_ratio_and_what_size_and_difficulty_make_of_it():
    generator = np.random.Generator(np.random.Philox(1))
    part = Rate(generator.normal(0.9, 0.02, 10), 25, 0.03)
    whole = Rate(generator.normal(0.9, 0.01, 10), 100, 0.01)
    rows = {metric: estimate for metric, group, estimate in ratio_rows("fpr", "Old", [part], [whole])}
    assert list(rows) == [f"fpr_{what}" for what in ("sd_ratio", "sd_ratio_null", "sd_ratio_difficulty_null")]
    assert rows["fpr_sd_ratio"] == sd_ratio([part.values], [whole.values])
    assert rows["fpr_sd_ratio_null"] == by_size(25, 100).range(9)
    assert rows["fpr_sd_ratio_difficulty_null"] == pytest.approx(by_difficulty(0.03, 25, 0.01, 100).range(9))


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


@pytest.mark.parametrize("published", [4.60, 4.66, 3.61])
def test_the_papers_fnr_of_men_is_within_what_their_number_makes(published):
    _, low, high = by_size(BLOND["Male"], sum(BLOND.values())).range(9)
    assert low < published < high


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


# Group shares


CLASSES = {"vehicle": ["ship", "truck"], "animal": ["bird", "cat", "deer"]}
FOLDERS = ["bird", "cat", "deer", "ship", "truck"]
# 60 % animals, as in CIFAR-10.
FILES = [(folder, f"train/{folder}/{number:02}.png") for folder in FOLDERS for number in range(20)]
ENTRY = {"classes": CLASSES, "group": "deer", "train_examples": 30}
SHARES = (1 / 30, 0.1, 0.2, 0.5)


def drawn(files=FILES, **changes):
    entry = ENTRY | changes
    return group_shares.training_set(
        files, group_shares.classes_of(FOLDERS, entry, "dataset mine"), entry, "dataset mine"
    )


def of(files, *folders):
    return {file for file in files if file[0] in folders}


@pytest.mark.parametrize("share", SHARES)
def test_a_group_has_its_share_and_classes_keep_their_balance(share):
    found = drawn(group_share=share)
    assert len(found) == len(set(found)) == 30
    assert len(of(found, "deer")) == round(30 * share)
    assert len(of(found, *CLASSES["animal"])) == 18
    assert found == sorted(found)


def test_smaller_shares_are_within_larger_ones_and_all_else_is_the_same():
    sets = [drawn(group_share=share) for share in SHARES]
    for smaller, larger in itertools.pairwise(sets):
        assert of(smaller, "deer") < of(larger, "deer")
        assert of(larger, "bird", "cat") < of(smaller, "bird", "cat")
        assert of(larger, "ship", "truck") == of(smaller, "ship", "truck")


def test_a_draw_depends_on_the_names_of_folders_alone():
    found = drawn(group_share=0.2)
    moved = drawn([(folder, f"elsewhere/{name}") for folder, name in FILES], group_share=0.2)
    assert [(folder, f"elsewhere/{name}") for folder, name in found] == moved
    # Not the first files of each folder: a draw.
    assert of(found, "deer") != set(FILES[40:46])


def test_without_a_share_a_group_has_that_of_the_files():
    numbers = [Counter(folder for folder, _ in drawn(train_examples=total))["deer"] for total in (50, 100)]
    assert 4 <= numbers[0] <= 16
    assert numbers[1] == 20


def test_the_class_of_the_group_is_the_last():
    assert list(group_shares.classes_of(FOLDERS, ENTRY, "")) == ["vehicle", "animal"]
    assert list(group_shares.classes_of(FOLDERS, ENTRY | {"group": "ship"}, "")) == ["animal", "vehicle"]
    assert list(group_shares.classes_of(FOLDERS, {}, "")) == FOLDERS


def test_smaller_test_groups_are_within_larger_ones():
    sets = [
        group_shares.test_set(FILES, CLASSES, ENTRY | size, "")
        for size in ({"group_test_examples": 3}, {"group_test_examples": 8}, {})
    ]
    assert [len(of(files, "deer")) for files in sets] == [3, 8, 20]
    assert of(sets[0], "deer") < of(sets[1], "deer")
    assert all(len(files) - len(of(files, "deer")) == 80 for files in sets)


REFUSED = {
    "more than there are": ({"train_examples": 101}, "train_examples: found 101; allowed: 100 or fewer"),
    "more than its class": (
        {"group_share": 0.7},
        "group_share: found 0.7, 21 of 30 examples; allowed: 1 to 18 of the 18 of class 'animal'",
    ),
    "nobody": ({"group_share": 0.01}, "group_share: found 0.01, 0 of 30 examples; allowed: 1 to 18 of the 18 of"),
    "too few others": (
        {"train_examples": 90, "group_share": 0.1},
        "group_share: found 0.1, 9 of 90 examples; allowed: 14 to 20 of the 54 of class 'animal'",
    ),
    "no such folder": (
        {"classes": CLASSES | {"vehicle": ["shp"]}},
        "classes.vehicle: no folder 'shp' of training images; allowed: bird, cat, deer, ship, truck",
    ),
    "no such group": ({"group": "elk", "classes": {"a": ["cat"], "b": ["ship"]}}, "group: no folder 'elk' of training"),
}


@pytest.mark.parametrize(("change", "found"), REFUSED.values(), ids=list(REFUSED))
def test_an_impossible_training_set_is_refused_in_one_line(change, found, refused):
    assert refused(lambda: drawn(**change)).startswith(f"dataset mine: {found}")


def test_more_test_examples_than_the_group_has_are_refused(refused):
    entry = ENTRY | {"group_test_examples": 21}
    line = refused(group_shares.test_set, FILES, CLASSES, entry, "dataset mine")
    assert line == "dataset mine: group_test_examples: found 21; allowed: 1 to 20"


def test_a_folder_of_pictures_becomes_classes_and_a_group(tmp_path):
    """Each picture shows its folder and number in its pixels, so that the prepared labels can be checked by them."""
    for part, count in (("train", 20), ("test", 4)):
        for place, folder in enumerate([*FOLDERS, "unnamed"]):
            (tmp_path / part / folder).mkdir(parents=True)
            for number in range(count):
                pixels = np.full((4, 4, 3), (place, number, 7), np.uint8)
                Image.fromarray(pixels).save(tmp_path / part / folder / f"{number:02}.png")
    entry = {"reader": "image-folder", "path": str(tmp_path), **ENTRY, "group_share": 0.1, "group_test_examples": 2}
    preparation.prepare("mine", entry, tmp_path / "out.npz")
    found = arrays.read_npz(tmp_path / "out.npz")
    assert found["classes"].tolist() == ["vehicle", "animal"]
    assert found["groups"].tolist() == ["deer"]
    for part, deer, animals, total in (("train", 3, 18, 30), ("test", 2, 10, 18)):
        place = found[f"{part}_images"][:, 0, 0, 0]
        assert np.array_equal(found[f"{part}_labels"], place < 3)
        assert np.array_equal(found[f"{part}_groups"][:, 0], place == 2)
        assert (found[f"{part}_groups"].sum(), found[f"{part}_labels"].sum(), len(place)) == (deer, animals, total)
    data = prepared.load(tmp_path / "out.npz")
    assert data.members(data.test)["deer"].sum() == 2


REGISTRY = config.registered("datasets")


def test_official_data_under_another_name_have_the_names_of_their_classes():
    mine = REGISTRY["cifar10"] | {"path": "elsewhere.tar.gz"}
    assert class_names(mine, REGISTRY)[:2] == ["airplane", "automobile"]
    assert all(len(set(names)) == 10 for names in NAMES.values())


def test_merged_folders_are_named_in_the_order_of_their_labels():
    entry = {"reader": "folder", "classes": {"pets": ["cat", "dog"], "cars": ["bus"]}, "group": "bus"}
    assert class_names(entry, REGISTRY) == ["pets", "cars"]


def test_names_that_only_the_data_tell_are_left_to_them():
    assert class_names(REGISTRY["digits"], REGISTRY) == []
    assert class_names({"reader": "folder", "path": "data/mine"}, REGISTRY) == []
