"""Classes merged from folders, a group that is one of the folders, and training sets in which it has a given share.

The draws are the same in every study: the files of the group, and the other files of each class, have one random order
each, and a set takes the first of them. So the group's examples at a smaller share are among those at a larger one,
and the other way round for the rest of its class. Classes keep the balance that they have in the files, whatever the
share: the other folders of the group's class fill it up.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from toolnoise import streams
from toolnoise.base.errors import BadInput

Files = list[tuple[str, str]]  # the folder and the name of each
Classes = Mapping[str, Sequence[str]]  # the folders of each class


def classes_of(folders: Sequence[str], entry: Mapping[str, Any], source: str) -> dict[str, list[str]]:
    """The folders of each class, in the order of its name, but the group's class last: the positive one of two."""
    merged = entry.get("classes", {folder: [folder] for folder in folders})
    group = entry.get("group")
    wanted = [(f"classes.{name}", folder) for name, members in merged.items() for folder in members]
    for key, folder in [*wanted, *([("group", group)] if group else [])]:
        if folder not in folders:
            raise BadInput(source, key, f"no folder {folder!r} of training images", f"allowed: {', '.join(folders)}")
    return {name: merged[name] for name in sorted(merged, key=lambda name: (group in merged[name], name))}


def training_set(files: Files, classes: Classes, entry: Mapping[str, Any], source: str) -> Files:
    """The training examples: all of these classes, or `train_examples` of which the group has `group_share`."""
    of_class = [_of(files, folders) for folders in classes.values()]
    available = sum(map(len, of_class))
    total, group = entry.get("train_examples", available), entry.get("group")
    if total > available:
        raise BadInput(source, "train_examples", f"found {total}", f"allowed: {available} or fewer")
    ends = [round(total * end / available) for end in np.cumsum([0, *map(len, of_class)]).tolist()]
    chosen: Files = []
    for name, class_files, size in zip(classes, of_class, np.diff(ends).tolist(), strict=True):
        if "group_share" in entry and group in classes[name]:
            members, others = _of(class_files, [group]), [file for file in class_files if file[0] != group]
            wanted = round(entry["group_share"] * total)
            least, most = max(1, size - len(others)), min(len(members), size)
            if not least <= wanted <= most:
                share = f"found {entry['group_share']:g}, {wanted} of {total} examples"
                allowed = f"allowed: {least} to {most} of the {size} of class {name!r}"
                raise BadInput(source, "group_share", share, allowed)
            chosen += _first(members, wanted, "train", group) + _first(others, size - wanted, "train", name)
        else:
            chosen += _first(class_files, size, "train", name)
    return sorted(chosen)


def test_set(files: Files, classes: Classes, entry: Mapping[str, Any], source: str) -> Files:
    """The test examples: all of these classes, but of the group only `group_test_examples`."""
    class_files = _of(files, [folder for folders in classes.values() for folder in folders])
    if "group_test_examples" not in entry:
        return class_files
    group, wanted = entry["group"], entry["group_test_examples"]
    members = _of(class_files, [group])
    if wanted > len(members):
        raise BadInput(source, "group_test_examples", f"found {wanted}", f"allowed: 1 to {len(members)}")
    others = [file for file in class_files if file[0] != group]
    return sorted([*others, *_first(members, wanted, "test", group)])


def _of(files: Files, folders: Sequence[str]) -> Files:
    return [file for file in files if file[0] in folders]


def _first(files: Files, count: int, *what: str) -> Files:
    order = streams.permutation(streams.key(0, streams.DATA, 0, "group shares", *what), len(files))
    return [files[place] for place in order[:count].tolist()]
