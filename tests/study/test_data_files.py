"""Archives and image folders: what is read of them, packed or not, and what is refused in one line."""

import base64
import bz2
import gzip
import hashlib
import io
import lzma
import os
import re
import stat
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import numpy as np
import pytest
import requests
from official_formats import encoded, packed

from toolnoise.base import arrays, errors, files
from toolnoise.datasets import archives, fetching, preparation, sources
from toolnoise.datasets.archives import opened_archive
from toolnoise.study import config

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
    with opened_archive(path) as members:
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
    "symbolic link": (of_type(tarfile.SYMTYPE), "a/linked: a link, a device or the like"),
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


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_packed_file_that_would_fill_the_disk_is_one_line(pack, tmp_path, refused, monkeypatch):
    monkeypatch.setattr(files, "LARGEST_UNPACKED", 1000)
    monkeypatch.setattr(archives, "BLOCK", 1000)
    path = tmp_path / "data.tar.gz"
    path.write_bytes(pack(bytes(10**6)))
    wanted = "unpacks to [0-9]+ bytes or more; at most [0-9]+: 1000, or 20 times its packed size"
    assert re.search(wanted, refused(lambda: archives.opened_archive(path).__enter__()))
    assert re.search(wanted, refused(lambda: archives.unpack_gzip(path)))


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
    "16 bits": (
        {"train/cat/0.png": encoded(np.zeros((6, 9), np.uint16))},
        "train/cat/0.png: an image of mode I;16; allowed: 8 bits a channel",
    ),
    "no class": ({"train/0.png": TINY}, "train/0.png: an image outside the class folders; expected train/<class>/"),
    "class without test": ({"train/fox/0.png": encoded(PICTURES["train/dog/a.png"])}, "test_labels: class fox has no"),
}


@pytest.mark.parametrize(("change", "found"), BAD_FILES.values(), ids=list(BAD_FILES))
@pytest.mark.parametrize("pack", [None, "w:gz"])
def test_a_bad_file_is_one_line_and_nothing_is_left(pack, change, found, pictures, prepare, tmp_path, refused):
    line = refused(prepare, pictures | change, pack)
    path = tmp_path / ("pictures.tar" if pack else "pictures")
    assert line.startswith(f"{path}: {found}")
    assert list(tmp_path.iterdir()) == [path]


def test_a_strip_that_would_be_scaled_to_gigabytes_is_one_line(pictures, prepare, refused):
    pictures["train/eel/strip.png"] = encoded(np.zeros((1, 60_000, 3), np.uint8))
    line = refused(lambda: prepare(pictures, image_size=224))
    assert line.endswith(
        "eel/strip.png: does not decode (60000 x 1 pixels are longer than wide by more than 100 times); "
        "allowed: BMP, GIF, JPEG, PNG, PPM, TIFF, WEBP"
    )


# Files of data sets over real HTTP, from a server of the test's own on this machine


CONTENT = np.random.default_rng(4).integers(0, 256, 300_000, np.uint8).tobytes()
SHA256 = hashlib.sha256(CONTENT).hexdigest()
MD5 = hashlib.md5(CONTENT).hexdigest()
BLOCK = fetching.NETWORK_BLOCK


class Server(ThreadingHTTPServer):
    """Serves CONTENT at /file; `breaks` says after how many bytes each of the next answers breaks off."""

    daemon_threads = True
    ranges, breaks, statuses = True, (), ()
    content, announced = CONTENT, True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked, self.paths, self.authorized = [], [], []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/file"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        wanted = self.headers.get("Range")
        server.asked.append(wanted)
        server.paths.append(self.path)
        server.authorized.append(self.headers.get("Authorization"))
        start = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1]) if wanted and server.ranges else 0
        if server.statuses:
            status, *server.statuses = server.statuses
            self.send_error(status)
            return
        content = server.content
        if start >= len(content):
            self.send_error(416)
            return
        self.send_response(206 if wanted and server.ranges else 200)
        if server.announced:
            self.send_header("Content-Length", str(len(content) - start))
        if wanted and server.ranges:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.end_headers()
        stop = len(content)
        if server.breaks:
            length, *server.breaks = server.breaks
            stop = min(stop, start + length)
        self.wfile.write(content[start:stop])

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(fetching, "PAUSES", (0, 0))
    with Server() as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


