"""Refuse to share files in which something looks like a credential: the place is named, the credential is not.

Arrays and pictures are not searched, nor are other files that are no text. Statements are searched as they were before
they were signed.
"""

import contextlib
import json
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from toolnoise.base import files
from toolnoise.base.errors import BadInput
from toolnoise.base.printing import escaped
from toolnoise.record import envelope
from toolnoise.record.statements import SUFFIX
from toolnoise.verify import credentials
from toolnoise.verify.credentials import Credential

ARGUMENT = "--no-credential"
NOT_SEARCHED = (".npz", ".npy", ".png", ".pdf")
JSON, CODE = (".json", ".ipynb"), (".py", ".smk", ".ipynb", ".js")
# What has a zero byte at its beginning is no text.
BEGINNING = 4096


def refuse(contents: Iterable[tuple[str, Path | bytes]], allowed: Collection[str] = ()) -> None:
    """Refuse files, each with its name, if one has what looks like a credential; the texts `allowed` are none."""
    places: dict[str, list[tuple[str, str, str]]] = {}
    for name, content in contents:
        for key, hit in _hits(name, content, allowed):
            if not any(hit.secret in text for text in allowed):
                places.setdefault(hit.secret, []).append((name, key, hit.says))
    if places:
        first, *others = places.values()
        # A key says more than a line, and study.json more than what was made from it.
        name, key, says = min(first, key=lambda place: (place[1].startswith("line "), len(place[0])))
        what = f"looks like a credential ({escaped(says)}), in {len(first)} place{'s' * (len(first) > 1)}"
        what += f"; {len(others)} other text{'s' * (len(others) > 1)} too" if others else ""
        wanted = "files without credentials (page, crate and export --anonymous hide them)"
        raise BadInput(escaped(name), escaped(key), what, f"{wanted}; {ARGUMENT} TEXT if it is none")


def _hits(name: str, content: Path | bytes, allowed: Collection[str]) -> Iterator[tuple[str, Credential]]:
    """What looks like a credential in a file, each with its key or its line."""
    if name.endswith(NOT_SEARCHED):
        return
    read = _read(name, content, allowed)
    if b"\0" in read[:BEGINNING]:
        return
    if name.endswith(SUFFIX):
        # A damaged one is searched as it is.
        with contextlib.suppress(BadInput):
            read = envelope.unpack(read, name).payload
    text, code = read.decode(errors="replace"), name.endswith(CODE)
    hits = credentials.found(text, code)
    # By keys, if it has any.
    values = _values(text) if hits and name.endswith(JSON) else None
    if values is not None:
        yield from credentials.found_in(values, "", code)
    else:
        yield from ((f"line {1 + text.count(chr(10), 0, hit.start)}", hit) for hit in hits)


def _read(name: str, content: Path | bytes, allowed: Collection[str]) -> bytes:
    if isinstance(content, bytes):
        return content
    with files.readable(content, "a file"), files.open_plain(content) as file:
        beginning = file.read(BEGINNING)
        size = content.stat().st_size
        if b"\0" in beginning or (size > files.LARGEST_TEXT and name in allowed):
            return beginning
        if size > files.LARGEST_TEXT:
            what = f"has {size} bytes, too many to be searched for credentials"
            wanted = f"at most {files.LARGEST_TEXT}; {ARGUMENT} {escaped(name)} if it has none"
            raise BadInput(escaped(name), "", what, wanted)
        return beginning + file.readall()


def _values(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
