"""Synthetic data: the same everywhere, learnable, and in table 3's proportions."""

import hashlib

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from toolnoise.base import arrays
from toolnoise.datasets import preparation, prepared
from toolnoise.datasets.readers import faces as faces_reader

# Table 3 of Zhuang et al.: (positive, negative) training examples of 162,770.
TABLE_3 = {"Male": (1387, 66874), "Female": (22880, 71629), "Young": (20230, 106558), "Old": (4037, 31945)}
FACES = {"reader": "faces", "train_examples": 3000, "test_examples": 3000, "image_size": 16}


@pytest.fixture(scope="module")
def faces(tmp_path_factory):
    path = tmp_path_factory.mktemp("faces") / "faces.npz"
    preparation.prepare("faces", FACES, out=path)
    return prepared.load(path)


def counts(labels, groups):
    of_label = [labels == label for label in (1, 0)]
    return {
        group: tuple(int((chosen & member).sum()) for chosen in of_label)
        for group, member in zip(faces_reader.GROUPS, groups.T, strict=True)
    }


@pytest.mark.parametrize("part", ["train", "test"])
def test_as_many_people_as_in_table_3_are_those_of_table_3(part):
    labels, groups = faces_reader.draw_people(part, 162770)
    assert counts(labels, groups) == TABLE_3
    assert (groups[:, 0] ^ groups[:, 1]).all()
    assert (groups[:, 2] ^ groups[:, 3]).all()


@pytest.mark.parametrize("count", [100, 1000, 4001, 20000])
def test_fewer_people_are_in_the_same_proportions(count):
    labels, groups = faces_reader.draw_people("train", count)
    assert len(labels) == len(groups) == count
    for group, found in counts(labels, groups).items():
        # Ages are shared out among people already rounded by label and sex.
        assert np.abs(np.array(found) - count * np.array(TABLE_3[group]) / 162770).max() <= 2


def test_prepared_faces_have_their_groups(faces):
    assert faces.groups == ("Male", "Female", "Young", "Old")
    assert faces.classes == ("not Blond_Hair", "Blond_Hair")
    assert faces.train.pixels.shape == (3000, 16, 16, 3)
    assert faces.test.groups.shape == (3000, 4)


def test_faces_are_the_same_on_every_machine(faces):
    digest = hashlib.sha256(faces.train.pixels.tobytes() + faces.test.pixels.tobytes()).hexdigest()
    assert digest == "23caaf43260d6134ba085b419bd555f7598123f576ed97ff03626ba438e43df7"


def test_training_and_test_faces_are_other_people(faces):
    train = {image.tobytes() for image in faces.train.pixels}
    assert len(train) == 3000
    assert not any(image.tobytes() in train for image in faces.test.pixels)


def test_faces_can_be_learnt_but_not_without_errors_and_groups_differ(faces):
    model = LogisticRegression(C=0.1, max_iter=300).fit(faces.train.images.reshape(3000, -1), faces.train.labels)
    wrong = model.predict(faces.test.images.reshape(3000, -1)) != faces.test.labels
    assert 0.01 < wrong.mean() < 0.1
    blond = faces.test.labels == 1
    misses = {
        group: wrong[blond & member].mean() for group, member in zip(faces.groups, faces.test.groups.T, strict=True)
    }
    assert misses["Male"] > 1.5 * misses["Female"]
    assert misses["Old"] > 1.5 * misses["Young"]


def test_faces_can_have_several_attributes_each_of_which_can_be_learnt(faces, tmp_path):
    attributes = 4
    preparation.prepare("faces", FACES | {"attributes": attributes}, out=tmp_path / "out.npz")
    data = prepared.load(tmp_path / "out.npz")
    assert data.asked == ("Blond_Hair", "Smiling", "Eyeglasses", "Wearing_Hat")
    assert (data.classes, data.outputs) == (("no", "yes"), attributes)
    # The people are the same, and so is each face that has none of the others.
    for part in ("train", "test"):
        mine, alone = getattr(data, part), getattr(faces, part)
        np.testing.assert_array_equal(mine.targets[:, 0], alone.targets)
        np.testing.assert_array_equal(mine.groups, alone.groups)
        plain = ~mine.targets[:, 1:].any(axis=1)
        np.testing.assert_array_equal(mine.pixels[plain], alone.pixels[plain])
        assert (mine.pixels[~plain] != alone.pixels[~plain]).any(axis=(1, 2, 3)).all()
    for label in range(1, attributes):
        wanted = data.train.targets[:, label], data.test.targets[:, label]
        some = slice(None, None, 2)
        model = LogisticRegression(C=0.1, max_iter=300)
        model.fit(data.train.images.reshape(3000, -1)[some], wanted[0][some])
        wrong = model.predict(data.test.images.reshape(3000, -1)) != wanted[1]
        assert 0 < wrong.mean() < 0.5 * min(wanted[1].mean(), 1 - wanted[1].mean())


def test_attributes_of_faces_are_the_same_on_every_machine(tmp_path):
    preparation.prepare("faces", FACES | {"attributes": 4}, out=tmp_path / "out.npz")
    found = arrays.read_npz(tmp_path / "out.npz")
    values = [found[f"{part}_{what}"].tobytes() for part in ("train", "test") for what in ("images", "labels")]
    digest = hashlib.sha256(b"".join(values)).hexdigest()
    assert digest == "8b67909512fd1956011318b453833defca768a91059d4f63c206996b81264858"
