"""What a program leaves that knows nothing of the contract: files that it writes, and numbers that it prints.

Files are copied after each run, and compared bit for bit. Nothing is unpickled: of an archive, such as a PyTorch
checkpoint, the parts are compared as bytes, and of a gzip file what it holds, so that the times within do not count.
Nor do the time and the addresses of objects that Keras writes into a model.
"""

import gzip
import itertools
import re
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from toolnoise.base import command_words
from toolnoise.base.errors import BadArgument, BadInput
from toolnoise.base.files import DAMAGED, LARGEST_TEXT
from toolnoise.checking import outcome, tensors
from toolnoise.checking.launch import last_words

CHUNK = 1 << 20
FOLDER = "files"
TEXTS = (".csv", ".tsv", ".txt", ".json", ".jsonl")
GZIP = b"\x1f\x8b"
# By the part of a .keras file, what differs between any two runs: the addresses only say which objects are the same.
KERAS = {"metadata.json": rb'"date_saved": "[^"]*"', "config.json": rb'"shared_object_id": \d+'}
# In a pattern, what gives its number no name: \s and the like, and the s of Cohen's kappa.
NAMELESS = re.compile(r"\\[A-Za-z]|['\u2019]s\b|\W")
WHOLE = re.compile(r"(?:[0-9]*\.)?[0-9]+(?:[eE][-+]?[0-9]+)?")


class Wanted(NamedTuple):
    """The files that a program writes, with placeholders, and the numbers that it prints, as patterns by name.

    `checkpoints` are files that it would go on from: there are none when a run starts anew.
    """

    files: tuple[str, ...] = ()
    metrics: tuple[tuple[str, re.Pattern], ...] = ()
    checkpoints: tuple[str, ...] = ()


NOTHING = Wanted()


def wanted(files: Sequence[str], patterns: Sequence[str], checkpoints: Sequence[str] = ()) -> Wanted:
    """What to compare, from the command line, and what to remove."""
    for name in checkpoints:
        if Path(name).exists():
            raise BadInput(name, "", "is there already, and is removed before each run", "another place for yours")
    metrics = []
    for pattern in patterns:
        try:
            compiled = re.compile(pattern)
        except re.error as error:
            raise BadArgument("metric", f"found {pattern!r} ({error})", "a regular expression with one group") from None
        if compiled.groups != 1:
            raise BadArgument("metric", f"found {pattern!r}", "one group, such as 'accuracy ([0-9.]+)'")
        named = next(iter(compiled.groupindex), "")
        words = NAMELESS.sub(" ", pattern.partition("(")[0]).split()
        metrics.append((named or " ".join(words) or "metric", compiled))
    if len(set(files)) < len(files):
        raise BadArgument("output", f"found {', '.join(files)}", "each file once")
    names = [name for name, _ in metrics]
    for name in names:
        if names.count(name) > 1:
            raise BadArgument("metric", f"found {name!r} twice", "(?P<name>...) gives a group a name")
    return Wanted(tuple(command_words.required(files, "--output") if files else ()), tuple(metrics), tuple(checkpoints))


def forget(wanted: Wanted) -> None:
    """Remove the checkpoints that a run has left."""
    for path in map(Path, wanted.checkpoints):
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)


def stamps(wanted: Wanted, values: Mapping[str, str]) -> dict[Path, tuple[int, ...]]:
    """The files as they are before a run."""
    return {path: _stamp(path) for path in map(Path, command_words.filled(wanted.files, values))}


def collect(wanted: Wanted, before: Mapping[Path, tuple[int, ...]], log: Path, out: Path) -> dict[str, float]:
    """Copy the files that a run wrote, and return the numbers that it printed last."""
    for name, (path, stamp) in zip(wanted.files, before.items(), strict=True):
        if path.is_dir():
            raise BadInput(path, "", "is a folder", "a file that each run writes, such as one in it")
        if _stamp(path) in ((), stamp):
            raise BadInput(path, "", "the program did not write it", f"a file that each run writes; {last_words(log)}")
        copied = out / FOLDER / str(wanted.files.index(name))
        copied.parent.mkdir(exist_ok=True)
        shutil.copyfile(path, copied)
    text = log.read_text(errors="replace")
    return {name: _number(pattern, text, log) for name, pattern in wanted.metrics}


