import itertools
from collections import Counter

import numpy as np
import pytest
from PIL import Image

from toolnoise.base import arrays
from toolnoise.datasets import group_shares, preparation, prepared

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
