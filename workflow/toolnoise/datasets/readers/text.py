"""Reads text for the prediction of the next token: bytes, characters or words (docs/data.md).

Each part is cut into segments of `length` tokens. Each segment is an example; the label of a position is the token that
follows it. The vocabulary comes from the training part or from a file, never from the test part.
"""

import itertools
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from toolnoise.base import program
from toolnoise.base.errors import BadInput
from toolnoise.base.files import read_bytes, readable
from toolnoise.datasets.archives import opened_archive
from toolnoise.datasets.prepared import PARTS, Raw, RawPart
from toolnoise.datasets.sources import embedded_text, paths_of

# The names of both parts in Penn Treebank, in WikiText and in a user's folder.
NAMES = ("ptb.{}.txt", "wiki.{}.tokens", "wiki.{}.raw", "{}.txt")
END_OF_LINE, UNKNOWN = "<eos>", "<unk>"
MOST = 2**24
# A space would be lost in a table, and a backslash begins the number of a character that cannot be printed.
SHOWN = {" ": "␣", "␣": r"\u{2423}", "\\": r"\\"}


def read(name: str, entry: dict[str, Any], _threads: int, _stack: ExitStack) -> Raw:
    """Read both parts and cut them into segments."""
    listed = _listed(entry["vocabulary"]) if "vocabulary" in entry else []
    texts = [(source, _tokens(source, text, entry["tokens"])) for source, text in _texts(entry)]
    if len(texts) == 1:
        ((source, whole),) = texts
        start = len(whole) - round(entry["test_share"] * len(whole))
        texts = [(source, whole[:start]), (source, whole[start:])]
    length = entry["length"]
    for part, (source, tokens) in zip(PARTS, texts, strict=True):
        if not length < len(tokens) <= MOST:
            raise BadInput(source, part, f"found {len(tokens)} tokens", f"allowed: {length + 1} to {MOST}")
    (first, train), (source, test) = texts
    vocabulary = _vocabulary(train, entry, listed)
    numbers = {token: number for number, token in enumerate(vocabulary)}
    other = numbers[entry.get("unknown", UNKNOWN)] if entry["tokens"] == "words" else -1
    coded = [np.fromiter((numbers.get(token, other) for token in part), np.int32) for part in (train, test)]
    if coded[1].min() < 0:
        place = int(coded[1].argmin())
        line = 1 + ((train if first == source else "") + test[:place]).count("\n")
        problem = f"found {class_name(test[place])}, which the training part lacks"
        raise BadInput(source, f"line {line}", problem, "characters of the training part, or tokens: bytes")
    groups, member = _groups(entry.get("frequency", []), np.bincount(coded[0], minlength=len(vocabulary)))
    parts = [_segments(tokens, length, member) for tokens in coded]
    for group, present in zip(groups, parts[1].groups.any((0, 1)), strict=True):
        if not present:
            raise BadInput(f"dataset {name}", "frequency", f"no label of the test part is in {group}", "other bounds")
    return Raw(*parts, [class_name(token) for token in vocabulary], groups, outcome="tokens")


def class_name(token: str | bytes) -> str:
    """A token as the name of a class: printable, and different for every token of a vocabulary."""
    if isinstance(token, bytes):
        if token >= b"\x80":
            return f"\\x{token.hex()}"
        token = token.decode()
    escaped = (repr(one)[1:-1] if one < "\x80" else f"\\u{{{ord(one):x}}}" for one in token)
    return "".join(SHOWN.get(one, one if one.isprintable() else code) for one, code in zip(token, escaped, strict=True))


def _texts(entry: dict[str, Any]) -> list[tuple[str, bytes]]:
    """The training and the test text, or one text to divide, each with its source."""
    if "embedded" in entry:
        paths = [program.path_of(file) for file in embedded_text(entry)]
    else:
        paths = paths_of(entry, *PARTS) if "files" in entry else [Path(entry["path"])]
    if len(paths) == 1 and "test_share" not in entry:
        return _named(paths[0])
    return [(str(path), _content(path)) for path in paths]


def _named(path: Path) -> list[tuple[str, bytes]]:
    pairs = [[form.format(part) for part in PARTS] for form in NAMES]
    with opened_archive(path) as members:
        names = {member.rpartition("/")[2]: member for member in members}
        for pair in pairs:
            if names.keys() >= set(pair):
                return [(f"{path}: {names[file]}", members[names[file]]) for file in pair]
    raise BadInput(path, "", "no pair of texts", f"allowed: {', '.join(map(' and '.join, pairs))}")


def _tokens(source: str, text: bytes, kind: str) -> str | list[Any]:
    if kind == "characters":
        return _decoded(source, text)
    if kind == "words":
        lines = _decoded(source, text).removesuffix("\n").split("\n") if text else []
        return [word for line in lines for word in (*line.split(), END_OF_LINE)]
    return [bytes([byte]) for byte in text]


def _vocabulary(train: str | list[Any], entry: dict[str, Any], listed: list[str]) -> list[Any]:
    if entry["tokens"] == "characters":
        return sorted(set(train))
    if entry["tokens"] == "words":
        # Equally frequent words stay in the order of their first occurrence.
        words = listed or [word for word, _ in Counter(train).most_common()]
        return list(dict.fromkeys([*words[: entry.get("most")], END_OF_LINE, entry.get("unknown", UNKNOWN)]))
    return [bytes([byte]) for byte in range(256)]


def _listed(path: str) -> list[str]:
    lines = _decoded(path, _content(path)).replace("\r\n", "\n").removesuffix("\n").split("\n")
    first = {line: number for number, line in reversed(list(enumerate(lines, 1)))}
    for number, line in enumerate(lines, 1):
        if not line or first[line] < number:
            problem = f"repeats line {first[line]}" if line else "empty"
            raise BadInput(path, f"line {number}", problem, "a token in each line, each once")
    return lines


def _content(path: str | Path) -> bytes:
    with readable(path, "a text"):
        return read_bytes(path)


def _decoded(source: str, text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        line, found = 1 + text.count(b"\n", 0, error.start), class_name(text[error.start : error.start + 1])
        raise BadInput(source, f"line {line}", f"found {found}, which is not UTF-8", "a text in UTF-8") from None


def _groups(bounds: list[int], counts: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
    """Groups of tokens by their frequency in the training part: the names, and each token's group (token x group)."""
    bounds = sorted(bounds)
    between = [f"from-{low + 1}-to-{high}" for low, high in itertools.pairwise(bounds)]
    names = (f"up-to-{bounds[0]}", *between, f"over-{bounds[-1]}") if bounds else ()
    return names, np.searchsorted(bounds, counts)[:, np.newaxis] == np.arange(len(names))


def _segments(tokens: np.ndarray, length: int, member: np.ndarray) -> RawPart:
    count = (len(tokens) - 1) // length
    inputs, labels = (tokens[start : start + count * length].reshape(count, length) for start in (0, 1))
    return RawPart(inputs.astype(np.uint16 if len(member) <= 2**16 else np.uint32), labels.copy(), member[labels])
