"""Data sets in their prepared form: digits, files of one's own, and faces that are drawn in table 3's proportions."""

import hashlib

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from toolnoise.base import arrays
from toolnoise.datasets import preparation, prepared
from toolnoise.datasets.readers import faces as faces_reader

DIGITS = {"reader": "digits", "test_examples": 500}


@pytest.fixture(scope="session")
def digits(tmp_path_factory):
    """The digits in their prepared form."""
    path = tmp_path_factory.mktemp("digits") / "digits.npz"
    preparation.prepare("digits", DIGITS, out=path)
    return path


@pytest.fixture
def outside():
    """What somebody's own .npz file holds: 4 x 5 pixels, three classes."""
    pixels = np.arange(12 * 4 * 5 * 2) % 251
    return {
        "train_images": pixels.reshape(24, 4, 5).astype(np.uint8)[:12],
        "train_labels": np.arange(12) % 3,
        "test_images": pixels.reshape(24, 4, 5).astype(np.uint8)[12:18],
        "test_labels": np.arange(6) % 3,
    }


@pytest.fixture
def prepare_npz(tmp_path):
    """Prepare a data set from such arrays; returns the path of its prepared form."""

    def prepare(outside, save=np.savez):
        save(tmp_path / "mine.npz", **outside)
        path = tmp_path / "prepared.npz"
        preparation.prepare("mine", {"reader": "npz", "path": str(tmp_path / "mine.npz")}, out=path)
        return path

    return prepare


def test_a_folder_of_arrays_is_prepared_as_an_archive_of_them_is(prepare_npz, outside, tmp_path, refused):
    (tmp_path / "mine").mkdir()
    for name, array in outside.items():
        np.save(tmp_path / "mine" / f"{name}.npy", array)
    preparation.prepare("mine", {"reader": "npy", "path": str(tmp_path / "mine")}, out=tmp_path / "of_folder.npz")
    assert (tmp_path / "of_folder.npz").read_bytes() == prepare_npz(outside).read_bytes()
    (tmp_path / "mine/train_images.npy").unlink()
    entry = {"reader": "npy", "path": str(tmp_path / "mine")}
    assert "train_images: no such array" in refused(preparation.prepare, "mine", entry, out=tmp_path / "out.npz")


def test_the_digits_are_those_documented(digits):
    found = arrays.read_npz(digits)
    assert found["train_images"].shape == (1297, 8, 8, 1)
    assert found["test_images"].shape == (500, 8, 8, 1)
    for part in ("train", "test"):
        images, labels = found[f"{part}_images"], found[f"{part}_labels"]
        assert (images.dtype, labels.dtype) == (np.uint8, np.int32)
        assert (images.min(), images.max()) == (0, 16)
        assert set(labels.tolist()) == set(range(10))
    assert found["maximum"] == 16
    assert found["classes"].tolist() == list("0123456789")


