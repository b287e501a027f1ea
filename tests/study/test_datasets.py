"""Data sets in their prepared form: digits, files of one's own, and faces that are drawn in table 3's proportions."""

import hashlib
import io
import math

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from toolnoise import streams
from toolnoise.base import arrays
from toolnoise.base.spec import Spec
from toolnoise.datasets import preparation, prepared, streaming
from toolnoise.datasets.readers import faces as faces_reader
from toolnoise.datasets.readers import originals
from toolnoise.epoch_plan import plan_epoch
from toolnoise.papers import remedy_dump
from toolnoise.study.remedies import PLAIN, SETS

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

    def prepare(outside):
        np.savez(tmp_path / "mine.npz", **outside)
        path = tmp_path / "prepared.npz"
        preparation.prepare("mine", {"reader": "npz", "path": str(tmp_path / "mine.npz")}, out=path)
        return path

    return prepare


def test_a_folder_of_arrays_is_prepared_as_an_archive_of_them_is(prepare_npz, outside, tmp_path):
    (tmp_path / "mine").mkdir()
    for name, array in outside.items():
        np.save(tmp_path / "mine" / f"{name}.npy", array)
    preparation.prepare("mine", {"reader": "npy", "path": str(tmp_path / "mine")}, out=tmp_path / "of_folder.npz")
    assert (tmp_path / "of_folder.npz").read_bytes() == prepare_npz(outside).read_bytes()


def test_digits_are_enlarged_between_the_middles_of_their_pixels(tmp_path):
    preparation.prepare("large", DIGITS | {"image_size": 28}, out=tmp_path / "large.npz")
    found, small = arrays.read_npz(tmp_path / "large.npz"), load_digits().images
    assert (found["train_images"].shape, found["maximum"]) == ((1297, 28, 28, 1), 255)
    places = (np.arange(28) + 0.5) * 8 / 28 - 0.5
    for number in (0, 700):
        rows = np.array([np.interp(places, np.arange(8), row) for row in small[number]])
        whole = np.array([np.interp(places, np.arange(8), column) for column in rows.T]).T
        np.testing.assert_allclose(found["train_images"][number, ..., 0], whole * 255 / 16, rtol=0, atol=0.501)


def test_each_image_is_normalised_by_itself_and_a_flat_one_to_zeros(digits, outside, prepare_npz):
    images = prepared.load(digits, "per-image").test.images.astype(np.float64)
    assert images.mean(axis=(1, 2, 3)) == pytest.approx(np.zeros(500), abs=1e-6)
    assert images.std(axis=(1, 2, 3)) == pytest.approx(np.ones(500), abs=1e-6)
    outside["train_images"][3] = 77
    flat = prepared.load(prepare_npz(outside), "per-image").train.images
    assert (flat[3] == 0).all()
    assert np.isfinite(flat).all()


def test_the_data_digest_is_of_all_the_data_and_not_of_the_file(digits, tmp_path):
    found = arrays.read_npz(digits)
    np.savez_compressed(tmp_path / "other.npz", **dict(reversed(found.items())), more=np.zeros(3))
    assert prepared.load(tmp_path / "other.npz").sha256 == prepared.load(digits, "per-image").sha256
    others = [found | {name: np.roll(found[name], 1, 0)} for name in ("test_images", "test_labels", "classes")]
    others.append(
        found | {f"{part}_images": found[f"{part}_images"].reshape(-1, 4, 16, 1) for part in ("train", "test")}
    )
    for other in others:
        arrays.write_npz(tmp_path / "other.npz", other)
        assert prepared.load(tmp_path / "other.npz").sha256 != prepared.load(digits).sha256


def test_a_file_of_ones_own_is_prepared_as_it_is(outside, prepare_npz):
    data = prepared.load(prepare_npz(outside))
    assert (data.train.images[..., 0] == outside["train_images"].astype(np.float32) / np.float32(255)).all()
    assert data.test.labels.dtype == np.int32
    assert data.test.labels.tolist() == outside["test_labels"].tolist()
    assert data.classes == ("0", "1", "2")


