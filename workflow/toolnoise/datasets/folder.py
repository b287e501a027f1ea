"""An image folder, `train/<class>/*` and `test/<class>/*`, or a tar or zip of one.

Classes and files count in the order of their names. The two folders may lie in one that holds nothing else.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from toolnoise.datasets.archives import Members, opened
from toolnoise.datasets.images import decode
from toolnoise.errors import BadInput

FORM = "train/<class>/<image> and test/<class>/<image>"


def read(path: str | Path, image_size: int | None) -> dict[str, np.ndarray]:
    """Every image and its label; without `image_size` the images must be of one size."""
    with opened(path) as members:
        found = dict(_sorted_by_part(members))
        classes = sorted({kind for kind, _ in found["train"]})
        arrays = {"maximum": np.array(255), "classes": np.array(classes)}
        size = None
        for part, files in found.items():
            labels = np.empty(len(files), np.int32)
            for place, (kind, name) in enumerate(files):
                if kind not in classes:
                    raise BadInput(path, name, f"class {kind!r} has no training image", f"allowed: {FORM}")
                pixels = decode(members[name], path, name, image_size)
                if size is None:
                    size = pixels.shape
                if pixels.shape != size:
                    found_size = "{1} x {0} pixels where others have {3} x {2}".format(*pixels.shape[:2], *size[:2])
                    raise BadInput(path, name, found_size, "one size, or image_size in the data set's entry")
                if not place:
                    images = arrays[f"{part}_images"] = np.empty((len(files), *size), np.uint8)
                images[place], labels[place] = pixels, classes.index(kind)
            arrays[f"{part}_labels"] = labels
    return arrays


def _sorted_by_part(members: Members) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Of each part, the class and the name of every file."""
    tops = {name.partition("/")[0] for name in members}
    root = f"{tops.pop()}/" if len(tops) == 1 else ""
    for part in ("train", "test"):
        start = f"{root}{part}/"
        files = []
        for name in members:
            if name.startswith(start):
                kind, _, file = name.removeprefix(start).partition("/")
                if not file or "/" in file:
                    raise BadInput(members.path, name, "an image that is in no class's folder", f"expected {FORM}")
                files.append((kind, name))
        if not files:
            raise BadInput(members.path, f"{part}/", "no image found", f"expected {FORM}")
        yield part, sorted(files)