@pytest.fixture
def fetch(tmp_path, monkeypatch):
    """Fetch one file to its place; returns its record."""
    monkeypatch.chdir(tmp_path)

    def get(**source):
        source = {"path": str(tmp_path / "data/file.bin"), "checksum": f"sha256:{SHA256}"} | source
        fetching.fetch("made", {"reader": "npz", **source}, out=tmp_path / "sources.json")
        return files.read_json(tmp_path / "sources.json")["sources"][0]

    return get


def here(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("checksum", [f"sha256:{SHA256}", f"sha256:{SHA256.upper()}", f"md5:{MD5}"])
def test_a_file_is_downloaded_verified_and_recorded(checksum, server, fetch, tmp_path):
    record = fetch(url=server.url, checksum=checksum)
    assert (tmp_path / "data/file.bin").read_bytes() == CONTENT
    assert here(tmp_path) == ["data/file.bin", "sources.json"]
    assert record["sha256"] == SHA256
    assert record["bytes"] == len(CONTENT)
    assert record["url"] == server.url
    assert record["checksum"] == checksum
    assert server.asked == [None]


def test_what_is_secret_in_an_address_is_a_variable_and_is_told_to_nobody_else(
    server, fetch, tmp_path, monkeypatch, refused, capfd
):
    monkeypatch.setenv("DATA_TOKEN", "s3cret&token")
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login ann password pass+word")
    (tmp_path / "netrc").chmod(0o600)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    url = f"{server.url}?key={{env:DATA_TOKEN}}"
    assert fetch(url=url)["url"] == url
    assert server.paths == ["/file?key=s3cret%26token"]
    assert server.authorized == ["Basic " + base64.b64encode(b"ann:pass+word").decode()]
    (tmp_path / "data/file.bin").unlink()
    server.statuses = [404]
    said = refused(fetch, url=url) + "".join(capfd.readouterr())
    assert "404" in said
    assert url in said
    assert "s3cret" not in said
    monkeypatch.delenv("DATA_TOKEN")
    assert "the variable DATA_TOKEN is not set" in refused(fetch, url=url)


def test_a_download_that_breaks_off_goes_on_where_it_was(server, fetch, tmp_path):
    server.breaks = (2 * BLOCK, BLOCK, 1)
    fetch(url=server.url)
    assert (tmp_path / "data/file.bin").read_bytes() == CONTENT
    assert server.asked == [None, *(f"bytes={blocks * BLOCK}-" for blocks in (2, 3, 3))]


def test_the_next_run_goes_on_where_the_last_one_was(server, fetch, tmp_path, refused):
    server.breaks = (BLOCK, 0, 0, 0)
    line = refused(lambda: fetch(url=server.url))
    assert line.startswith(f"{tmp_path / 'data/file.bin'}: no such file, and it cannot be downloaded (")
    assert here(tmp_path) == ["data/.file.bin.part"]
    fetch(url=server.url)
    assert (tmp_path / "data/file.bin").read_bytes() == CONTENT
    assert server.asked[-1] == f"bytes={BLOCK}-"
    assert here(tmp_path) == ["data/file.bin", "sources.json"]


def test_a_file_in_its_place_is_not_downloaded_and_a_part_that_is_whole_only_verified(server, fetch, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/.file.bin.part").write_bytes(CONTENT)
    assert fetch(url=server.url)["sha256"] == SHA256
    assert here(tmp_path) == ["data/file.bin", "sources.json"]
    asked = list(server.asked)
    assert fetch(url=server.url)["sha256"] == SHA256
    assert server.asked == asked


def test_a_file_that_is_not_there_is_asked_for_once_and_told_in_one_line(server, fetch, tmp_path, refused):
    server.statuses = (404, 404)
    line = refused(lambda: fetch(url=server.url))
    assert line.startswith(f"{tmp_path / 'data/file.bin'}: no such file, and it cannot be downloaded (404 ")
    assert line.endswith(f"; get it from {server.url} and put it there")
    assert len(server.asked) == 1
    assert here(tmp_path) == []


def test_a_download_with_another_checksum_is_one_line_and_goes(server, fetch, tmp_path, refused):
    line = refused(lambda: fetch(url=server.url, checksum="md5:" + "0" * 32))
    assert line == f"{server.url}: the downloaded file has another checksum; expected md5:{'0' * 32}"
    assert here(tmp_path) == []
    # So does one that went on from a part of an older file.
    (tmp_path / "data/.file.bin.part").write_bytes(b"of an older file")
    assert "another checksum" in refused(lambda: fetch(url=server.url))
    assert here(tmp_path) == []


def test_without_a_checksum_nothing_is_downloaded(server, fetch, tmp_path, refused):
    line = refused(lambda: fetch(url=server.url, checksum="none"))
    assert line.startswith(
        f"{tmp_path / 'data/file.bin'}: no such file, and nothing is downloaded without a checksum; "
    )
    assert (server.asked, here(tmp_path)) == ([], [])


@pytest.mark.parametrize("where", ["url", "page"])
def test_a_file_of_ones_own_with_another_checksum_is_one_line_and_stays(where, fetch, tmp_path, refused):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/file.bin").write_bytes(CONTENT[:-1])
    line = refused(lambda: fetch(**{where: "https://example.org/there"}))
    found = hashlib.sha256(CONTENT[:-1]).hexdigest()
    assert line == (
        f"{tmp_path / 'data/file.bin'}: its sha256 is {found}; expected {SHA256}; get it from https://example.org/there"
    )
    assert here(tmp_path) == ["data/file.bin"]
    (tmp_path / "data/file.bin").unlink()
    # One that nobody may download is named with its page.
    assert refused(lambda: fetch(page="https://example.org/login")) == (
        f"{tmp_path / 'data/file.bin'}: no such file; get it from https://example.org/login and put it there"
    )


def test_nothing_is_downloaded_to_a_place_outside_the_folder_or_over_a_link(server, fetch, tmp_path, refused):
    for path in ("../file.bin", "a/../../file.bin", "/tmp/toolnoise-nowhere/file.bin"):
        assert "a place outside this folder" in refused(lambda path=path: fetch(path=path, url=server.url))
    assert server.asked == []
    (tmp_path / "data").mkdir()
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "data/.file.bin.part").symlink_to(tmp_path / "precious")
    assert "a link, a folder, a pipe or a device" in refused(lambda: fetch(url=server.url))
    assert (tmp_path / "precious").read_text() == "mine"


@pytest.mark.parametrize(
    ("one", "other", "refuses"),
    [
        ("https://a.org/x", "http://a.org/y", True),
        ("https://a.org/x", "https://b.org/y", False),
        ("https://a.org/x", "/y", False),
        ("http://a.org/x", "http://b.org/y", False),
    ],
)
def test_no_redirect_leaves_encryption(one, other, refuses, refused):
    answer = requests.Response()
    answer.status_code, answer.url, answer.headers["location"] = 302, one, other
    ask = lambda: fetching._Secure().get_redirect_target(answer)  # noqa: E731
    if refuses:
        assert refused(ask) == f"{one}: redirects to {other}, which is not encrypted; an https address"
    else:
        assert ask() == other


def test_a_download_without_an_end_or_that_does_not_fit_is_refused(server, fetch, refused, monkeypatch):
    monkeypatch.setattr(fetching, "MOST_UNANNOUNCED", 2 * BLOCK)
    server.announced = False
    line = refused(lambda: fetch(url=server.url))
    assert f"more than {2 * BLOCK} bytes without saying how long the file is" in line
    server.announced = True
    monkeypatch.setattr(fetching.shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    line = refused(lambda: fetch(url=server.url))
    assert line.startswith(f"{server.url}: the file has ") and line.endswith(" bytes more; 1000 are free here")


def test_published_files_that_only_a_person_can_get_are_named_with_their_places_before_anything_runs(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    errors.warn_once.cache_clear()
    (tmp_path / "data/celeba").mkdir(parents=True)
    (tmp_path / "data/celeba/list_attr_celeba.txt").touch()
    for _ in "12":
        for name in ("celeba", "cifar10", "digits"):
            sources.require_own(name, config.registry_entries("datasets")[name], "study.yaml")
    assert capsys.readouterr().err == (
        "toolnoise: warning: celeba: no data/celeba/img_align_celeba.zip, no data/celeba/list_eval_partition.txt: "
        "get it from https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html\n"
    )
