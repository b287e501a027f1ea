import bz2
import gzip
import io
import lzma
import os
import re
import stat
import tarfile
import zipfile

import pytest

from toolnoise.base import files
from toolnoise.datasets import archives
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
    "above in the middle": ([regular("a/../../outside", b"1")], "a/../../outside: a member outside"),
    "absolute": ([regular("/tmp/outside", b"1")], "/tmp/outside: a member outside its folder"),
    "another system's": ([regular("..\\outside", b"1")], "..\\outside: a member outside its folder"),
    "symbolic link": (of_type(tarfile.SYMTYPE), "a/linked: a link, a device or the like"),
    "hard link": (of_type(tarfile.LNKTYPE), "a/linked: a link, a device or the like"),
    "device": (of_type(tarfile.CHRTYPE), "a/linked: a link, a device or the like"),
    "pipe": (of_type(tarfile.FIFOTYPE), "a/linked: a link, a device or the like"),
    "twice": ([regular("a", b"1"), regular("./a", b"2")], "./a: a repeated member"),
}


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize(("members", "found"), BAD_MEMBERS.values(), ids=list(BAD_MEMBERS))
def test_a_tar_with_a_bad_member_is_one_line_before_anything_is_read(members, found, suffix, tmp_path, refused):
    path = write_tar(tmp_path / f"bad{suffix}", [regular("good", b"1"), *members], PACK[suffix])
    assert refused(read, path).startswith(f"{path}: {found}")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["../outside", "a/../../outside", "/tmp/outside"])
def test_a_zip_that_climbs_out_is_one_line(name, tmp_path, refused):
    path = write_zip(tmp_path / "bad.zip", {"good": b"1", name: b"2"})
    assert refused(read, path).startswith(f"{path}: {name}: a member outside its folder")


def test_a_link_in_a_zip_is_one_line(tmp_path, refused):
    linked = zipfile.ZipInfo("linked")
    linked.external_attr = (stat.S_IFLNK | 0o777) << 16
    path = write_zip(tmp_path / "bad.zip", {linked: b"/etc/passwd"})
    assert refused(read, path).startswith(f"{path}: linked: a link, a device or the like")


def test_a_linked_folder_in_a_folder_is_one_line_and_not_left_out(tmp_path, refused):
    (tmp_path / "here/a").mkdir(parents=True)
    (tmp_path / "here/b").symlink_to("a")
    assert refused(read, tmp_path / "here").startswith(f"{tmp_path / 'here'}: b: a link to a folder")


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


@pytest.mark.parametrize(
    ("suffix", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress), (".zip", None), (".tar", None)]
)
def test_a_damaged_byte_is_one_line(suffix, pack, tmp_path, refused):
    path = tmp_path / f"archive{suffix}"
    if suffix == ".zip":
        write_zip(path, FILES)
        damaged = bytearray(path.read_bytes())
        damaged[damaged.index(b"two" * 300)] ^= 1
    else:
        write_tar(path, [regular(*item) for item in FILES.items()])
        damaged = bytearray(path.read_bytes())
        if pack:
            damaged = bytearray(pack(damaged))
            damaged[len(damaged) // 2] ^= 1
        else:
            damaged[1536 + 3] ^= 1  # in the header of the second member
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


def test_a_pipe_in_a_folder_is_one_line(tmp_path, refused):
    os.mkfifo(tmp_path / "picture.png")
    assert "a pipe or a device" in refused(lambda: archives.opened(tmp_path).__enter__())
