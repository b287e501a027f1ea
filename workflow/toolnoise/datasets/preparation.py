"""Prepare the data set of a registry entry: read it with the entry's reader, and check and write it while reading."""

import importlib
import itertools
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np

from toolnoise.base.arrays import Rows, write_npz
from toolnoise.base.job import AsideNumber, Output, Values, outside
from toolnoise.datasets import fetching
from toolnoise.datasets.prepared import PARTS, Data, Fingerprint, Raw, RawPart, Split, require_trainable
from toolnoise.datasets.readers import READERS
from toolnoise.formulas.outcomes import LABEL


@outside(fetching.read_by)
def prepare(dataset: str, entry: Values, *, out: Output, threads: AsideNumber = 1) -> None:
    """Read a data set, check it and write its prepared form; `threads` threads decode images."""
    with ExitStack() as stack:
        raw = _read(dataset, entry, threads, stack)
        images = {part: _rows(getattr(raw, part)) for part in PARTS}
        labels = {f"{part}_labels": getattr(raw, part).labels for part in PARTS}
        source = entry.get("path", f"dataset {dataset}")
        shapes = {part: rows.shape for part, rows in images.items()}
        if raw.side:
            shapes = {part: (len(getattr(raw, part).labels), raw.side, raw.side, 3) for part in PARTS}
        require_trainable(source, raw.classes, shapes, labels, raw.outcome, raw.asked)
        write_npz(out, _members(raw, images, entry.get("streamed", False)))


def first_image(dataset: str, entry: dict[str, Any]) -> Data:
    """A data set as a network's builder needs it: its first image and its classes, read without preparation."""
    with ExitStack() as stack:
        raw = _read(dataset, entry, 1, stack)
        image = next(iter(raw.train.images))
        # For an original, the shape is enough.
        images = np.zeros((1, raw.side, raw.side, 3), np.uint8) if raw.side else image[np.newaxis]
        targets = np.zeros((1, *raw.train.labels.shape[1:]), np.int32)
        first = Split(images, targets, raw.maximum, margin=raw.margin, outcome=raw.outcome)
        return Data(first, first, tuple(raw.classes), (), "", raw.asked)


def _read(dataset: str, entry: dict[str, Any], threads: int, stack: ExitStack) -> Raw:
    module, _, function = READERS[entry["reader"]].partition(":")
    return getattr(importlib.import_module(module), function)(dataset, entry, threads, stack)


def _rows(part: RawPart) -> Rows:
    """The images of a part; the first image is decoded to learn their shape."""
    if isinstance(part.images, np.ndarray):
        return Rows(part.images.shape, part.images.dtype, part.images)
    images = iter(part.images)
    if part.stored:
        return Rows((part.stored,), np.dtype(np.uint8), images)
    first = next(images)
    return Rows((len(part.labels), *first.shape), first.dtype, itertools.chain([first], images))


def _members(raw: Raw, images: dict[str, Rows], streamed: bool) -> Iterator[tuple[str, np.ndarray | Rows]]:
    """Every array of the prepared form, in the order in which the digest includes them."""
    fingerprint = Fingerprint()
    checks: dict[str, list[int]] = {part: [] for part in PARTS}
    sizes: dict[str, list[tuple[int, ...]]] = {part: [] for part in PARTS}

    def seen(part: str, rows: Rows) -> Iterator[np.ndarray]:
        for row in rows.rows:
            if raw.side:
                row, *size = row
                sizes[part].append((*size, len(row)))
            fingerprint.add(row)
            checks[part].append(zlib.crc32(np.ascontiguousarray(row)))
            yield row

    def digested(name: str, values: np.ndarray) -> tuple[str, np.ndarray]:
        fingerprint.begin(name, values)
        fingerprint.add(values)
        return name, values

    for part, rows in images.items():
        fingerprint.begin(f"{part}_images", rows)
        yield f"{part}_images", rows._replace(rows=seen(part, rows))
        yield digested(f"{part}_labels", getattr(raw, part).labels.astype(np.int32))
    yield digested("maximum", np.array(raw.maximum))
    yield digested("classes", np.array(raw.classes))
    if raw.groups:
        yield digested("groups", np.array(raw.groups))
        for part in PARTS:
            yield digested(f"{part}_groups", getattr(raw, part).groups)
    if raw.margin:
        yield digested("margin", np.array(raw.margin))
    if raw.outcome != LABEL:
        yield digested("outcome", np.array(raw.outcome))
    if raw.asked:
        yield digested("asked", np.array(raw.asked))
    if raw.side:
        for part in PARTS:
            yield digested(f"{part}_sizes", np.array(sizes[part], np.int32))
        yield digested("side", np.array(raw.side))
    if streamed:
        for part in PARTS:
            yield f"{part}_checks", np.array(checks[part], np.uint32)
        yield "sha256", np.array(fingerprint.hexdigest())