def test_preparing_twice_gives_equal_bytes(digits, tmp_path):
    preparation.prepare("digits", DIGITS, out=tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == digits.read_bytes()


def test_the_last_examples_are_the_test_set(digits, tmp_path):
    preparation.prepare("digits", DIGITS | {"test_examples": 400}, out=tmp_path / "more.npz")
    more, fewer = arrays.read_npz(tmp_path / "more.npz"), arrays.read_npz(digits)
    assert (more["test_images"] == fewer["test_images"][100:]).all()
    assert (more["train_labels"][:1297] == fewer["train_labels"]).all()


def test_digits_without_a_training_example_are_one_line(tmp_path, refused):
    entry = {"reader": "digits", "test_examples": 1797}
    line = refused(preparation.prepare, "digits", entry, out=tmp_path / "out.npz")
    assert line == "dataset digits: test_examples: found 1797; allowed: 1 to 1796"


def test_digits_are_enlarged_between_the_middles_of_their_pixels(tmp_path):
    preparation.prepare("large", DIGITS | {"image_size": 28}, out=tmp_path / "large.npz")
    found, small = arrays.read_npz(tmp_path / "large.npz"), load_digits().images
    assert (found["train_images"].shape, found["maximum"]) == ((1297, 28, 28, 1), 255)
    places = (np.arange(28) + 0.5) * 8 / 28 - 0.5
    for number in (0, 700):
        rows = np.array([np.interp(places, np.arange(8), row) for row in small[number]])
        whole = np.array([np.interp(places, np.arange(8), column) for column in rows.T]).T
        np.testing.assert_allclose(found["train_images"][number, ..., 0], whole * 255 / 16, rtol=0, atol=0.501)


def test_pixels_are_scaled_to_one_or_stay_as_they_are(digits):
    data, plain = prepared.load(digits), prepared.load(digits, "none").train.images
    assert data.train.images.dtype == plain.dtype == np.float32
    assert (data.train.images.min(), data.train.images.max(), plain.max()) == (0, 1, 16)
    assert (plain == data.train.pixels).all()
    assert len(data.classes) == 10


def test_channels_may_be_normalised_as_imagenets_are(outside, prepare_npz):
    for part in ("train", "test"):
        outside[f"{part}_images"] = np.broadcast_to(np.uint8([255, 0, 51]), (*outside[f"{part}_images"].shape[:3], 3))
    images = prepared.load(prepare_npz(outside), "imagenet").test.images
    expected = [(1 - 0.485) / 0.229, -0.456 / 0.224, (0.2 - 0.406) / 0.225]
    np.testing.assert_allclose(images, np.broadcast_to(expected, images.shape), rtol=1e-6)


def test_grey_may_be_normalised_as_mnists_is_and_not_as_imagenets_are(digits, refused):
    images = prepared.load(digits, "mnist").test.images
    np.testing.assert_allclose(images, (prepared.load(digits).test.images - 0.1307) / 0.3081, rtol=1e-5, atol=1e-6)
    line = refused(prepared.load, digits, "imagenet")
    assert line == f"{digits}: train_images: found 1 channels; normalise: imagenet is for 3"


def test_each_image_is_normalised_by_itself_and_a_flat_one_to_zeros(digits, outside, prepare_npz):
    images = prepared.load(digits, "per-image").test.images.astype(np.float64)
    assert images.mean(axis=(1, 2, 3)) == pytest.approx(np.zeros(500), abs=1e-6)
    assert images.std(axis=(1, 2, 3)) == pytest.approx(np.ones(500), abs=1e-6)
    outside["train_images"][3] = 77
    flat = prepared.load(prepare_npz(outside), "per-image").train.images
    assert (flat[3] == 0).all()
    assert np.isfinite(flat).all()


def test_the_data_digest_is_of_the_data_and_not_of_the_file(digits, tmp_path):
    found = arrays.read_npz(digits)
    np.savez_compressed(tmp_path / "other.npz", **dict(reversed(found.items())), more=np.zeros(3))
    assert prepared.load(tmp_path / "other.npz").sha256 == prepared.load(digits, "per-image").sha256
    assert prepared.load(digits).sha256 != hashlib.sha256(digits.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    "name", ["train_images", "train_labels", "test_images", "test_labels", "maximum", "classes", "shape"]
)
def test_the_data_digest_follows_every_array_and_the_shape_of_images(name, digits, tmp_path):
    found = arrays.read_npz(digits)
    if name == "shape":
        found |= {part: found[part].reshape(-1, 4, 16, 1) for part in ("train_images", "test_images")}
    else:
        found[name] = np.roll(found[name], 1, 0) if found[name].ndim else found[name] + 1
    arrays.write_npz(tmp_path / "other.npz", found)
    assert prepared.load(tmp_path / "other.npz").sha256 != prepared.load(digits).sha256


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_a_file_of_ones_own_is_prepared_as_it_is(save, outside, prepare_npz):
    data = prepared.load(prepare_npz(outside, save))
    assert (data.train.images[..., 0] == outside["train_images"].astype(np.float32) / np.float32(255)).all()
    assert data.test.labels.dtype == np.int32
    assert data.test.labels.tolist() == outside["test_labels"].tolist()
    assert data.classes == ("0", "1", "2")


def test_classes_and_colours_of_ones_own_are_kept(outside, prepare_npz):
    for part in ("train", "test"):
        outside[f"{part}_images"] = np.stack([outside[f"{part}_images"]] * 3, axis=3)
    data = prepared.load(prepare_npz(outside | {"classes": np.array(["cat", "dog", "eel"])}))
    assert data.classes == ("cat", "dog", "eel")
    assert data.train.images.shape == (12, 4, 5, 3)


IMAGES, LABELS = np.zeros((12, 4, 5), np.uint8), np.arange(12) % 3
BAD_ARRAYS = {
    "float images": ({"train_images": IMAGES.astype(np.float32)}, "train_images: found float32; allowed: uint8"),
    "flat images": ({"train_images": IMAGES.reshape(12, 20)}, "train_images: found shape (12, 20)"),
    "no images": ({"train_images": IMAGES[:0], "train_labels": LABELS[:0]}, "found 1; at least two classes"),
    "no test images": ({"test_images": IMAGES[:0], "test_labels": LABELS[:0]}, "test_images: found shape (0, 4, 5, 1)"),
    "float labels": ({"train_labels": LABELS.astype(float)}, "train_labels: found float64"),
    "too few labels": ({"train_labels": LABELS[:11]}, "train_labels: found int64 of shape (11,); 12 integers"),
    "one class": ({"train_labels": LABELS * 0, "test_labels": LABELS[:6] * 0}, "classes: found 1; at least two"),
    "no train example": ({"train_labels": LABELS * 2}, "train_labels: class 1 has no example"),
    "no test example": ({"test_labels": LABELS[:6] % 2}, "test_labels: class 2 has no example"),
    "label too high": ({"test_labels": np.array([0, 1, 2, 3, 0, 1])}, "test_labels: found labels 0 to 3"),
    "two sizes": ({"test_images": IMAGES[:6, :3]}, "test_images: images of two sizes, (4, 5, 1) and (3, 5, 1)"),
    "classes too few": ({"classes": np.array(["cat", "dog"])}, "train_labels: found labels 0 to 2; allowed: 0 to 1"),
}


@pytest.mark.parametrize(("change", "found"), BAD_ARRAYS.values(), ids=list(BAD_ARRAYS))
def test_a_bad_or_missing_array_is_one_line(change, found, outside, prepare_npz, tmp_path, refused):
    line = refused(prepare_npz, outside | change)
    assert line.startswith(f"{tmp_path / 'mine.npz'}: ")
    assert found in line
    assert not (tmp_path / "prepared.npz").exists()
    for name in ("train_images", "train_labels", "test_images", "test_labels"):
        line = refused(prepare_npz, {key: array for key, array in outside.items() if key != name})
        assert line.startswith(f"{tmp_path / 'mine.npz'}: {name}: no such array; required: train_images, ")


@pytest.mark.parametrize(
    ("name", "array", "says"),
    [
        ("classes", np.array("x"), "classes: found <U1 of shape (); texts in 1 dimensions"),
        ("maximum", np.array("x"), "maximum: found <U1 of shape (); integers or integers from 0 up in 0 dimensions"),
        ("maximum", np.array(0), "maximum: found 0; 1 or more"),
        ("margin", np.array(8), "margin: found 8; less than the size of the images"),
        ("train_labels", np.zeros(3, complex), "train_labels: found complex128 of shape (3,)"),
        *((name, None, f"{name}: no such array") for name in ("train_images", "classes", "maximum")),
    ],
)
def test_prepared_data_that_lack_an_array_or_have_another_kind_are_one_line(
    name, array, says, digits, tmp_path, refused
):
    found = arrays.read_npz(digits) | {name: array}
    arrays.write_npz(tmp_path / "other.npz", {key: value for key, value in found.items() if value is not None})
    assert refused(prepared.load, tmp_path / "other.npz").startswith(f"{tmp_path / 'other.npz'}: {says}")


@pytest.mark.parametrize("kind", ["int8", "uint8", "int64", "uint64", ">i4", "uint32"])
def test_labels_of_any_integers_are_read_as_int32(kind, digits, tmp_path, refused):
    found, wanted = arrays.read_npz(digits), prepared.load(digits)
    labels = {name: found[name].astype(kind) for name in ("train_labels", "test_labels")}
    path = tmp_path / "other.npz"
    arrays.write_npz(path, found | labels)
    read = prepared.load(path)
    for one, other in ((read.train, wanted.train), (read.test, wanted.test)):
        assert one.labels.dtype == np.int32
        assert np.array_equal(one.labels, other.labels)
    assert prepared.targets(path)["test_labels"].dtype == np.int32
    assert prepared.targets(path)["test_labels"].tolist() == wanted.test.labels.tolist()
    few = {name: found[name] for name in ("classes",)} | {"test_labels": labels["test_labels"]}
    arrays.write_npz(path, few)
    assert prepared.load(path).test.labels.dtype == np.int32
    arrays.write_npz(path, few | {"test_labels": np.array([0, 2**40])})
    assert "test_labels: found labels 0 to 1099511627776; classes, from 0 up" in refused(prepared.targets, path)


# Synthetic data: the same everywhere, learnable, and in table 3's proportions

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
