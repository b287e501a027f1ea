import csv

import pytest

from toolnoise.analyses.estimate import official
from toolnoise.base import program
from toolnoise.study import config

REGISTRY = config.registered("datasets")


def published():
    """Table 4 of the paper: examples by data set and part."""
    with (program.ROOT / "resources/published.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if row["item"] == "table4" and row["metric"] == "count":
                yield row["dataset"], row["split"], int(row["value"])


@pytest.mark.parametrize(("name", "part", "count"), list(published()))
def test_an_official_data_set_has_as_many_examples_as_table_4_says(name, part, count):
    assert len(getattr(official.blank(REGISTRY[name], REGISTRY), part).labels) == count


@pytest.mark.parametrize(
    ("name", "shape", "classes", "gigabytes"),
    [
        ("cifar10", (32, 32, 3), 10, 0.18),
        ("cifar100", (32, 32, 3), 100, 0.18),
        ("celeba", (128, 128, 3), 2, 9.0),
        ("imagenet", (224, 224, 3), 1000, 262),
        ("mnist", (28, 28, 1), 10, 0.055),
        ("fashion-mnist", (28, 28, 1), 10, 0.055),
    ],
)
def test_it_has_the_shape_and_the_size_of_what_is_kept(name, shape, classes, gigabytes):
    found = official.blank(REGISTRY[name], REGISTRY)
    assert (found.train.shape, len(found.classes)) == (shape, classes)
    assert (found.train.pixels.nbytes + found.test.pixels.nbytes) / 1e9 == pytest.approx(gigabytes, rel=0.03)


def test_another_image_size_is_followed():
    found = official.blank(REGISTRY["celeba"] | {"image_size": 64}, REGISTRY)
    assert found.train.shape == (64, 64, 3)


@pytest.mark.parametrize("change", [{"checksum": "none"}, {"checksum": f"md5:{'0' * 32}"}])
def test_what_a_person_put_in_its_place_is_not_taken_for_it(change):
    assert official.blank(REGISTRY["cifar10"] | change, REGISTRY) is None


def test_data_of_ones_own_has_no_official_size():
    assert official.blank({"reader": "npz", "path": "mine.npz"}, REGISTRY) is None
    assert official.blank(REGISTRY["digits"], REGISTRY) is None
