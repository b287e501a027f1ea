"""The files that a data set is prepared from, as its registry entry names them. Nothing heavy: the Snakefile asks."""

from pathlib import Path
from typing import Any

from toolnoise.base.errors import BadInput

Source = dict[str, Any]

NOT_CHECKED = "none"


def sources(entry: dict[str, Any]) -> list[Source]:
    """Each file with its `path`, and the `url`, `page` and `checksum` it may have; nothing for embedded data."""
    return [entry] if "path" in entry else list(entry.get("files", {}).values())


def is_own(source: Source) -> bool:
    """Whether nobody but the user can know where this file is to be had, so that it must be there from the start."""
    return "url" not in source and "page" not in source


def path_of(name: str, entry: dict[str, Any], wanted: str) -> Path:
    """Where the one file of a data set is."""
    if "path" not in entry:
        raise BadInput(f"dataset {name}", "path", "missing", wanted)
    return Path(entry["path"])


def paths_of(name: str, entry: dict[str, Any], *roles: str) -> list[Path]:
    """Where the files of a data set are, by their roles."""
    files = entry.get("files", {})
    for role in roles:
        if role not in files:
            raise BadInput(f"dataset {name}", f"files.{role}", "missing", f"required: {', '.join(roles)}")
    return [Path(files[role]["path"]) for role in roles]


def bundled(entry: dict[str, Any]) -> tuple[str, str] | None:
    """The installed package that embedded data comes with, and the file in it; nothing for data that is drawn."""
    return ("scikit-learn", "sklearn/datasets/data/digits.csv.gz") if entry["reader"] == "digits" else None
