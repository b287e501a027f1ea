"""Data sets of a study: what an entry must have, beyond the schema.

Pure: `toolnoise.study.config` reads them. What only the files can show, the readers refuse.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolnoise.base.errors import BadInput
from toolnoise.datasets.sources import keeps_originals

# Keys that only some readers know.
READERS = {
    "train_examples": ("faces",),
    "targets": ("celeba",),
    "attributes": ("faces",),
    "outcome": ("npz", "npy"),
}
# Keys of the reader of text, each with the tokens that it is for.
TOKENS = {"vocabulary": ("words", "subwords"), "most": ("words",), "unknown": ("words",)}


def require_possible(entries: Mapping[str, Mapping[str, Any]], at: str, file: str | Path) -> None:
    """Refuse keys that the reader does not know, and values that do not fit together."""
    for name, entry in entries.items():
        for key, readers in READERS.items():
            if key in entry and entry["reader"] not in readers:
                problem = f"found it with reader {entry['reader']!r}"
                raise BadInput(file, f"{at}{name}.{key}", problem, f"reader: {' or '.join(readers)}")
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