IMAGES, LABELS = np.zeros((12, 4, 5), np.uint8), np.arange(12) % 3
BAD_ARRAYS = {
    "float images": ({"train_images": IMAGES.astype(np.float32)}, "train_images: found float32; allowed: uint8"),
    "no train example": ({"train_labels": LABELS * 2}, "train_labels: class 1 has no example"),
    "no test example": ({"test_labels": LABELS[:6] % 2}, "test_labels: class 2 has no example"),
    "label too high": ({"test_labels": np.array([0, 1, 2, 3, 0, 1])}, "test_labels: found labels 0 to 3"),
    "two sizes": ({"test_images": IMAGES[:6, :3]}, "test_images: images of two sizes, (4, 5, 1) and (3, 5, 1)"),
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
        ("maximum", np.array("x"), "maximum: found <U1 of shape (); integers or integers from 0 up in 0 dimensions"),
        ("maximum", np.array(0), "maximum: found 0; 1 or more"),
        ("margin", np.array(8), "margin: found 8; less than the size of the images"),
        *((name, None, f"{name}: no such array") for name in ("train_images", "classes", "maximum")),
    ],
)
def test_prepared_data_that_lack_an_array_or_have_another_kind_are_one_line(
    name, array, says, digits, tmp_path, refused
):
    found = arrays.read_npz(digits) | {name: array}
    arrays.write_npz(tmp_path / "other.npz", {key: value for key, value in found.items() if value is not None})
    assert refused(prepared.load, tmp_path / "other.npz").startswith(f"{tmp_path / 'other.npz'}: {says}")


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


def test_faces_are_the_same_on_every_machine(faces):
    digest = hashlib.sha256(faces.train.pixels.tobytes() + faces.test.pixels.tobytes()).hexdigest()
    assert digest == "23caaf43260d6134ba085b419bd555f7598123f576ed97ff03626ba438e43df7"


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


def test_attributes_of_faces_are_the_same_on_every_machine(tmp_path):
    preparation.prepare("faces", FACES | {"attributes": 4}, out=tmp_path / "out.npz")
    found = arrays.read_npz(tmp_path / "out.npz")
    values = [found[f"{part}_{what}"].tobytes() for part in ("train", "test") for what in ("images", "labels")]
    digest = hashlib.sha256(b"".join(values)).hexdigest()
    assert digest == "8b67909512fd1956011318b453833defca768a91059d4f63c206996b81264858"


# Prepared data that stays in its file: read a part at a time, ahead, in the planned order, each image checked


EXAMPLES, SHAPE = 60, (9, 7, 3)


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """The same data prepared for memory and to be streamed."""
    folder = tmp_path_factory.mktemp("streaming")
    generator = np.random.default_rng(8)
    raw = {}
    for part, count in (("train", EXAMPLES), ("test", 20)):
        raw[f"{part}_images"] = generator.integers(0, 256, (count, *SHAPE), np.uint8)
        raw[f"{part}_labels"] = np.arange(count) % 4
    np.savez(folder / "raw.npz", **raw)
    found = []
    for streamed in (False, True):
        found.append(folder / f"{streamed}.npz")
        entry = {"reader": "npz", "path": str(folder / "raw.npz"), "streamed": streamed}
        preparation.prepare("made", entry, out=found[-1])
    return found


@pytest.fixture(params=["unit", "per-image"])
def both(request, paths):
    return [prepared.load(path, request.param) for path in paths]


def test_streamed_data_is_the_same_data(both):
    one, other = both
    assert (one.train.streamed, other.train.streamed) == (False, True)
    assert one.sha256 == other.sha256
    assert one.classes == other.classes
    for part in ("train", "test"):
        mine, theirs = getattr(one, part), getattr(other, part)
        assert mine.labels.tolist() == theirs.labels.tolist()
        assert mine.shape == theirs.shape == SHAPE
        assert mine.images.tobytes() == theirs.images.tobytes()
    assert isinstance(other.train.pixels.base, np.memmap), "only the images asked for are read"


# Sums over an image must not depend on how many images are summed at once.
@pytest.mark.parametrize("count", [1, 2, 7, 20])
@pytest.mark.parametrize("side", [4, 32, 57])
def test_an_image_is_normalised_to_the_same_bits_in_whatever_company(count, side):
    pixels = np.random.default_rng(side).integers(0, 256, (300, side, side, 3), np.uint8)
    split = prepared.Split(pixels, np.zeros(300, np.int32), normalise="per-image")
    for start in range(0, 300 - count, 37):
        alone = prepared.Split(pixels[start : start + count], split.labels[:count], normalise="per-image")
        assert alone.images.tobytes() == split.images[start : start + count].tobytes()


