"""Originals: kept as their files have them; a box of each is drawn, decoded and resized, exactly."""

import io
import math
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from toolnoise import streams
from toolnoise.base import arrays, code_digest
from toolnoise.base.spec import ORIGINALS, Spec
from toolnoise.datasets import preparation, prepared, streaming
from toolnoise.datasets.readers import originals
from toolnoise.epoch_plan import plan_epoch
from toolnoise.papers.remedies import dump
from toolnoise.study.remedies import PLAIN, SETS

LAW = {"area": [0.05, 1], "aspect": [0.75, 1.33], "covered": 0.1}
SIDE = 24


def drawn(law, sizes, seed=0):
    return originals.drawn_boxes(
        law, np.asarray(sizes), lambda attempt: streams.key(seed, "augment", 0, "box", attempt)
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
        streams.raw(streams.key(0, "augment", 0, "box", attempt), 4 * 300).reshape(-1, 4) for attempt in range(100)
    ]
    wanted = []
    for number, (height, width) in enumerate(sizes.tolist()):
        tried = (box_in_words(LAW, height, width, attempt[number]) for attempt in words)
        wanted.append(next((box for box in tried if box), [0, 0, height, width]))
    assert drawn(LAW, sizes).tolist() == wanted
    # Where none fits, the image is seen whole.
    assert drawn(LAW, [[1, 90], [700, 20]]).tolist() == [[0, 0, 1, 90], [0, 0, 700, 20]]


def test_the_middle_is_seven_eighths_of_the_shorter_side():
    sizes = np.array([[375, 500], [256, 256], [500, 333], [1, 1], [3, 9]])
    expected = [[24, 86, 328, 328], [16, 16, 224, 224], [105, 21, 291, 291], [0, 0, 1, 1], [1, 4, 2, 2]]
    assert originals.middle_boxes(sizes).tolist() == expected


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
    found = originals.resized(pixels, np.array(box), SIDE)
    assert found.tobytes() == resized_in_words(pixels, box, SIDE).tobytes()


def test_the_largest_sums_fit():
    white = np.full((3, 5, 3), 255, np.uint8)
    assert (originals.resized(white, np.array([0, 0, 3, 5]), 4096) == 255).all()


# Prepared data


@pytest.fixture(scope="module")
def folder(tmp_path_factory, photographs):
    return photographs(tmp_path_factory.mktemp("originals"), train=12, test=6)


@pytest.fixture
def entry(folder):
    files = {part: {"path": str(folder / part)} for part in ("train", "test")}
    return {"reader": "imagenet", "files": files, "image_size": SIDE, "stored_size": "original", "streamed": True}


@pytest.fixture
def path(entry, tmp_path):
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


def test_an_image_folder_has_the_same_originals(path, folder, entry, tmp_path):
    entry = {key: value for key, value in entry.items() if key != "files"} | {"reader": "image-folder"}
    preparation.prepare("photographs", entry | {"path": str(folder)}, out=tmp_path / "other.npz")
    assert (tmp_path / "other.npz").read_bytes() == path.read_bytes()


def test_the_digest_covers_the_bytes_of_the_files(path, photographs, entry, tmp_path):
    """A comment in a JPEG changes no pixel."""
    photographs(tmp_path, train=12, test=6)
    first = min((tmp_path / "train").glob("*/*"))
    content = first.read_bytes()
    first.write_bytes(content[:2] + b"\xff\xfe\x00\x04ab" + content[2:])
    files = {part: {"path": str(tmp_path / part)} for part in ("train", "test")}
    preparation.prepare("photographs", entry | {"files": files}, out=tmp_path / "other.npz")
    one, other = prepared.load(path), prepared.load(tmp_path / "other.npz")
    assert one.train.images.tobytes() == other.train.images.tobytes()
    assert one.sha256 != other.sha256
    assert np.array_equal(one.train.labels, other.train.labels)


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
    views = list(dump._shown(test, sorted(SETS["flip+crops9"]), np.zeros(3)))
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


@pytest.mark.parametrize("shift", [-16, 16])
def test_imagenets_crops_of_originals_reach_their_edges(shift):
    sizes = np.array([[256, 256], [500, 333], [375, 500], [97, 131]])
    boxes = originals.originals_in(np.zeros(0, np.uint8), np.insert(sizes, 2, 0, axis=1), 224).middles(shift, shift)
    assert (boxes[:, :2] >= 0).all() and (boxes[:, :2] + boxes[:, 2:] <= sizes).all()
    assert boxes[0].tolist() == [16 + shift, 16 + shift, 224, 224]


@pytest.fixture
def spec(make_spec):
    spec = make_spec("algo_impl", 1)
    return Spec.read(spec.json | {"recipe": spec.recipe | {"resized_crop": LAW, "crop": 0, "batch_size": 5}})


