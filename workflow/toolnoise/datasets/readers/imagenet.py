"""ImageNet (ILSVRC 2012): the official archives, or folders.

Training images come as a tar of tars, one per class, or as a folder (or tar) with a folder per class. Validation images
are the test set of every study here. They come as one tar of numbered images, with their classes in the development
kit. If the user has sorted them, they come with a folder per class. Classes are the WordNet ids in order.
"""

import io
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from toolnoise.base.errors import BadInput
from toolnoise.datasets.archives import Members, opened_archive
from toolnoise.datasets.prepared import Raw
from toolnoise.datasets.readers.folder import by_class, part_of
from toolnoise.datasets.readers.images import Decoder
from toolnoise.datasets.sources import paths_of

TRUTH, SYNSETS = "data/ILSVRC2012_validation_ground_truth.txt", "data/meta.mat"
FORM = "<class>/<image>"


def read(name: str, entry: dict[str, Any], threads: int, stack: ExitStack) -> Raw:
    """Read training and validation images."""
    train_path, test_path = paths_of(entry, "train", "test")
    decoder = Decoder(name, entry, threads)
    train, test = (stack.enter_context(opened_archive(path)) for path in (train_path, test_path))
    train_files = by_class(train, "", FORM)
    classes = sorted({kind for kind, _ in train_files})
    if any("/" in file for file in test):
        test_files = by_class(test, "", FORM)
    elif "devkit" in entry["files"]:
        test_files = _labelled_by_devkit(test, *paths_of(entry, "devkit"))
    else:
        raise BadInput(f"dataset {name}", "files.devkit", "missing", f"the classes of the images in {test_path}")
    parts = (part_of(*part, classes, decoder) for part in ((train, train_files), (test, test_files)))
    return Raw(*parts, classes, margin=decoder.margin, side=decoder.side)


def _labelled_by_devkit(test: Members, devkit: Path) -> list[tuple[str, str]]:
    """The class and the name of each validation image; images are numbered in the order of their names."""
    with opened_archive(devkit) as members:
        files = {file: member for member in members for file in (TRUTH, SYNSETS) if member.endswith(file)}
        for file in (TRUTH, SYNSETS):
            if file not in files:
                raise BadInput(devkit, file, "no such member", "expected ILSVRC2012_devkit_t12.tar.gz")
        truth, classes = members[files[TRUTH]].decode("ascii", "replace").split(), _synsets(members, files[SYNSETS])
    if len(truth) != len(test):
        raise BadInput(devkit, TRUTH, f"found {len(truth)} labels", f"one for each of the {len(test)} of {test.path}")
    for number in truth:
        if number not in classes:
            raise BadInput(devkit, TRUTH, f"found {number[:20]!r}", f"a number of {SYNSETS}")
    return [(classes[number], file) for number, file in zip(truth, test, strict=True)]


def _synsets(members: Members, name: str) -> dict[str, str]:
    """The WordNet id of each class by its number, from a MATLAB file (arrays and text, which run no code)."""
    from scipy.io import loadmat

    try:
        synsets = loadmat(io.BytesIO(members[name]), squeeze_me=True, variable_names=["synsets"])["synsets"]
        leaves = synsets[synsets["num_children"] == 0]
        return {str(number): str(kind) for number, kind in leaves[["ILSVRC2012_ID", "WNID"]].tolist()}
    except Exception as error:  # SciPy may raise anything for bytes that are not a MATLAB file
        raise BadInput(members.path, name, f"damaged ({error})", "MATLAB's synsets with their WNID") from None