@pytest.mark.parametrize("steps_a_part", [1, 2, 4, 7, 100])
def test_parts_of_an_epoch_are_the_whole_epoch_in_its_order(steps_a_part, both, make_spec, monkeypatch):
    spec = make_spec("algo_impl", 1)
    plan = plan_epoch(spec, EXAMPLES, 1)
    batch = plan.order.shape[1]
    monkeypatch.setattr(streaming, "PART_BYTES", steps_a_part * batch * 4 * int(np.prod(SHAPE)))
    one, other = both
    found = list(streaming.parts_of_epoch(other.train, plan))
    assert [len(part.order) for *_, part in found[:-1]] == [min(steps_a_part, len(plan.order))] * (len(found) - 1)
    for name in ("offsets", "flips", "slots", "rates"):
        assert np.array_equal(np.concatenate([getattr(part, name) for *_, part in found]), getattr(plan, name))
    gathered = [values[part.order].reshape(-1, *values.shape[1:]) for values, _, part in found]
    assert np.concatenate(gathered).tobytes() == one.train.images[plan.order.ravel()].tobytes()
    labels = [values[part.order].ravel() for _, values, part in found]
    assert np.array_equal(np.concatenate(labels), one.train.labels[plan.order.ravel()])
    assert all(np.array_equal(part.dropout, plan.dropout) for *_, part in found)


def test_a_damaged_image_is_one_line_when_it_is_read_and_not_before(paths, tmp_path, refused):
    content = bytearray(paths[1].read_bytes())
    raw = arrays.read_npz(paths[1])["train_images"]
    content[content.index(raw[17].tobytes()) + 5] ^= 1
    damaged = tmp_path / "damaged.npz"
    damaged.write_bytes(content)
    split = prepared.load(damaged).train
    split.take(np.array([0, 16, 18]))
    line = refused(split.take, np.array([3, 17]))
    assert line == f"{damaged}: an image is damaged; remove the file to have it prepared again"


@pytest.mark.parametrize("length", [0, 100, 5000, -200, -1])
def test_a_truncated_file_and_one_without_its_checks_are_one_line_at_once(length, paths, tmp_path, refused):
    truncated = tmp_path / "truncated.npz"
    truncated.write_bytes(paths[1].read_bytes()[:length])
    assert refused(prepared.load, truncated).startswith(f"{truncated}: damaged or truncated (")
    found = arrays.read_npz(paths[1])
    del found["test_checks"]
    arrays.write_npz(tmp_path / "bare.npz", found)
    assert refused(prepared.load, tmp_path / "bare.npz").startswith(f"{tmp_path / 'bare.npz'}: test_checks: missing")


# Originals: kept as their files have them; a box of each is drawn, decoded and resized, exactly


LAW = {"area": [0.05, 1], "aspect": [0.75, 1.33], "covered": 0.1}
SIDE = 24


def drawn(law, sizes, seed=0):
    return originals.drawn_boxes(
        law, np.asarray(sizes), lambda attempt: streams.stream_key(seed, "augment", 0, "box", attempt)
    )


# The law of the boxes


def box_in_words(law, height, width, words):
    """A box as `sample_distorted_bounding_box` draws it, of one image and the words of an attempt; None if it fails."""
    narrow, wide = law["aspect"]
    aspect = narrow + (wide - narrow) * ((int(words[0]) >> 32) / 2**32)
    least, most = law["area"][0] * height * width, law["area"][1] * height * width
    low, high = round(math.sqrt(least / aspect)), round(math.sqrt(most / aspect))
    if round(high * aspect) > width:
        high = int((width + 0.5 - 1e-7) / aspect)
        high -= round(high * aspect) > width
    high = min(high, height)
    low = min(low, high)
    rows = low + ((int(words[1]) >> 32) * (high - low + 1) >> 32)
    if rows * round(rows * aspect) < least:
        rows += 1
    if rows * round(rows * aspect) > most:
        rows -= 1
    columns = round(rows * aspect)
    if not (least <= rows * columns <= most and 0 < columns <= width and 0 < rows <= height):
        return None
    if rows * columns < law.get("covered", 0) * height * width:
        return None
    top, left = ((int(word) >> 32) * (all_ - seen) >> 32 for word, all_, seen in
                 ((words[2], height, rows), (words[3], width, columns)))  # fmt: skip
    return [top, left, rows, columns]


