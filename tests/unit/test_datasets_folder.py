import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from toolnoise.base import arrays
from toolnoise.datasets import preparation, prepared

REAL = Path(__file__).parents[3] / "shared/data/cifar10-jpeg.tar.xz"
GENERATOR = np.random.default_rng(5)
# Written in an order that is no order of names.
PICTURES = {
    f"{part}/{kind}/{name}.png": GENERATOR.integers(0, 256, (6, 9, 3), np.uint8)
    for part, kind, name in [
        ("test", "eel", "1"),
        ("train", "eel", "2"),
        ("train", "cat", "10"),
        ("train", "cat", "9"),
        ("test", "cat", "7"),
        ("train", "dog", "a"),
        ("test", "dog", "b"),
        ("train", "eel", "1"),
    ]
}


def encoded(pixels, form="PNG", **options):
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, form, **options)
    return out.getvalue()


@pytest.fixture
def files():
    """An image folder's files, to be changed by the test."""
    return {name: encoded(pixels) for name, pixels in PICTURES.items()}


@pytest.fixture
def prepare(tmp_path):
    """Prepare an image folder, as files or packed; returns the path of its prepared form."""

    def make(files, pack=None, **entry):
        path = tmp_path / ("pictures.tar" if pack else "pictures")
        if pack:
            with tarfile.open(path, pack) as archive:
                for name, content in files.items():
                    member = tarfile.TarInfo(name)
                    member.size = len(content)
                    archive.addfile(member, io.BytesIO(content))
        else:
            for name, content in files.items():
                (path / name).parent.mkdir(parents=True, exist_ok=True)
                (path / name).write_bytes(content)
        preparation.prepare("mine", {"reader": "image-folder", "path": str(path), **entry}, tmp_path / "out.npz")
        return tmp_path / "out.npz"

    return make


@pytest.mark.parametrize("pack", [None, "w:", "w:gz", "w:xz"])
def test_pixels_labels_and_order_are_those_of_the_files(pack, files, prepare):
    found = arrays.read_npz(prepare(files, pack))
    assert found["classes"].tolist() == ["cat", "dog", "eel"]
    for part, labels in {"train": [0, 0, 1, 2, 2], "test": [0, 1, 2]}.items():
        assert found[f"{part}_labels"].tolist() == labels
        names = sorted(name for name in PICTURES if name.startswith(part))
        assert found[f"{part}_images"].tobytes() == np.stack([PICTURES[name] for name in names]).tobytes()
        assert found[f"{part}_images"].dtype == np.uint8


def test_a_folder_around_both_is_looked_into(files, prepare):
    plain = prepared.load(prepare(files)).sha256
    assert prepared.load(prepare({f"pictures-1.0/{name}": data for name, data in files.items()}, "w:")).sha256 == plain


def test_grey_and_transparent_images_become_colours(files, prepare):
    grey = PICTURES["train/dog/a.png"][..., 0]
    clear = np.dstack([PICTURES["test/dog/b.png"], np.full((6, 9), 7, np.uint8)])
    found = arrays.read_npz(prepare(files | {"train/dog/a.png": encoded(grey), "test/dog/b.png": encoded(clear)}))
    assert (found["train_images"][2] == grey[..., np.newaxis]).all()
    assert (found["test_images"][1] == PICTURES["test/dog/b.png"]).all()


def test_the_middle_of_each_image_is_taken_where_none_need_be_scaled(files, prepare):
    found = arrays.read_npz(prepare(files, image_size=6))
    assert (found["train_images"][2] == PICTURES["train/dog/a.png"][:, 1:7]).all()


@pytest.mark.parametrize("shape", [(4, 6), (6, 4), (5, 5), (3, 11), (40, 31)])
def test_images_of_many_sizes_are_brought_to_one(shape, files, prepare):
    tall = np.full((*shape, 3), 90, np.uint8)
    tall[..., 1] = 200
    found = arrays.read_npz(prepare(files | {"train/dog/a.png": encoded(tall)}, image_size=5))
    assert found["train_images"].shape == (5, 5, 5, 3)
    assert (found["train_images"][2] == [90, 200, 90]).all()


