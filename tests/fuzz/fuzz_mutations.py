"""Mutations of files and arguments: each makes one bad input of a good one, at random, and says what it did.

The kind of a file follows from its name. Files of the finished study are hard links: a mutation never writes into one,
it puts another file in its place.
"""

import base64
import csv
import gzip
import io
import json
import os
import random
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import yaml

ESCAPE = "\x1b[31mred\x9b2J\x07\rover"
DEEP = 20_000
# In JSON and YAML. A large integer asks for much work where an amount is meant, so it is too large for every amount.
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 0.5, -0.5, 2**31, 2**63, 2**64, 10**400, -(10**30), 1e-320, 1e300),
    *(float("nan"), float("inf"), "", " ", "x", "1", "nan", "0x10", "1e400", "all", "any", "none", "../../x", "/"),
    *(ESCAPE, "a\nb", "\x00", "\ud800", "{", "{0}", "{x}", "%s", "*", "é" * 40, "x" * 5000),
    *([], [None], [[]], [[1]], [1, 2, 3], ["x", "x"], [float("nan")], {}, {"x": 1}, {"": None}, {"x": {"x": []}}),
]
ARGUMENTS = [
    *("", " ", "0", "1", "-1", "2", "1.5", "-0.5", "nan", "inf", "-inf", "1e300", "1e-300", "9" * 21, "9" * 400, "0x1"),
    *("nowhere", "nowhere/else.json", ".", "..", "empty", "null", "pipe", "results", "study.yaml", "y.npy"),
    *("fuzz.tar.gz", "x" * 5000, "a\nb", ESCAPE, "\udcff", "é", "{", "{}", "{0}", "{arm}", "{seed}", "*", "[", "a,b"),
    *(",", "-", "--", "~", "--json", "results/fuzz", "results/fuzz/study.json", "results/fuzz/metrics/stability.csv"),
    "left/scores/logits.npy",
]
DTYPES = ["float64", "float16", "int64", "int8", "uint64", "bool", "complex64", "U3", "S5", "M8[s]", ">f4", "V3"]

Change = Callable[[Path, random.Random], str]


def of_file(path: Path, rng: random.Random) -> str:
    """Put something bad in the place of a file; returns what it is."""
    kinds = [changes for ends, changes in BY_KIND.items() if path.name.endswith(ends)]
    whole = kinds and rng.random() < 0.75
    change = rng.choice(kinds[0] if whole else ANY)
    return f"{path}: {change.__name__.strip('_')}: {change(path, rng)}"


def of_arguments(words: list[str], rng: random.Random) -> tuple[list[str], str]:
    """A command line with something bad in it, and what that is."""
    words, place = list(words), rng.randrange(1, len(words)) if len(words) > 1 else 0
    how = rng.choice(("replaced",) * 6 + ("left out", "repeated", "added", "letters"))
    old = words[place]
    if how == "replaced":
        words[place] = rng.choice(ARGUMENTS)
    elif how == "left out":
        del words[place]
    elif how == "repeated":
        words.insert(place, words[place])
    elif how == "added":
        words.insert(place + 1, rng.choice(ARGUMENTS))
    else:
        words[place] = _with_letters_changed(old, rng)
    return words, f"argument {place} {how}: {old!r} -> {words[place : place + 2]!r}"[:300]


def _with_letters_changed(text: str, rng: random.Random) -> str:
    letters = list(text) or ["x"]
    for _ in range(rng.randint(1, 3)):
        letters[rng.randrange(len(letters))] = rng.choice("x0-./{}\x1b é\n,=:")
    return "".join(letters)


def _replace(path: Path, content: bytes) -> None:
    path.unlink()
    path.write_bytes(content)


# Any file


def missing(path: Path, _rng: random.Random) -> str:
    path.unlink()
    return ""


def empty(path: Path, _rng: random.Random) -> str:
    _replace(path, b"")
    return ""


def truncated(path: Path, rng: random.Random) -> str:
    content = path.read_bytes()
    kept = rng.randrange(len(content) or 1)
    _replace(path, content[:kept])
    return f"to {kept} of {len(content)} bytes"


