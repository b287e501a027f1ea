"""Reads CelebA: aligned faces, one or several attributes as labels, and sub-groups by attributes.

The three files are the official ones: img_align_celeba.zip (or a folder with its images), list_attr_celeba.txt and
list_eval_partition.txt. Zhuang et al. train 40 labels, and do not name the label of their tables 3 and 5. It is
Blond_Hair: table 3 has the counts of blond hair by sex in the training set, as in Sagawa et al., "Distributionally
robust neural networks" (2020).
"""

from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toolnoise.base.errors import BadInput
from toolnoise.base.files import read_text, readable
from toolnoise.datasets.archives import opened_archive
from toolnoise.datasets.prepared import PARTS, Raw, RawPart
from toolnoise.datasets.readers.images import Decoder, resize_whole
from toolnoise.datasets.sources import paths_of
from toolnoise.formulas.outcomes import LABELS, YES_OR_NO

PARTITION = {"train": "0", "validation": "1", "test": "2"}
NOT = "not "
EVERY = "all"  # every attribute is a label


class Faces(NamedTuple):
    """The faces of one part: names of their images, labels (face x label, 1 has it) and groups (face x group)."""

    names: list[str]
    labels: np.ndarray
    groups: np.ndarray


def read(name: str, entry: dict[str, Any], threads: int, stack: ExitStack) -> Raw:
    """Read faces, labels and groups; each face is scaled as a whole, as the authors' code does."""
    images, attributes, partition = paths_of(entry, "images", "attributes", "partition")
    groups, target = entry.get("groups", {}), entry["target"]
    targets, parts = read_faces(attributes, partition, entry.get("targets", [target]), groups)
    if target not in targets:
        raise BadInput(f"dataset {name}", "target", f"found {target!r}", "one of the attributes in targets")
    decoder = Decoder(name, entry, threads, resize_whole)
    members = stack.enter_context(opened_archive(images))
    by_name = {member.rpartition("/")[2]: member for member in members}
    for faces in parts.values():
        for face in faces.names:
            if face not in by_name:
                raise BadInput(images, face, "no such image", f"every image of {attributes.name}")
    labels = slice(None) if "targets" in entry else 0
    train, test = (
        RawPart(decoder.decode(members, [by_name[face] for face in of.names]), of.labels[:, labels], of.groups)
        for of in parts.values()
    )
    if "targets" in entry:
        return Raw(train, test, list(YES_OR_NO), tuple(groups), 255, decoder.margin, LABELS, tuple(targets))
    return Raw(train, test, [f"{NOT}{target}", target], tuple(groups), margin=decoder.margin)


def read_faces(
    attributes: Path, partition: Path, targets: str | list[str], groups: dict[str, str]
) -> tuple[list[str], dict[str, Faces]]:
    """The attributes that are labels, and training and test faces; a group is an attribute or "not " and its name."""
    columns = "".join(_lines(attributes)[1:2]).split()
    targets = columns if targets == EVERY else targets
    names, values = _attributes(attributes, columns, [*targets, *(rule.removeprefix(NOT) for rule in groups.values())])
    negated = [rule.startswith(NOT) for rule in groups.values()]
    member, labels = values[:, len(targets) :] != negated, values[:, : len(targets)].astype(np.int32)
    part_of = _partition(partition)
    parts = {}
    for part in PARTS:
        chosen = [place for place, face in enumerate(names) if part_of.get(face) == PARTITION[part]]
        if not chosen:
            raise BadInput(partition, part, "no face of this part", f"{PARTITION[part]} after a face's name")
        parts[part] = Faces([names[place] for place in chosen], labels[chosen], member[chosen])
    return targets, parts


def _attributes(path: Path, columns: list[str], wanted: list[str]) -> tuple[list[str], np.ndarray]:
    """The name of each face, and whether it has each of the wanted attributes."""
    lines = _lines(path)
    for name in wanted:
        if name not in columns:
            raise BadInput(path, name, "no such attribute", f"allowed: {', '.join(sorted(columns)) or 'none found'}")
    if lines[0].strip() != str(len(lines) - 2):
        raise BadInput(path, "line 1", f"found {lines[0].strip()!r}", f"the number of faces, here {len(lines) - 2}")
    places = [1 + columns.index(name) for name in wanted]
    names, rows = [], []
    for number, line in enumerate(lines[2:], 3):
        fields = line.split()
        if len(fields) != 1 + len(columns) or not {"1", "-1"}.issuperset(fields[1:]):
            allowed = f"a name and {len(columns)} times 1 or -1"
            raise BadInput(path, f"line {number}", f"found {line.strip()[:60]!r}", allowed)
        names.append(fields[0])
        rows.append([fields[place] == "1" for place in places])
    return names, np.array(rows, bool)


def _partition(path: Path) -> dict[str, str]:
    parts = {}
    for number, line in enumerate(_lines(path), 1):
        fields = line.split()
        if len(fields) != 2 or fields[1] not in PARTITION.values():
            raise BadInput(path, f"line {number}", f"found {line.strip()[:60]!r}", "a name and 0, 1 or 2")
        parts[fields[0]] = fields[1]
    return parts


def _lines(path: Path) -> list[str]:
    with readable(path, "CelebA's text files"):
        lines = read_text(path).splitlines()
    if not lines:
        raise BadInput(path, "", "empty", f"expected CelebA's {path.name}")
    return lines