def test_preparing_a_folder_and_its_archive_gives_equal_bytes(files, prepare):
    assert prepare(files).read_bytes() == prepare(files, "w:xz").read_bytes()


TINY = encoded(np.zeros((6, 8, 3), np.uint8))
BAD_FILES = {
    "another size": (
        {"train/eel/0.png": TINY},
        "train/eel/0.png: 8 x 6 pixels where others have 9 x 6; one size, or image_size in the data set's entry",
    ),
    "no image": ({"train/cat/0.png": b"no image"}, "train/cat/0.png: does not decode (no known format); allowed: BMP"),
    "an empty file": ({"train/cat/0.png": b""}, "train/cat/0.png: does not decode (no known format)"),
    "half an image": ({"train/cat/0.png": TINY[: len(TINY) // 2]}, "train/cat/0.png: does not decode ("),
    "half a JPEG": (
        {"train/cat/0.jpg": encoded(PICTURES["train/dog/a.png"], "JPEG")[:-60]},
        "train/cat/0.jpg: does not decode (image file is truncated",
    ),
    "16 bits": (
        {"train/cat/0.png": encoded(np.zeros((6, 9), np.uint16))},
        "train/cat/0.png: an image of mode I;16; allowed: 8 bits a channel",
    ),
    "no class": ({"train/0.png": TINY}, "train/0.png: an image outside the class folders; expected train/<class>/"),
    "too deep": ({"train/cat/tom/0.png": TINY}, "train/cat/tom/0.png: an image outside the class folders"),
    "class of tests alone": ({"test/fox/0.png": TINY}, "test/fox/0.png: class 'fox' has no training image"),
    "class without test": ({"train/fox/0.png": encoded(PICTURES["train/dog/a.png"])}, "test_labels: class fox has no"),
}


@pytest.mark.parametrize(("change", "found"), BAD_FILES.values(), ids=list(BAD_FILES))
@pytest.mark.parametrize("pack", [None, "w:gz"])
def test_a_bad_file_is_one_line_and_nothing_is_left(pack, change, found, files, prepare, tmp_path, refused):
    line = refused(prepare, files | change, pack)
    path = tmp_path / ("pictures.tar" if pack else "pictures")
    assert line.startswith(f"{path}: {found}")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("part", ["train", "test"])
def test_a_folder_without_one_of_its_parts_is_one_line(part, files, prepare, tmp_path, refused):
    line = refused(prepare, {name: data for name, data in files.items() if not name.startswith(part)})
    assert line == (
        f"{tmp_path / 'pictures'}: {part}/: no image found; expected train/<class>/<image> and test/<class>/<image>"
    )


@pytest.mark.skipif(not REAL.exists(), reason="no ../shared/data beside this checkout")
def test_real_pictures_are_read_as_pillow_reads_them(tmp_path):
    preparation.prepare("real", {"reader": "image-folder", "path": str(REAL)}, tmp_path / "real.npz")
    found = arrays.read_npz(tmp_path / "real.npz")
    classes = found["classes"].tolist()
    assert len(classes) == 10
    assert [found[f"{part}_images"].shape for part in ("train", "test")] == [(50000, 32, 32, 3), (10000, 32, 32, 3)]
    with tarfile.open(REAL, "r:xz") as archive:
        # In the order of the archive, each picture looked up by its name.
        for member in archive:
            if member.isfile():
                part, kind, file = member.name.split("/")
                place = classes.index(kind) * (5000 if part == "train" else 1000) + int(file.removesuffix(".jpg"))
                with Image.open(archive.extractfile(member)) as image:
                    assert np.array_equal(found[f"{part}_images"][place], np.array(image)), member.name
                assert found[f"{part}_labels"][place] == classes.index(kind)


def test_a_strip_that_would_be_scaled_to_gigabytes_is_one_line(files, prepare, refused):
    files["train/eel/strip.png"] = encoded(np.zeros((1, 60_000, 3), np.uint8))
    line = refused(lambda: prepare(files, image_size=224))
    assert line.endswith(
        "eel/strip.png: does not decode (60000 x 1 pixels are longer than wide by more than 100 times); "
        "allowed: BMP, GIF, JPEG, PNG, PPM, TIFF, WEBP"
    )