def bits_flipped(path: Path, rng: random.Random) -> str:
    content = bytearray(path.read_bytes() or b"\0")
    # Headers are short, and the beginning has them.
    end = len(content) if rng.random() < 0.5 else min(len(content), 200)
    places = [rng.randrange(end) for _ in range(rng.choice((1, 1, 3, 20)))]
    for place in places:
        content[place] ^= 1 << rng.randrange(8)
    _replace(path, bytes(content))
    return f"in bytes {places}"


def appended(path: Path, rng: random.Random) -> str:
    more = rng.choice((b"\0", b"\n", b"x", b'{"x": 1}', b"\xff\xfe", path.read_bytes(), rng.randbytes(1000)))
    _replace(path, path.read_bytes() + more)
    return f"{more[:20]!r}"


BYTES = [
    *(b"null", b"[]", b"{}", b"1", b'"x"', b"x", bytes(100), b"\xff" * 100, b"PK\3\4" + bytes(50), b"\x93NUMPY\1\0"),
    *(b"[" * DEEP, b'{"x":' * DEEP, b"9" * 5000, "\ufeff{}".encode(), "x: é".encode("utf-16")),
]


def other_bytes(path: Path, rng: random.Random) -> str:
    content = rng.choice([*BYTES, rng.randbytes(500)])
    _replace(path, content)
    return f"{content[:20]!r}"


def folder(path: Path, _rng: random.Random) -> str:
    path.unlink()
    path.mkdir()
    return ""


def pipe(path: Path, _rng: random.Random) -> str:
    path.unlink()
    os.mkfifo(path)
    return ""


def link(path: Path, rng: random.Random) -> str:
    to = rng.choice(("/dev/zero", "/dev/null", "nowhere", path.name, ".", "/proc/self/mem"))
    path.unlink()
    path.symlink_to(to)
    return f"to {to}"


def huge(path: Path, _rng: random.Random) -> str:
    size = 2**30
    _replace(path, path.read_bytes())
    os.truncate(path, size)
    return f"with zeros after its content, {size >> 20} MiB"


ANY: list[Change] = [missing, empty, truncated, bits_flipped, bits_flipped, appended, other_bytes, other_bytes, folder]
ANY += [pipe, link, huge]

# JSON and YAML


def _nodes(value: Any, at: tuple = ()) -> Iterator[tuple]:
    yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield from _nodes(part, (*at, key))


def _with(value: Any, at: tuple, rng: random.Random, done: list[str] | None = None) -> Any:
    if not at:
        return rng.choice(VALUES)
    value = dict(value) if isinstance(value, dict) else list(value)
    key, *rest = at
    how = rng.choice(("value",) * 5 + ("left out", "renamed", "added", "near", "moved")) if not rest else "below"
    if how == "below":
        value[key] = _with(value[key], tuple(rest), rng, done)
        return value
    old, new = value[key], rng.choice(VALUES)
    if how == "value":
        value[key] = new
    elif how == "left out":
        del value[key]
    elif how == "near":
        value[key] = _near(old, rng)
    elif how == "moved" and isinstance(value, list):
        value.insert(0, value.pop())
    elif isinstance(value, dict):
        value[rng.choice((*value, "x", "", ESCAPE))] = old if how == "renamed" else new
    else:
        value.append(old if how == "renamed" else new)
    if done is not None:
        done.append(f"{how}: {str(old)[:40]!r} -> {str(new)[:40]!r}")
    return value


def _near(value: Any, rng: random.Random) -> Any:
    if isinstance(value, bool) or value is None:
        return [value]
    if isinstance(value, (int, float)):
        return rng.choice((value + 1, -value, value * 2, float(value), str(value), [value]))
    if isinstance(value, str):
        others = value + "x", value[:-1], value.upper(), [value], value + ESCAPE, _with_letters_changed(value, rng)
        return rng.choice(others)
    if isinstance(value, list):
        return rng.choice((value[:-1], value + value, value[::-1], dict.fromkeys(map(str, value)), value[:1]))
    return rng.choice((list(value), list(value.values()), [value], str(value)))


def _tree_changed(value: Any, rng: random.Random) -> tuple[Any, str]:
    nodes = list(_nodes(value))
    # Deep nodes are many; mistakes near the top are as likely.
    depth = rng.choice(sorted({len(node) for node in nodes}))
    at = rng.choice([node for node in nodes if len(node) == depth])
    done: list[str] = []
    changed = _with(value, at, rng, done)
    return changed, f"{list(at)} {', '.join(done) or changed!r:.60}"


