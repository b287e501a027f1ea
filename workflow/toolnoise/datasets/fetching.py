"""Gets the files of a data set: finds them in place or downloads them, verifies and records them.

An interrupted download resumes in this run or the next one: the partial file stays next to the destination until it is
complete. Without a published checksum nothing is downloaded. A file with another checksum is never used. If it was
downloaded, it is removed. If a user put it there, it stays and is named in the error.

An address contains no secret: the user and the password of a server are in ~/.netrc, and a query names environment
variables. Their values are read here and sent only to the server.
"""

import contextlib
import hashlib
import logging
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urljoin

import pooch
import requests

from toolnoise.base import command_words, files, scratch
from toolnoise.base.errors import BadInput, fault_name
from toolnoise.base.job import Output, Values, outside, unrepeatable
from toolnoise.base.progress import progress
from toolnoise.datasets.archives import opened_archive
from toolnoise.datasets.sources import NOT_CHECKED, Source, bundled_file, is_own, sources_of

# Seconds before each further attempt, counted over attempts without a single new byte between them.
PAUSES = (1, 5, 20)
TIMEOUT = 60
PLACE = "get it from {} and put it there"
# The maximum number of bytes of a file whose length the server does not state: it may be endless.
MOST_UNANNOUNCED = 4 * 2**30
# An incomplete block is lost if the connection breaks.
NETWORK_BLOCK, BLOCK = 1 << 16, 1 << 20


def fetched_files(_parameters: dict[str, Any], out: str | Path) -> list[dict[str, Any]]:
    """The files that were fetched, from their record."""
    return files.read_json(out)["sources"]


@unrepeatable("a download; what was downloaded is verified when data is prepared again")
@outside(fetched_files)
def fetch(dataset: str, entry: Values, *, out: Output) -> None:
    """Put every file of a data set in its place, and write a record of each."""
    records = []
    for source in sources_of(entry):
        _obtain(source)
        records.append(verified_record(source))
    files.write_json(out, {"dataset": dataset, "sources": records})


def read_by(parameters: dict[str, Any], _out: str | Path) -> list[dict[str, Any]]:
    """The files that a data set was read from, verified again; or a file of an installed package."""
    # A file may have changed between fetching and preparation.
    records = [verified_record(source) for source in sources_of(parameters["entry"])]
    embedded = bundled_file(parameters["entry"])
    return [*records, {"package": embedded[0], "path": embedded[1]}] if embedded else records


def _obtain(source: Source) -> None:
    path = Path(source["path"])
    if path.exists():
        return
    if "url" not in source:
        wanted = PLACE.format(source["page"]) if "page" in source else "a file or a folder of yours"
        raise BadInput(path, "", "no such file", wanted)
    try:
        files.make_folder(path.parent)
        # One process downloads. Others wait, and then find the file or continue the partial download.
        with scratch.claim(path, wait=True):
            if not path.exists():
                _download(source)
    except requests.RequestException as error:
        wanted = PLACE.format(source["url"])
        problem = f"no such file, and it cannot be downloaded ({_without_query(str(error))})"
        raise BadInput(path, "", problem, wanted) from None
    except OSError as error:
        problem = f"cannot be written ({fault_name(error)})"
        raise BadInput(path, "", problem, "a writable folder with free space") from None


def _download(source: Source) -> None:
    path = Path(source["path"])
    # Links in this folder, such as one to a larger disk, are the user's choice, so they are followed.
    if not Path(os.path.normpath(Path.cwd() / path)).is_relative_to(Path.cwd()):
        wanted = f"a path below this folder; or {PLACE.format(source['url'])}"
        raise BadInput(path, "", "no such file, and nothing is downloaded to a place outside this folder", wanted)
    part = path.with_name(f".{path.name}.part")
    if part.is_symlink() or (part.exists() and not part.is_file()):
        raise BadInput(part, "", "a link, a folder, a pipe or a device", "remove it: the download is kept there")
    checksum = source.get("checksum", NOT_CHECKED)
    if checksum == NOT_CHECKED:
        # Only a checksum shows that the answer is the right file, and complete.
        wanted = f"the file's md5:... or sha256:...; or {PLACE.format(source['url'])}"
        raise BadInput(path, "", "no such file, and nothing is downloaded without a checksum", wanted)
    pooch.get_logger().setLevel(logging.ERROR)
    try:
        pooch.retrieve(source["url"], checksum, path.name, path.parent, downloader=_Downloader(part))
    except ValueError:  # pooch raises this for a wrong checksum
        raise BadInput(source["url"], "", "the downloaded file has another checksum", f"expected {checksum}") from None


