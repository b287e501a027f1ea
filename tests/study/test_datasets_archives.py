"""Archives and image folders: what is read of them, packed or not, and what is refused in one line."""

import bz2
import gzip
import io
import lzma
import os
import re
import stat
import tarfile
import zipfile

import numpy as np
import pytest
from official_formats import encoded, packed

from toolnoise.base import arrays, files
from toolnoise.datasets import archives, preparation, prepared
from toolnoise.datasets.archives import opened

FILES = {"b/two.txt": b"two" * 300, "b/one.txt": b"one", "a/three.txt": b"", "four.txt": b"4" * 700}
PACK = {".tar": "w:", ".tar.gz": "w:gz", ".tar.bz2": "w:bz2", ".tar.xz": "w:xz"}


def regular(name, content=b""):
    member = tarfile.TarInfo(name)
    member.size = len(content)
    return member, content


def write_tar(path, members, mode="w:"):
    with tarfile.open(path, mode) as archive:
        for member, content in members:
            archive.addfile(member, io.BytesIO(content))
    return path


def write_zip(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def read(path):
    with opened(path) as members:
        return list(members.items())


@pytest.mark.parametrize("suffix", [*PACK, ".zip", "/"])
def test_every_file_is_read_in_the_order_of_the_names(suffix, tmp_path):
    path = tmp_path / f"archive{suffix}"
    if suffix in PACK:
        write_tar(path, [regular(name, content) for name, content in FILES.items()], PACK[suffix])
    elif suffix == ".zip":
        write_zip(path, FILES)
    else:
        for name, content in FILES.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_bytes(content)
    assert read(path) == sorted(FILES.items())


def test_a_file_is_what_its_first_bytes_say_whatever_its_name(tmp_path):
    assert read(write_tar(tmp_path / "archive.zip", [regular("a", b"1")], "w:xz")) == [("a", b"1")]


def test_folders_hidden_files_and_dots_in_front_are_no_names(tmp_path):
    folder = tarfile.TarInfo("./a")
    folder.type = tarfile.DIRTYPE
    members = [(folder, b""), regular("./a/one", b"1"), regular("./a/._one", b"2"), regular(".cache/two", b"3")]
    assert read(write_tar(tmp_path / "a.tar", members)) == [("a/one", b"1")]


def of_type(kind, name="a/linked", target="/etc/passwd"):
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return [regular("a/plain", b"1"), (member, b"")]


BAD_MEMBERS = {
    "above": ([regular("../outside", b"1")], "../outside: a member outside its folder"),
    "absolute": ([regular("/tmp/outside", b"1")], "/tmp/outside: a member outside its folder"),
    "another system's": ([regular("..\\outside", b"1")], "..\\outside: a member outside its folder"),
    "symbolic link": (of_type(tarfile.SYMTYPE), "a/linked: a link, a device or the like"),
    "pipe": (of_type(tarfile.FIFOTYPE), "a/linked: a link, a device or the like"),
    "twice": ([regular("a", b"1"), regular("./a", b"2")], "./a: a repeated member"),
}


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize(("members", "found"), BAD_MEMBERS.values(), ids=list(BAD_MEMBERS))
def test_a_tar_with_a_bad_member_is_one_line_before_anything_is_read(members, found, suffix, tmp_path, refused):
    path = write_tar(tmp_path / f"bad{suffix}", [regular("good", b"1"), *members], PACK[suffix])
    assert refused(read, path).startswith(f"{path}: {found}")
    assert list(tmp_path.iterdir()) == [path]


def test_a_zip_that_climbs_out_or_has_a_link_is_one_line(tmp_path, refused):
    linked = zipfile.ZipInfo("linked")
    linked.external_attr = (stat.S_IFLNK | 0o777) << 16
    for name, found in (("a/../../outside", "a/../../outside: a member outside"), (linked, "linked: a link, a device")):
        path = write_zip(tmp_path / "bad.zip", {"good": b"1", name: b"2"})
        assert refused(read, path).startswith(f"{path}: {found}")


def test_a_linked_folder_or_a_pipe_in_a_folder_is_one_line_and_not_left_out(tmp_path, refused):
    (tmp_path / "here/a").mkdir(parents=True)
    (tmp_path / "here/b").symlink_to("a")
    assert refused(read, tmp_path / "here").startswith(f"{tmp_path / 'here'}: b: a link to a folder")
    (tmp_path / "here/b").unlink()
    os.mkfifo(tmp_path / "here/picture.png")
    assert "a pipe or a device" in refused(read, tmp_path / "here")


@pytest.mark.parametrize("suffix", PACK)
def test_a_tar_that_ends_early_is_one_line_wherever_it_was_cut(suffix, tmp_path, refused):
    path = write_tar(tmp_path / f"whole{suffix}", [regular(*item) for item in FILES.items()], PACK[suffix])
    whole = path.read_bytes()
    # Of a plain tar everything but the padding after its end counts; 512 bytes is where a member ends.
    last = 512 * 8 if suffix == ".tar" else len(whole) - 1
    for length in {0, 1, 511, 512, 513, 1024, 2048, last - 512, last // 2, last - 1, last} & set(range(last + 1)):
        path.write_bytes(whole[:length])
        line = refused(read, path)
        assert line.startswith(f"{path}: damaged or truncated (")
        assert line.endswith("; expected a folder, a .tar (.gz, .bz2 or .xz) or a .zip")


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_a_damaged_byte_is_one_line(pack, tmp_path, refused):
    path = write_tar(tmp_path / "archive", [regular(*item) for item in FILES.items()])
    damaged = bytearray(pack(path.read_bytes()))
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    assert refused(read, path).startswith(f"{path}: ")
    damaged = bytearray(write_zip(path, FILES).read_bytes())
    damaged[damaged.index(b"two" * 300)] ^= 1
    path.write_bytes(damaged)
    assert refused(read, path).startswith(f"{path}: ")


def test_what_is_no_archive_is_one_line(tmp_path, refused):
    (tmp_path / "text").write_text("hello " * 400)
    assert refused(read, tmp_path / "text").startswith(f"{tmp_path / 'text'}: damaged or truncated (")
    assert refused(read, tmp_path / "absent") == (
        f"{tmp_path / 'absent'}: no such file; expected a folder, a .tar (.gz, .bz2 or .xz) or a .zip"
    )


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_packed_file_that_would_fill_the_disk_is_one_line(pack, tmp_path, refused, monkeypatch):
    monkeypatch.setattr(files, "LARGEST_UNPACKED", 1000)
    monkeypatch.setattr(archives, "BLOCK", 1000)
    path = tmp_path / "data.tar.gz"
    path.write_bytes(pack(bytes(10**6)))
    wanted = "unpacks to [0-9]+ bytes or more; at most [0-9]+: 1000, or 20 times its packed size"
    assert re.search(wanted, refused(lambda: archives.opened(path).__enter__()))
    assert re.search(wanted, refused(lambda: archives.unpacked(path)))


def test_a_member_of_a_zip_that_would_fill_the_memory_is_one_line(tmp_path, refused, monkeypatch):
    monkeypatch.setattr(files, "LARGEST_UNPACKED", 1000)
    with zipfile.ZipFile(tmp_path / "data.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(10**6))
    assert "zeros: unpacks to 1000000 bytes" in refused(lambda: archives.opened(tmp_path / "data.zip").__enter__())


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


@pytest.fixture
def pictures():
    """An image folder's files, to be changed by the test."""
    return {name: encoded(pixels) for name, pixels in PICTURES.items()}


@pytest.fixture
def prepare(tmp_path):
    """Prepare an image folder, as files or packed; returns the path of its prepared form."""

    def make(pictures, pack=None, **entry):
        path = tmp_path / ("pictures.tar" if pack else "pictures")
        if pack:
            path.write_bytes(packed(pictures, pack))
        else:
            for name, content in pictures.items():
                (path / name).parent.mkdir(parents=True, exist_ok=True)
                (path / name).write_bytes(content)
        preparation.prepare("mine", {"reader": "image-folder", "path": str(path), **entry}, out=tmp_path / "out.npz")
        return tmp_path / "out.npz"

    return make


@pytest.mark.parametrize("pack", [None, "w:", "w:gz", "w:xz"])
def test_pixels_labels_and_order_are_those_of_the_files(pack, pictures, prepare):
    found = arrays.read_npz(prepare(pictures, pack))
    assert found["classes"].tolist() == ["cat", "dog", "eel"]
    for part, labels in {"train": [0, 0, 1, 2, 2], "test": [0, 1, 2]}.items():
        assert found[f"{part}_labels"].tolist() == labels
        names = sorted(name for name in PICTURES if name.startswith(part))
        assert found[f"{part}_images"].tobytes() == np.stack([PICTURES[name] for name in names]).tobytes()
        assert found[f"{part}_images"].dtype == np.uint8


def test_a_folder_around_both_is_looked_into(pictures, prepare):
    plain = prepared.load(prepare(pictures)).sha256
    assert (
        prepared.load(prepare({f"pictures-1.0/{name}": data for name, data in pictures.items()}, "w:")).sha256 == plain
    )


def test_grey_and_transparent_images_become_colours(pictures, prepare):
    grey = PICTURES["train/dog/a.png"][..., 0]
    clear = np.dstack([PICTURES["test/dog/b.png"], np.full((6, 9), 7, np.uint8)])
    found = arrays.read_npz(prepare(pictures | {"train/dog/a.png": encoded(grey), "test/dog/b.png": encoded(clear)}))
    assert (found["train_images"][2] == grey[..., np.newaxis]).all()
    assert (found["test_images"][1] == PICTURES["test/dog/b.png"]).all()


@pytest.mark.parametrize("shape", [(4, 6), (6, 4), (5, 5), (3, 11), (40, 31)])
def test_images_of_many_sizes_are_brought_to_one(shape, pictures, prepare):
    tall = np.full((*shape, 3), 90, np.uint8)
    tall[..., 1] = 200
    found = arrays.read_npz(prepare(pictures | {"train/dog/a.png": encoded(tall)}, image_size=5))
    assert found["train_images"].shape == (5, 5, 5, 3)
    assert (found["train_images"][2] == [90, 200, 90]).all()
    # Where none need be scaled, the middle of each is taken.
    found = arrays.read_npz(prepare(pictures, image_size=6))
    assert (found["train_images"][2] == PICTURES["train/dog/a.png"][:, 1:7]).all()


TINY = encoded(np.zeros((6, 8, 3), np.uint8))
BAD_FILES = {
    "another size": (
        {"train/eel/0.png": TINY},
        "train/eel/0.png: 8 x 6 pixels where others have 9 x 6; one size, or image_size in the data set's entry",
    ),
    "no image": ({"train/cat/0.png": b"no image"}, "train/cat/0.png: does not decode (no known format); allowed: BMP"),
    "half an image": ({"train/cat/0.png": TINY[: len(TINY) // 2]}, "train/cat/0.png: does not decode ("),
    "16 bits": (
        {"train/cat/0.png": encoded(np.zeros((6, 9), np.uint16))},
        "train/cat/0.png: an image of mode I;16; allowed: 8 bits a channel",
    ),
    "no class": ({"train/0.png": TINY}, "train/0.png: an image outside the class folders; expected train/<class>/"),
    "class of tests alone": ({"test/fox/0.png": TINY}, "test/fox/0.png: class 'fox' has no training image"),
    "class without test": ({"train/fox/0.png": encoded(PICTURES["train/dog/a.png"])}, "test_labels: class fox has no"),
}


@pytest.mark.parametrize(("change", "found"), BAD_FILES.values(), ids=list(BAD_FILES))
@pytest.mark.parametrize("pack", [None, "w:gz"])
def test_a_bad_file_is_one_line_and_nothing_is_left(pack, change, found, pictures, prepare, tmp_path, refused):
    line = refused(prepare, pictures | change, pack)
    path = tmp_path / ("pictures.tar" if pack else "pictures")
    assert line.startswith(f"{path}: {found}")
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_without_one_of_its_parts_is_one_line(pictures, prepare, tmp_path, refused):
    line = refused(prepare, {name: data for name, data in pictures.items() if not name.startswith("test")})
    assert line == (
        f"{tmp_path / 'pictures'}: test/: no image found; expected train/<class>/<image> and test/<class>/<image>"
    )


def test_a_strip_that_would_be_scaled_to_gigabytes_is_one_line(pictures, prepare, refused):
    pictures["train/eel/strip.png"] = encoded(np.zeros((1, 60_000, 3), np.uint8))
    line = refused(lambda: prepare(pictures, image_size=224))
    assert line.endswith(
        "eel/strip.png: does not decode (60000 x 1 pixels are longer than wide by more than 100 times); "
        "allowed: BMP, GIF, JPEG, PNG, PPM, TIFF, WEBP"
    )