def json_value(path: Path, rng: random.Random) -> str:
    value = json.loads(path.read_bytes())
    if isinstance(value, dict) and "payload" in value:
        inner, said = _tree_changed(json.loads(base64.b64decode(value["payload"])), rng)
        value["payload"] = base64.b64encode(json.dumps(inner).encode()).decode()
    else:
        value, said = _tree_changed(value, rng)
    _replace(path, json.dumps(value, indent=1).encode())
    return said


def json_line(path: Path, rng: random.Random) -> str:
    lines = path.read_text().splitlines()
    place = rng.randrange(len(lines))
    scratch = path.with_name("scratch.json")
    scratch.write_text(lines[place])
    said = rng.choice(STRUCTURED)(scratch, rng)
    lines[place] = " ".join(scratch.read_text(errors="surrogatepass").split("\n"))
    scratch.unlink()
    if rng.random() < 0.2:
        rng.shuffle(lines)
    _replace(path, "\n".join(lines).encode("utf-8", "surrogatepass"))
    return f"line {place} {said}"


TEXTS = [
    *(("{", '{"x": 1, "x": 2, '), (":", ": " + "[" * DEEP + "]" * DEEP + ', "y":'), ("1", "9" * 5000), ("1", "NaN")),
    *(("1", "-Infinity"), ("1", "1e999"), (",", ",,"), ('"', "'"), ('"', '"\\u001b[2J\\ud800')),
]


def json_text(path: Path, rng: random.Random) -> str:
    text = path.read_text()
    old, new = rng.choice(TEXTS)
    parts = text.split(old)
    place = rng.randrange(1, len(parts)) if len(parts) > 1 else 0
    _replace(path, (old.join(parts[:place]) + new + old.join(parts[place:])).encode())
    return f"{old!r} number {place} -> {new[:30]!r}"


def yaml_value(path: Path, rng: random.Random) -> str:
    value, said = _tree_changed(yaml.safe_load(path.read_text()), rng)
    text = yaml.safe_dump(value, sort_keys=False, allow_unicode=rng.random() < 0.5)
    _replace(path, text.encode("utf-8", "surrogatepass"))
    return said


LAUGHS = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60))
LINES = [
    *("\tx: 1", "x: &a [*a]", "<<: *nowhere", "x: !!python/object/apply:os.system [true]", "x: !!binary x", "- x"),
    *("x: 2020-13-45", "x: 2020-01-01", "x: 1:99:99", "x: .nan", "? [x]\n: 1", "? {x: 1}\n: 1", "%TAG", "---", "..."),
    *("study: a\nstudy: b", "x: " + "[" * 5000, LAUGHS, "x: !!timestamp x", "x: 0b2", "1: 2", "null: x", "x: \x1b[2J"),
]


def yaml_text(path: Path, rng: random.Random) -> str:
    lines, new = path.read_text().splitlines(), rng.choice(LINES)
    place = rng.randrange(len(lines) + 1)
    _replace(path, "\n".join([*lines[:place], new, *lines[place:], ""]).encode())
    return f"line {place}: {new[:40]!r}"


def lines_changed(path: Path, rng: random.Random) -> str:
    lines = path.read_text().splitlines()
    place, other = (rng.randrange(len(lines) or 1) for _ in range(2))
    how = rng.choice(("left out", "repeated", "swapped", "letters", "escape"))
    if not lines:
        lines = ["x"]
    if how == "left out":
        del lines[place]
    elif how == "repeated":
        lines.insert(place, lines[place])
    elif how == "swapped":
        lines[place], lines[other] = lines[other], lines[place]
    elif how == "letters":
        lines[place] = _with_letters_changed(lines[place], rng)
    else:
        lines[place] += ESCAPE
    _replace(path, ("\n".join(lines) + "\n").encode())
    return f"line {place + 1} {how}"


# CSV


CELLS = [
    *("", "x", "-1", "0", "nan", "inf", "-inf", "1e999", "1e-999", "9" * 400, "0.5", "1.5", ESCAPE, '"', "a,b", "\0"),
    *("x" * 200_000, "1_0", "\u0663", " 1", "1\n2", "True", "all", "0x1", "=1+1", "\ud800", "-0", "1e300", "-1e300"),
]