def test_a_streamed_part_has_the_planned_boxes_of_its_images(path, folder, spec, monkeypatch):
    train = prepared.load(path).train
    plan = plan_epoch(spec, len(train), 0, train.margin, train.boxes)
    assert not plan.flips.any()
    assert 0 < (plan.boxes[..., 3] < 0).sum() < plan.order.size
    files = contents(folder, "train")
    wanted = []
    for example, box in zip(plan.order.ravel(), plan.boxes.reshape(-1, 4), strict=True):
        wanted.append(resized_in_words(np.array(Image.open(io.BytesIO(files[example])).convert("RGB")), box, SIDE))
    wanted = np.stack(wanted) / np.float32(255)
    for size in (1, 1 << 30):
        monkeypatch.setattr(streaming, "PART_BYTES", size)
        found = [(images, labels) for images, labels, _ in streaming.parts(train, plan)]
        assert len(found) == (len(plan.order) if size == 1 else 1)
        assert np.concatenate([images for images, _ in found]).tobytes() == wanted.tobytes()
        assert np.array_equal(np.concatenate([labels for _, labels in found]), train.targets[plan.order.ravel()])


def test_shuffling_alone_changes_no_box_and_epochs_and_replicates_change_all(path, make_spec):
    train = prepared.load(path).train

    def by_example(variant, seed, epoch=0):
        spec = make_spec(variant, seed)
        spec = Spec.read(spec.json | {"recipe": spec.recipe | {"resized_crop": LAW, "crop": 0, "batch_size": 24}})
        plan = plan_epoch(spec, len(train), epoch, 0, train.boxes)
        return plan.order.ravel(), plan.boxes.reshape(-1, 4)[np.argsort(plan.order.ravel())], plan.digest()

    order, mine, digest = by_example("shuffle", 1)
    other_order, theirs, _ = by_example("shuffle", 2)
    assert (order != other_order).any()
    assert np.array_equal(mine, theirs)
    for other in (by_example("augment", 2), by_example("shuffle", 1, epoch=1)):
        assert (mine != other[1]).any(axis=1).mean() > 0.8
    assert by_example("shuffle", 1)[2] == digest
    assert by_example("augment", 1)[2] != by_example("augment", 2)[2]


def test_part_of_a_plan_has_its_boxes_and_each_box_counts_in_its_digest(path, spec):
    train = prepared.load(path).train
    plan = plan_epoch(spec, len(train), 0, 0, train.boxes)
    assert np.array_equal(plan.steps(1, 3).boxes, plan.boxes[1:3])
    moved = plan.boxes.copy()
    moved[-1, -1, 0] += 1
    assert plan._replace(boxes=moved).digest() != plan.digest()


def test_a_plan_without_boxes_has_the_digest_of_before(make_spec):
    digest = plan_epoch(make_spec("algo_impl", 1), 50, 0).digest()
    assert digest == "4d67764143b3a3d2979a041c831466fb169ab59271cfaec2b8d17b7227ec483d"


def test_a_job_on_originals_is_made_by_their_reader_and_another_is_not(make_spec):
    spec = make_spec("algo", 1)
    kept = Spec.read(spec.json | {"dataset": dict(spec.dataset.json) | {"stored_size": "original"}})
    assert code_digest.named_by(kept) == (*code_digest.named_by(spec), ORIGINALS)
    assert code_digest.digest(*code_digest.named_by(kept)) != code_digest.digest(*code_digest.named_by(spec))


# What is refused


def test_a_plan_of_boxes_needs_originals(spec, refused):
    line = refused(plan_epoch, spec, 20, 0)
    problem = "resized_crop: found it, and the data set has no originals; stored_size: original"
    assert line == f"recipe digits: {problem}"


def test_an_original_that_was_damaged_on_disk_is_refused(path, refused):
    whole = bytearray(path.read_bytes())
    whole[5000] ^= 1
    path.write_bytes(bytes(whole))
    train = prepared.load(path).train
    line = refused(train.take, np.arange(len(train)))
    assert line == f"{path}: an image is damaged; remove the file to have it prepared again"


def test_an_image_of_another_size_than_stored_is_refused(path, refused):
    train = prepared.load(path).train
    pixels = replace(train.pixels, sizes=train.pixels.sizes + 1)
    line = refused(replace(train, pixels=pixels).take, slice(None))
    assert line == f"{path}: an image has another size; remove the file to have it prepared again"


@pytest.mark.parametrize(
    "change",
    [
        {"train_sizes": None},
        {"train_sizes": np.ones((24, 3), np.int32)},
        {"train_sizes": np.ones((24, 2), np.int32)},
        {"sha256": None},
        {"side": np.array(0)},
        {"train_images": np.zeros((24, SIDE, SIDE, 3), np.uint8)},
    ],
    ids=["no sizes", "other sizes", "two sizes", "no digest", "no side", "pixels"],
)
def test_sizes_that_are_not_those_of_the_images_are_refused(change, path, refused):
    found = arrays.read_npz(path) | change
    arrays.write_npz(path, {name: values for name, values in found.items() if values is not None})
    line = refused(prepared.load, path)
    assert line == f"{path}: train_sizes: not those of the images; remove the file to have it prepared again"