def test_every_box_is_the_first_that_fits_of_an_image_s_own_attempts():
    generator = np.random.default_rng(3)
    sizes = np.concatenate([generator.integers(1, 12, (150, 2)), generator.integers(30, 700, (150, 2))])
    words = [
        streams.raw_integers(streams.stream_key(0, "augment", 0, "box", attempt), 4 * 300).reshape(-1, 4)
        for attempt in range(100)
    ]
    wanted = []
    for number, (height, width) in enumerate(sizes.tolist()):
        tried = (box_in_words(LAW, height, width, attempt[number]) for attempt in words)
        wanted.append(next((box for box in tried if box), [0, 0, height, width]))
    assert drawn(LAW, sizes).tolist() == wanted
    # Where none fits, the image is seen whole.
    assert drawn(LAW, [[1, 90], [700, 20]]).tolist() == [[0, 0, 1, 90], [0, 0, 700, 20]]


# Resizing


def resized_in_words(pixels, box, side):
    """Bilinear interpolation as a fraction, one pixel at a time: nothing is rounded before the end."""
    top, left, height, width = (int(number) for number in box)
    part = pixels[top : top + height, left : left + abs(width)].astype(int).tolist()
    part = [row[::-1] for row in part] if width < 0 else part
    width = abs(width)
    out = np.empty((side, side, 3), np.float32)
    for y in range(side):
        row, down = divmod(y * height, side)
        below = min(row + 1, height - 1)
        for x in range(side):
            column, right = divmod(x * width, side)
            after = min(column + 1, width - 1)
            for channel in range(3):
                upper = part[row][column][channel] * (side - right) + part[row][after][channel] * right
                lower = part[below][column][channel] * (side - right) + part[below][after][channel] * right
                out[y, x, channel] = (upper * (side - down) + lower * down) / side**2
    return out


@pytest.mark.parametrize("box", [(0, 0, 40, 31), (3, 5, 24, 24), (9, 2, 7, -20), (0, 0, 1, 1), (39, 30, 1, -1)])
def test_a_box_is_resized_exactly(box):
    pixels = np.random.default_rng(5).integers(0, 256, (40, 31, 3), np.uint8)
    found = originals.resize_box(pixels, np.array(box), SIDE)
    assert found.tobytes() == resized_in_words(pixels, box, SIDE).tobytes()


# Prepared data


@pytest.fixture(scope="module")
def folder(tmp_path_factory, photographs):
    return photographs(tmp_path_factory.mktemp("originals"), train=12, test=6)


@pytest.fixture
def path(folder, tmp_path):
    files = {part: {"path": str(folder / part)} for part in ("train", "test")}
    entry = {"reader": "imagenet", "files": files, "image_size": SIDE, "stored_size": "original", "streamed": True}
    preparation.prepare("photographs", entry, out=tmp_path / "originals.npz", threads=2)
    return tmp_path / "originals.npz"


def contents(folder, part):
    return [file.read_bytes() for file in sorted((folder / part).glob("*/*"))]


def test_the_files_are_stored_as_they_are(path, folder):
    found = arrays.read_npz(path)
    for part in ("train", "test"):
        files = contents(folder, part)
        assert found[f"{part}_images"].tobytes() == b"".join(files)
        pictures = [Image.open(io.BytesIO(file)) for file in files]
        assert len({picture.size for picture in pictures}) > 3
        assert {picture.format for picture in pictures} == {"JPEG"}
        wanted = [[*picture.size[::-1], len(file)] for picture, file in zip(pictures, files, strict=True)]
        assert found[f"{part}_sizes"].tolist() == wanted
    assert found["side"] == SIDE
    data = prepared.load(path)
    assert data.train.shape == (SIDE, SIDE, 3)
    assert data.train.pixels.nbytes == sum(map(len, contents(folder, "train")))
    assert isinstance(data.train.pixels.stored.base, np.memmap)