def csv_cell(path: Path, rng: random.Random) -> str:
    rows = list(csv.reader(io.StringIO(path.read_text())))
    row = rng.randrange(len(rows))
    column = rng.randrange(len(rows[row]) or 1)
    once = "no cell", "no column", "column twice", "cell more", "no rows", "row twice", "row"
    how = rng.choice(("cell",) * 6 + once)
    new = rng.choice(CELLS)
    if how == "cell":
        rows[row][column : column + 1] = [new]
    elif how == "no cell":
        del rows[row][column : column + 1]
    elif how == "cell more":
        rows[row].append(new)
    elif how == "no column":
        rows = [one[:column] + one[column + 1 :] for one in rows]
    elif how == "column twice":
        rows = [one[: column + 1] + one[column:] for one in rows]
    elif how == "no rows":
        rows = rows[: rng.randint(1, 2)]
    elif how == "row twice":
        rows.insert(row, rows[row])
    else:
        rows[row] = [new]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    _replace(path, text.getvalue().encode("utf-8", "surrogatepass"))
    return f"line {row + 1}, column {column + 1} {how}: {new[:30]!r}"


# Arrays


def _array(array: np.ndarray, rng: random.Random) -> tuple[np.ndarray, str]:
    numbers = array.dtype.kind in "fiu" and array.size
    ways = "dtype", "shape", "more", "less", "none", "scalar", "object", "order", "values", "values", "names"
    how = rng.choice(ways)
    draw = np.random.default_rng(rng.getrandbits(32))
    if how == "dtype":
        dtype = rng.choice(DTYPES)
        array = np.zeros(array.shape, dtype) if dtype[0] in "USMV" or not numbers else array.astype(dtype)
        return array, dtype
    if how == "shape":
        shape = rng.choice(((-1,), (1, -1), (-1, 1), (1, 1, 1, -1), array.shape[::-1]))
        return array.reshape(shape), f"{array.shape} -> {shape}"
    if how in ("more", "less", "none") and array.size and array.ndim:
        axis = rng.randrange(array.ndim)
        count = array.shape[axis]
        kept = {"more": [*range(count), 0], "less": range(count - 1), "none": []}[how]
        return np.take(array, np.array(kept, int), axis), f"{how} along {axis}"
    if how == "object":
        return np.array([{"x": 1}, None], object), "objects"
    if how == "order":
        return np.asfortranarray(array), "Fortran's order"
    if how == "values" and numbers:
        array, value = array.copy(), rng.choice((float("nan"), float("inf"), -1, 0, 2**40, 1e38, 255, 0.5))
        if rng.random() < 0.2:
            array[...] = 0
        with np.errstate(all="ignore"):
            places = draw.integers(array.size, size=rng.choice((1, 3, array.size)))
            array.flat[places] = np.array(value).astype(array.dtype)
        return array, f"{value} in it"
    if how == "names":
        return np.zeros(3, [("x", "f4"), ("y", "i8")]), "a structured array"
    return np.array(rng.choice((0, 1.5, "x"))), "a scalar"