def _with_variables(url: str) -> str:
    """An address with the values of the environment variables that it names."""
    values = command_words.variables_of([url], url)
    return command_words.fill_placeholders([url], {name: quote(value, safe="") for name, value in values.items()})[0]


def _without_query(text: str) -> str:
    """An address, or a message with addresses, without the queries of the addresses."""
    return re.sub(r"\?\S*", "", text)


class _Secure(requests.Session):
    """A session in which no redirect leads from an encrypted connection to an open one."""

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        """The address to which an answer redirects; refuse to leave an encrypted connection."""
        target = super().get_redirect_target(resp)
        if target and resp.url.startswith("https:") and urljoin(resp.url, target).startswith("http:"):
            problem = f"redirects to {_without_query(target)}, which is not encrypted"
            raise BadInput(_without_query(resp.url), "", problem, "an https address")
        return target


class _Downloader:
    """A downloader for pooch that resumes from a partial file; the checksum shows whether that file was right."""

    def __init__(self, part: Path) -> None:
        self.part = part

    def __call__(self, url: str, out: str, _pooch: object) -> None:
        """Download into the partial file, however often the connection breaks, then rename it to `out`."""
        pauses = iter(PAUSES)
        while True:
            before = self._size()
            try:
                self._continue(url)
                break
            except requests.RequestException as error:
                refused = error.response is not None and error.response.status_code < 500
                if self._size() > before:
                    pauses = iter(PAUSES)
                pause = next(pauses, None)
                if refused or pause is None:
                    raise
                time.sleep(pause)
        self.part.replace(out)

    def _size(self) -> int:
        with contextlib.suppress(FileNotFoundError):
            return self.part.stat().st_size
        return 0

    def _continue(self, url: str) -> None:
        size = self._size()
        headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={size}-"} if size else {})}
        asked = {"headers": headers, "stream": True, "timeout": TIMEOUT}
        with _Secure() as session, session.get(_with_variables(url), **asked) as answer:
            if answer.status_code == requests.codes.requested_range_not_satisfiable:
                # The file is complete already, or too long: the checksum decides.
                return
            answer.raise_for_status()
            # A server without support for ranges sends everything again.
            goes_on = answer.headers.get("Content-Range", "").startswith(f"bytes {size}-")
            size = size if goes_on else 0
            length = answer.headers.get("Content-Length")
            free = shutil.disk_usage(self.part.parent).free
            if length and int(length) > free:
                raise BadInput(url, "", f"the file has {int(length)} bytes more", f"{free} are free here")
            with (
                self.part.open("ab" if goes_on else "wb") as file,
                progress(f"downloading {url}", size + int(length) if length else None, "B", size) as bar,
            ):
                for block in answer.iter_content(NETWORK_BLOCK):
                    if not length and file.tell() > MOST_UNANNOUNCED:
                        problem = f"more than {MOST_UNANNOUNCED} bytes without saying how long the file is"
                        raise BadInput(url, "", problem, "a server that says it")
                    file.write(block)
                    bar.update(len(block))


def verified_record(source: Source) -> dict[str, Any]:
    """The record of a file; it is refused unless its checksum is the published one."""
    path = Path(source["path"])
    wanted = source.get("checksum", NOT_CHECKED)
    algorithm, _, expected = wanted.partition(":")
    digests = {name: hashlib.new(name, usedforsecurity=False) for name in {"sha256", algorithm} - {NOT_CHECKED}}
    size = 0
    with files.readable(path, "a file or a folder"):
        for part, count in _digested(path):
            size += count
            for digest in digests.values():
                digest.update(part)
    if expected and digests[algorithm].hexdigest() != expected.lower():
        where = f"; get it from {source.get('url', source.get('page'))}" if not is_own(source) else ""
        raise BadInput(path, "", f"its {algorithm} is {digests[algorithm].hexdigest()}", f"expected {expected}{where}")
    published = {"checksum": wanted} if expected else {}
    where = {key: source[key] for key in ("url", "page") if key in source}
    return {"path": str(path), "bytes": size, "sha256": digests["sha256"].hexdigest(), **published, **where}


def _digested(path: Path) -> Iterator[tuple[bytes, int]]:
    """The blocks of a file, or the name and SHA-256 of each file in a folder; each with its number of file bytes."""
    if path.is_dir():
        with opened_archive(path) as members:
            for name, content in members.items():
                yield f"{name}\0{hashlib.sha256(content).hexdigest()}\n".encode(), len(content)
        return
    with path.open("rb") as file, progress(f"verifying {path.name}", path.stat().st_size, "B") as bar:
        while block := file.read(BLOCK):
            yield block, len(block)
            bar.update(len(block))
