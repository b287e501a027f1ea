"""An image folder, `train/<class>/*` and `test/<class>/*`, or a tar or zip of one.

Classes and files are in the order of their names. The two folders may lie in a folder that contains nothing else.
"""

from contextlib import ExitStack
from typing import Any

import numpy as np

from toolnoise.base.errors import BadInput
from toolnoise.datasets.archives import Members, opened_archive
from toolnoise.datasets.prepared import PARTS, Raw, RawPart
from toolnoise.datasets.readers.images import Decoder

FORM = "train/<class>/<image> and test/<class>/<image>"


def read(name: str, entry: dict[str, Any], threads: int, stack: ExitStack) -> Raw:
    """Read the folder; without `image_size` the images must be of one size."""
    decoder = Decoder(name, entry, threads)
    members = stack.enter_context(opened_archive(entry["path"]))
    train, test = (_files(members, part) for part in PARTS)
    classes = sorted({kind for kind, _ in train})
    _require_trained(members, test, classes)
    parts = (part_of(members, files, classes, decoder) for files in (train, test))
    return Raw(*parts, classes, margin=decoder.margin, side=decoder.side)


def part_of(members: Members, files: list[tuple[str, str]], classes: list[str], decoder: Decoder) -> RawPart:
    """The images and labels of files, each given by its class and its name."""
    _require_trained(members, files, classes)
    numbers = {kind: number for number, kind in enumerate(classes)}
    labels = np.array([numbers[kind] for kind, _ in files], np.int32)
    names = [name for _, name in files]
    return RawPart(decoder.decode(members, names), labels, stored=members.bytes_of(names) if decoder.side else 0)


def _require_trained(members: Members, files: list[tuple[str, str]], classes: list[str]) -> None:
    for kind, name in files:
        if kind not in classes:
            raise BadInput(members.path, name, f"class {kind!r} has no training image", "classes of training images")


def by_class(members: Members, start: str, form: str) -> list[tuple[str, str]]:
    """The class and the name of each file below `start`, which must have one folder per class."""
    files = []
    for name in members:
        if name.startswith(start):
            kind, _, file = name.removeprefix(start).partition("/")
            if not file or "/" in file:
                raise BadInput(members.path, name, "an image outside the class folders", f"expected {form}")
            files.append((kind, name))
    if not files:
        raise BadInput(members.path, start, "no image found", f"expected {form}")
    return sorted(files)


def _files(members: Members, part: str) -> list[tuple[str, str]]:
    tops = {name.partition("/")[0] for name in members}
    around = f"{tops.pop()}/" if len(tops) == 1 and not tops & set(PARTS) else ""
    return by_class(members, f"{around}{part}/", FORM)