def _packed(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


HEADERS = [
    "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 1000000, 10), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9223372036854775807), }",
    "{'descr': '|V2147483647', 'fortran_order': False, 'shape': (), }",
    "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
    "{'descr': [('a', '<f4', (100000, 100000))], 'fortran_order': False, 'shape': (1,), }",
    "{'descr': '<f4', 'fortran_order': 3, 'shape': (True,), }",
    "[" * 1000,
    "",
]


def _with_header(content: bytes, rng: random.Random) -> tuple[bytes, str]:
    header = rng.choice(HEADERS)
    version = rng.choice((b"\1\0", b"\1\0", b"\2\0", b"\3\0", b"\7\0"))
    length = len(header).to_bytes(2 if version == b"\1\0" else 4, "little")
    return b"\x93NUMPY" + version + length + header.encode() + content[128:], f"header {version!r} {header}"


def npy_array(path: Path, rng: random.Random) -> str:
    content = path.read_bytes()
    if rng.random() < 0.25:
        made, said = _with_header(content, rng)
    else:
        array, said = _array(np.load(io.BytesIO(content)), rng)
        made = _packed(array)
    _replace(path, made)
    return said


def zip_members(path: Path, rng: random.Random) -> str:
    with zipfile.ZipFile(path) as archive:
        members = [(one.filename, archive.read(one)) for one in archive.infolist()]
    place = rng.randrange(len(members))
    name, content = members[place]
    packing = zipfile.ZIP_STORED
    how = rng.choice(("array",) * 4 + ("header", "missing", "renamed", "twice", "packed", "bomb", "more"))
    said = ""
    if how == "array" and name.endswith(".npy"):
        array, said = _array(np.load(io.BytesIO(content)), rng)
        members[place] = (name, _packed(array))
    elif how == "header":
        made, said = _with_header(content, rng)
        members[place] = (name, made)
    elif how == "missing":
        del members[place]
    elif how == "renamed":
        others = " ", "x.npy", ESCAPE, "../x.npy", "x" * 300, name.upper(), name.removesuffix(".npy"), name + "/"
        said = rng.choice(others)
        members[place] = (said, content)
    elif how == "twice":
        members.append((name, content[:-1]))
    elif how == "bomb":
        members[place], packing = (name, content[:128] + bytes(2**28)), zipfile.ZIP_DEFLATED
    elif how == "more":
        said = rng.choice(("x.npy", "logits.npy", "labels.npy", ESCAPE + ".npy", "a/b.txt", "x:.npy"))
        members.append((said, rng.choice((content, b"", b"x", _packed(np.zeros(3))))))
    else:
        packing = rng.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
        said = str(packing)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", packing) as archive:
        for one, data in members:
            # The same name twice is a warning.
            archive.NameToInfo.pop(one, None)
            archive.writestr(zipfile.ZipInfo(one), data, packing)
    _replace(path, made.getvalue())
    return f"{name} {how} {said}"


# Archives


def tar_members(path: Path, rng: random.Random) -> str:
    with tarfile.open(path) as archive:
        members = [(one, file.read() if (file := archive.extractfile(one)) else b"") for one in archive]
    place = rng.randrange(len(members))
    member, content = members[place]
    how = rng.choice(("content", "content", "content", "missing", "renamed", "twice", "type", "size", "order"))
    said = member.name
    if how == "content":
        scratch = path.with_name("scratch-" + Path(member.name).name)
        scratch.write_bytes(content)
        try:
            said = of_file(scratch, rng)
            # A link may lead to what cannot be read.
            plain = scratch.is_file() and not scratch.is_symlink()
            content = scratch.read_bytes() if plain and scratch.stat().st_size < 2**30 else b""
        finally:
            # `rmtree` opens what it is given: a pipe that nobody writes to would hold it for ever.
            if scratch.is_dir() and not scratch.is_symlink():
                shutil.rmtree(scratch)
            scratch.unlink(missing_ok=True)
        members[place] = (member, content)
    elif how == "missing":
        del members[place]
    elif how == "renamed":
        member.name = rng.choice(("../../x", "/x", ESCAPE, "x", "x" * 300, members[0][0].name + "x", ".", ""))
    elif how == "twice":
        members.append((member, content + b"x"))
    elif how == "type":
        member.type = rng.choice((tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE))
        member.linkname = rng.choice(("/etc/hostname", "..", members[0][0].name, "nowhere"))
        members[place] = (member, b"")
    elif how == "order":
        rng.shuffle(members)
    packing = "gz" if path.name.endswith("gz") else ""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=f"w:{packing}") as archive:
        for one, data in members:
            one.size = len(data)
            archive.addfile(one, io.BytesIO(data))
    plain = gzip.decompress(made.getvalue()) if packing else made.getvalue()
    if how == "size":
        # A size in a header that the archive does not have.
        at = 512 * rng.randrange(max(1, len(plain) // 512))
        plain = plain[: at + 124] + b"77777777777\0" + plain[at + 136 :]
    _replace(path, gzip.compress(plain, 1, mtime=0) if packing else plain)
    return f"{how}: {said}"


STRUCTURED: list[Change] = [json_value, json_value, json_value, json_text]
# By the ends of names; the first that fits counts.
BY_KIND: dict[tuple[str, ...], list[Change]] = {
    (".json", ".ipynb"): STRUCTURED,
    (".jsonl",): [json_line],
    (".yaml", ".yml"): [yaml_value, yaml_value, yaml_value, yaml_text],
    (".csv",): [csv_cell],
    (".npy",): [npy_array],
    (".npz", ".zip", ".eval"): [zip_members],
    (".tar.gz", ".tar"): [tar_members],
    (".py", ".txt", ".js", ".pub", "key"): [lines_changed],
}