def test_a_network_is_tested_on_the_middles(path, folder):
    test = prepared.load(path, "imagenet").test
    wanted = []
    for content in contents(folder, "test"):
        pixels = np.array(Image.open(io.BytesIO(content)).convert("RGB"))
        (box,) = originals.middle_boxes(np.array([pixels.shape[:2]]))
        wanted.append(resized_in_words(pixels, box, SIDE))
    scaled = np.stack(wanted) / np.float32(255)
    exact = (np.stack(wanted).astype(np.float64) / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    np.testing.assert_allclose(test.images, exact, rtol=0, atol=1e-5)
    assert prepared.load(path).test.middle(slice(None)).tobytes() == scaled.tobytes()
    assert test.chosen(np.array([3, 1])).images.tobytes() == test.images[[3, 1]].tobytes()


def test_a_view_of_an_original_is_the_middle_moved_by_pixels_of_what_is_seen(path, folder):
    """Of 24 pixels seen, 1 is a fourteenth of 14 of the original's; a middle may reach the edge and not go beyond."""
    test = prepared.load(path).test
    views = list(remedy_dump._each_view_of_split(test, sorted(SETS["flip+crops9"]), np.zeros(3)))
    assert [view for view, _ in views] == sorted(SETS["flip+crops9"])
    for number, content in enumerate(contents(folder, "test")):
        pixels = np.array(Image.open(io.BytesIO(content)).convert("RGB"))
        top, left, side, _ = originals.middle_boxes(np.array([pixels.shape[:2]]))[0]
        for view, images in views:
            moved = [round(start + side * shift / SIDE) for start, shift in ((top, view.down), (left, view.right))]
            wanted = resized_in_words(pixels, (*moved, side, side), SIDE) / np.float32(255)
            assert np.array_equal(images[number], wanted[:, ::-1] if view.mirrored else wanted)
    (image,) = np.argwhere([view == PLAIN for view, _ in views]).ravel()
    assert views[image][1].tobytes() == test.images.tobytes()


def boxed(spec, batch_size):
    return Spec.read(spec.json | {"recipe": spec.recipe | {"resized_crop": LAW, "crop": 0, "batch_size": batch_size}})


def test_a_streamed_part_has_the_planned_boxes_of_its_images(path, folder, make_spec, monkeypatch):
    train = prepared.load(path).train
    plan = plan_epoch(boxed(make_spec("algo_impl", 1), 5), len(train), 0, train.margin, train.boxes)
    assert not plan.flips.any()
    assert 0 < (plan.boxes[..., 3] < 0).sum() < plan.order.size
    files = contents(folder, "train")
    wanted = []
    for example, box in zip(plan.order.ravel(), plan.boxes.reshape(-1, 4), strict=True):
        wanted.append(resized_in_words(np.array(Image.open(io.BytesIO(files[example])).convert("RGB")), box, SIDE))
    wanted = np.stack(wanted) / np.float32(255)
    for size in (1, 1 << 30):
        monkeypatch.setattr(streaming, "PART_BYTES", size)
        found = [(images, labels) for images, labels, _ in streaming.parts_of_epoch(train, plan)]
        assert len(found) == (len(plan.order) if size == 1 else 1)
        assert np.concatenate([images for images, _ in found]).tobytes() == wanted.tobytes()
        assert np.array_equal(np.concatenate([labels for _, labels in found]), train.targets[plan.order.ravel()])


def test_shuffling_alone_changes_no_box_and_epochs_and_replicates_change_all(path, make_spec):
    train = prepared.load(path).train

    def by_example(variant, seed, epoch=0):
        plan = plan_epoch(boxed(make_spec(variant, seed), 24), len(train), epoch, 0, train.boxes)
        return plan.order.ravel(), plan.boxes.reshape(-1, 4)[np.argsort(plan.order.ravel())], plan.digest()

    order, mine, digest = by_example("shuffle", 1)
    other_order, theirs, _ = by_example("shuffle", 2)
    assert (order != other_order).any()
    assert np.array_equal(mine, theirs)
    for other in (by_example("augment", 2), by_example("shuffle", 1, epoch=1)):
        assert (mine != other[1]).any(axis=1).mean() > 0.8
    assert by_example("shuffle", 1)[2] == digest
    assert by_example("augment", 1)[2] != by_example("augment", 2)[2]
