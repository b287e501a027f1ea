"""Data sets of a study: what an entry with merged classes or a group must have, beyond the schema.

Pure: `toolnoise.study.config` reads them. What only the files can show, the readers refuse.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolnoise.base.errors import BadInput
from toolnoise.datasets.sources import keeps_originals

# Keys that require others.
REQUIRED = {"group_share": ("group", "train_examples"), "group_test_examples": ("group",)}
# Keys that only some readers know.
READERS = {
    "classes": ("image-folder",),
    "group": ("image-folder", "text"),
    "group_share": ("image-folder", "text"),
    "group_test_examples": ("image-folder",),
    "targets": ("celeba",),
    "attributes": ("faces",),
    "outcome": ("npz", "npy"),
}
# Keys of the reader of text, each with the tokens that it is for.
TOKENS = {"vocabulary": ("words", "subwords"), "most": ("words",), "unknown": ("words",)}


def require_possible(entries: Mapping[str, Mapping[str, Any]], at: str, file: str | Path) -> None:
    """Refuse keys that the reader does not know or that lack another, and folders that are in no or two classes."""
    for name, entry in entries.items():
        for key, readers in READERS.items():
            if key in entry and entry["reader"] not in readers:
                problem = f"found it with reader {entry['reader']!r}"
                raise BadInput(file, f"{at}{name}.{key}", problem, f"reader: {' or '.join(readers)}")
        for key, needed in REQUIRED.items():
            for other in needed:
                if key in entry and other not in entry:
                    raise BadInput(file, f"{at}{name}", f"lacks the key {other!r}", f"required with {key!r}")
        if isinstance(targets := entry.get("targets"), list) and entry.get("target") not in targets:
            found = f"found {entry.get('target', 'nothing')!r}"
            raise BadInput(file, f"{at}{name}.target", found, f"one of targets: {', '.join(targets)}")
        for key, kinds in TOKENS.items():
            if key in entry and entry.get("tokens") not in kinds:
                problem = f"found it with tokens {entry.get('tokens', 'missing')!r}"
                raise BadInput(file, f"{at}{name}.{key}", problem, f"tokens: {' or '.join(kinds)}")
        possible = entry["reader"] in ("image-folder", "imagenet") and entry.get("streamed") and "image_size" in entry
        if keeps_originals(entry) and not possible:
            wanted = "reader: image-folder or imagenet, with image_size and streamed: true"
            raise BadInput(file, f"{at}{name}.stored_size", "found 'original'", wanted)
        if "classes" in entry:
            _require_each_once(entry, f"{at}{name}", file)


def _require_each_once(entry: Mapping[str, Any], key: str, file: str | Path) -> None:
    class_of: dict[str, str] = {}
    for kind, folders in entry["classes"].items():
        for folder in folders:
            if folder in class_of:
                problem = f"folder {folder!r} is in {class_of[folder]!r}, too"
                raise BadInput(file, f"{key}.classes.{kind}", problem, "each folder in one class")
            class_of[folder] = kind
    if "group" in entry and entry["group"] not in class_of:
        raise BadInput(file, f"{key}.group", f"found {entry['group']!r}", f"allowed: {', '.join(class_of)}")
