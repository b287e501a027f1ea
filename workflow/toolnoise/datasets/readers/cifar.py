"""CIFAR-10 and CIFAR-100 in their binary version: fixed records, nothing pickled.

A record is the label and the red, green and blue planes of 32 x 32 pixels. CIFAR-100 has the coarse label, then the
fine label, which is used (https://www.cs.toronto.edu/~kriz/cifar.html).
"""

from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toolnoise.base.errors import BadInput
from toolnoise.datasets.archives import Members, opened_archive
from toolnoise.datasets.prepared import Raw, RawPart

SIZE = 32


class Form(NamedTuple):
    """The file names of a data set, and the number of label bytes at the start of each record."""

    train: tuple[str, ...]
    test: tuple[str, ...]
    classes: str
    label_bytes: int


FORMS = (
    Form(tuple(f"data_batch_{number}.bin" for number in range(1, 6)), ("test_batch.bin",), "batches.meta.txt", 1),
    Form(("train.bin",), ("test.bin",), "fine_label_names.txt", 2),
)


def read(name: str, entry: dict[str, Any], _threads: int, stack: ExitStack) -> Raw:
    """Read the official archive, or a folder with its files."""
    path = Path(entry["path"])
    members = stack.enter_context(opened_archive(path))
    files = {member.rpartition("/")[2]: member for member in members}
    form = next((form for form in FORMS if form.train[0] in files), None)
    if form is None:
        raise BadInput(path, "", "not CIFAR in binary form", f"expected {' or '.join(f.train[0] for f in FORMS)}")
    for file in (*form.train, *form.test, form.classes):
        if file not in files:
            raise BadInput(path, file, "no such member", f"expected {', '.join(form.train + form.test)}")
    classes = members[files[form.classes]].decode("utf-8", "replace").split()
    train, test = (_part(members, [files[file] for file in part], form) for part in (form.train, form.test))
    return Raw(train, test.last(name, entry), classes)


def _part(members: Members, names: list[str], form: Form) -> RawPart:
    length = form.label_bytes + 3 * SIZE * SIZE
    batches = []
    for name in names:
        batch = np.frombuffer(members[name], np.uint8)
        if not batch.size or batch.size % length:
            raise BadInput(members.path, name, f"found {batch.size} bytes", f"records of {length} bytes")
        batches.append(batch.reshape(-1, length))
    records = np.concatenate(batches)
    planes = records[:, form.label_bytes :].reshape(-1, 3, SIZE, SIZE)
    return RawPart(
        np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), records[:, form.label_bytes - 1].astype(np.int32)
    )
