"""Files of data sets over real HTTP, from a server of the test's own on this machine."""

import base64
import hashlib
import re
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import numpy as np
import pytest
import requests

from toolnoise.base import errors, files
from toolnoise.datasets import fetching, sources
from toolnoise.study import config

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


@pytest.mark.parametrize("checksum", [f"sha256:{SHA256}", f"sha256:{SHA256.upper()}", f"md5:{MD5}", "none"])
def test_a_file_is_downloaded_verified_and_recorded(checksum, server, fetch, tmp_path, capsys):
    record = fetch(url=server.url, checksum=checksum)
    assert (tmp_path / "data/file.bin").read_bytes() == CONTENT
    assert here(tmp_path) == ["data/file.bin", "sources.json"]
    assert record["sha256"] == SHA256
    assert record["bytes"] == len(CONTENT)
    assert record["url"] == server.url
    assert record.get("checksum", "none") == checksum
    assert server.asked == [None]
    warned = f"toolnoise: warning: {server.url} has no checksum" in capsys.readouterr().err
    assert warned == (checksum == "none")


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


def test_a_server_without_ranges_is_asked_for_everything_again(server, fetch, tmp_path):
    server.ranges, server.breaks = False, (2 * BLOCK,)
    fetch(url=server.url)
    assert (tmp_path / "data/file.bin").read_bytes() == CONTENT
    assert server.asked == [None, f"bytes={2 * BLOCK}-"]


def test_a_file_in_its_place_is_not_downloaded_and_a_part_that_is_whole_only_verified(server, fetch, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/.file.bin.part").write_bytes(CONTENT)
    assert fetch(url=server.url)["sha256"] == SHA256
    assert here(tmp_path) == ["data/file.bin", "sources.json"]
    asked = list(server.asked)
    assert fetch(url=server.url)["sha256"] == SHA256
    assert server.asked == asked


def test_a_server_that_is_busy_is_asked_again(server, fetch):
    server.statuses = (503, 500)
    assert fetch(url=server.url)["sha256"] == SHA256
    assert len(server.asked) == 3


def test_a_file_that_is_not_there_is_asked_for_once_and_told_in_one_line(server, fetch, tmp_path, refused):
    server.statuses = (404, 404)
    line = refused(lambda: fetch(url=server.url))
    assert line.startswith(f"{tmp_path / 'data/file.bin'}: no such file, and it cannot be downloaded (404 ")
    assert line.endswith(f"; get it from {server.url} and put it there")
    assert len(server.asked) == 1
    assert here(tmp_path) == []


def test_no_network_is_one_line_with_the_file_where_to_get_it_and_where_to_put_it(
    fetch, tmp_path, refused, monkeypatch
):
    monkeypatch.setattr(fetching, "PAUSES", (0, 0))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/file"
        line = refused(lambda: fetch(url=url))
    assert line.startswith(f"{tmp_path / 'data/file.bin'}: no such file, and it cannot be downloaded (")
    assert line.endswith(f"; get it from {url} and put it there")
    assert here(tmp_path) == []


def test_a_download_with_another_checksum_is_one_line_and_goes(server, fetch, tmp_path, refused):
    line = refused(lambda: fetch(url=server.url, checksum="md5:" + "0" * 32))
    assert line == f"{server.url}: the downloaded file has another checksum; expected md5:{'0' * 32}"
    assert here(tmp_path) == []
    # So does one that went on from a part of an older file.
    (tmp_path / "data/.file.bin.part").write_bytes(b"of an older file")
    assert "another checksum" in refused(lambda: fetch(url=server.url))
    assert here(tmp_path) == []


def test_without_a_checksum_a_web_page_or_a_file_of_unknown_length_is_refused(server, fetch, tmp_path, refused):
    for server.content in (b"<!DOCTYPE html><title>Log in</title>", b"\n <HTML>"):
        assert "is a web page, not the file" in refused(lambda: fetch(url=server.url, checksum="none"))
        assert here(tmp_path) == []
    server.content, server.announced = CONTENT, False
    assert "does not say how long the file is" in refused(lambda: fetch(url=server.url, checksum="none"))
    assert here(tmp_path) == []


def test_without_a_checksum_a_part_of_another_session_is_not_trusted(server, fetch, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/.file.bin.part").write_bytes(b"of an older file")
    server.breaks = (BLOCK,)
    assert fetch(url=server.url, checksum="none")["sha256"] == SHA256
    assert server.asked == [None, f"bytes={BLOCK}-"]


def test_two_fetches_at_once_download_once(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = {"path": str(tmp_path / "data/file.bin"), "checksum": f"sha256:{SHA256}", "url": server.url}
    entry = {"reader": "npz", **source}
    both = [
        threading.Thread(target=fetching.fetch, args=("made", entry), kwargs={"out": tmp_path / f"{number}.json"})
        for number in range(2)
    ]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert (tmp_path / "data/file.bin").read_bytes() == CONTENT
    assert server.asked == [None]
    assert here(tmp_path) == ["0.json", "1.json", "data/file.bin"]


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


def test_the_digest_of_a_folder_follows_names_and_contents(fetch, tmp_path):
    folder, digests = tmp_path / "pictures", []
    for name, content in (("a/1", b"one"), ("a/1", b"two"), ("b/1", b"two")):
        for path in list(folder.rglob("*/*")):
            path.unlink()
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
        record = fetch(path=str(folder), checksum="none")
        assert record["bytes"] == 3
        digests.append(record["sha256"])
    assert len(set(digests)) == 3


def test_every_file_of_a_data_set_is_recorded(tmp_path):
    entry = {"files": {}}
    for role in ("images", "partition"):
        (tmp_path / role).write_text(role)
        entry["files"][role] = {"path": str(tmp_path / role)}
    fetching.fetch("made", entry, out=tmp_path / "sources.json")
    records = files.read_json(tmp_path / "sources.json")["sources"]
    assert [record["sha256"] for record in records] == [
        hashlib.sha256(role.encode()).hexdigest() for role in ("images", "partition")
    ]


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
            sources.require_own(name, config.registered("datasets")[name], "study.yaml")
    assert capsys.readouterr().err == (
        "toolnoise: warning: celeba: no data/celeba/img_align_celeba.zip, no data/celeba/list_eval_partition.txt: "
        "get it from https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html\n"
    )
