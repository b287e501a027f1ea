"""What the entry of a data set or of a claim must have, beyond the schema.

Pure: `toolnoise.study.config` reads the entries. What only the files of a data set can show, the readers refuse.
"""

from collections.abc import Container, Mapping
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
# What a test requires beside `of`, and the directions that it knows.
REQUIRED = {
    "ratio": ("over", "direction"),
    "equivalence": ("over", "margin"),
    "difference": ("over", "margin"),
    "level": ("direction", "reference"),
    "trend": ("along", "direction"),
    "presence": (),
}
DIRECTIONS = {"ratio": ("above", "below"), "level": ("above", "below"), "trend": ("rising", "falling")}
# Keys that only some tests have.
_ONLY = ("over", "direction", "margin", "along")


def require_possible_datasets(entries: Mapping[str, Mapping[str, Any]], at: str, file: str | Path) -> None:
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


def require_possible_claims(
    claims: Mapping[str, Mapping[str, Any]], taken: Container[str], at: str, file: str | Path
) -> None:
    """Refuse a claim that lacks what its test needs, has what its test does not use, or has the name of another."""
    for name, claim in claims.items():
        key, test = f"{at}{name}", claim["test"]
        if name in taken:
            raise BadInput(file, key, "a claim of resources/claims.yaml has this name", "a name of its own")
        for needed in REQUIRED[test]:
            if needed not in claim:
                raise BadInput(file, key, f"lacks the key {needed!r}", f"required with test {test!r}")
        for other in _ONLY:
            if other in claim and other not in REQUIRED[test]:
                wanted = f"test: {' or '.join(kind for kind, keys in REQUIRED.items() if other in keys)}"
                raise BadInput(file, f"{key}.{other}", f"found it with test {test!r}", wanted)
        if "direction" in claim and claim["direction"] not in DIRECTIONS[test]:
            what = f"found {claim['direction']!r} with test {test!r}"
            raise BadInput(file, f"{key}.direction", what, f"allowed: {', '.join(DIRECTIONS[test])}")
        if claim.get("margin", 2) <= 1 and not claim["measure"].endswith("_mean"):
            wanted = "allowed: the factor within which quantities count as equal, above 1"
            raise BadInput(file, f"{key}.margin", f"found {claim['margin']}", wanted)