def _stamp(path: Path) -> tuple[int, ...]:
    if not path.is_file():
        return ()
    stat = path.stat()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def _number(pattern: re.Pattern, text: str, log: Path) -> float:
    matches = list(pattern.finditer(text))
    if not matches:
        raise BadInput("--metric", pattern.pattern, "nothing that the program printed matches", last_words(log))
    last = matches[-1]
    try:
        value = outcome.number(last[1] or "")
    except ValueError:
        raise BadInput("--metric", pattern.pattern, f"found {last[1] or ''!r}", "a number in the group") from None
    start, end = last.span(1)
    line = text.rfind("\n", 0, start) + 1
    whole = next((each for each in WHOLE.finditer(text, line) if each.end() >= end), None)
    if whole and whole.start() < end and (whole.start() < start or end < whole.end()):
        what = f"found {last[1]!r}, a part of {whole[0]}"
        raise BadInput("--metric", pattern.pattern, what, r"a group that takes the whole number, such as (\S+)")
    return value


def change(name: str, file: Path, other: Path) -> str:
    """How two versions of a file differ; empty if they do not."""
    with file.open("rb") as a, other.open("rb") as b:
        heads = [each.peek(len(GZIP))[: len(GZIP)] for each in (a, b)]
        place = _first_byte(a, b)
    if place is None:
        return ""
    suffix = Path(name).suffix
    # What cannot be read, or is no array of numbers, is compared as bytes.
    with suppress(BadInput, OSError, *DAMAGED):
        if zipfile.is_zipfile(file) and zipfile.is_zipfile(other):
            return _parts(file, other, KERAS if suffix == ".keras" else {})
        if heads == [GZIP, GZIP]:
            with gzip.open(file) as a, gzip.open(other) as b:
                inside = _first_byte(a, b)
            return "" if inside is None else f"from byte {inside} of its unpacked content on"
        if suffix == ".npy":
            return _rows(tensors.read_npy(file), tensors.read_npy(other))
    if suffix in TEXTS:
        return _lines(file, other)
    return f"from byte {place} on"


def _first_byte(a: IO[bytes], b: IO[bytes]) -> int | None:
    for start in itertools.count(0, CHUNK):
        parts = a.read(CHUNK), b.read(CHUNK)
        if parts[0] != parts[1]:
            differs = (at for at, pair in enumerate(zip(*parts, strict=False)) if pair[0] != pair[1])
            return start + next(differs, min(map(len, parts)))
        if not parts[0]:
            return None
    return None


def _parts(file: Path, other: Path, varying: Mapping[str, bytes]) -> str:
    """The members of two archives that differ; their times do not count, nor what varies in a part."""
    with zipfile.ZipFile(file) as a, zipfile.ZipFile(other) as b:
        both = set(a.namelist()) & set(b.namelist())
        names = list(dict.fromkeys([*a.namelist(), *b.namelist()]))
        differ = [name for name in names if name not in both or not _equal_members(a, b, name, varying.get(name))]
    return f"{len(differ)} of {len(names)} parts, the first is {differ[0]}" if differ else ""


def _equal_members(a: zipfile.ZipFile, b: zipfile.ZipFile, name: str, varying: bytes | None) -> bool:
    if varying and max(each.getinfo(name).file_size for each in (a, b)) <= LARGEST_TEXT:
        return _numbered(a.read(name), varying) == _numbered(b.read(name), varying)
    with a.open(name) as one, b.open(name) as other:
        return _first_byte(one, other) is None


def _numbered(content: bytes, varying: bytes) -> bytes:
    """A content with the number of each distinct match in its place."""
    numbers: dict[bytes, int] = {}
    return re.sub(varying, lambda match: b"%d" % numbers.setdefault(match[0], len(numbers)), content)


def _lines(file: Path, other: Path) -> str:
    texts = [each.read_text(errors="replace").splitlines() for each in (file, other)]
    differ = [number for number, (a, b) in enumerate(itertools.zip_longest(*texts), 1) if a != b]
    return f"{len(differ)} of {max(map(len, texts))} lines, the first is line {differ[0]}" if differ else "line ends"


def _rows(array: np.ndarray, other: np.ndarray) -> str:
    if (array.dtype, array.shape) != (other.dtype, other.shape) or not array.ndim:
        return f"{array.dtype} of shape {array.shape}, and {other.dtype} of shape {other.shape}"
    differ = tensors.unequal(array, other).reshape(len(array), -1).any(axis=1)
    return f"{int(differ.sum())} of {len(array)} rows" if differ.any() else "bits of equal numbers"
