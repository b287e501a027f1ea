"""The source files in the registry entry of a data set. Imports nothing heavy, because the Snakefile uses it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolnoise.base.errors import BadInput, warn_once
from toolnoise.base.spec import ORIGINAL

Source = dict[str, Any]

NOT_CHECKED = "none"


def sources_of(entry: dict[str, Any]) -> list[Source]:
    """The files of a data set, each with `path` and optional `url`, `page` and `checksum`; none for embedded data."""
    read = [entry] if "path" in entry else list(entry.get("files", {}).values())
    return [*read, {"path": entry["vocabulary"]}] if "vocabulary" in entry else read


def checksums_of(entry: dict[str, Any]) -> list[str]:
    """The checksums of an entry's files, which are equal for the same data under other names and paths."""
    return sorted(source.get("checksum", "") for source in sources_of(entry))


def is_own(source: Source) -> bool:
    """Whether only the user can know where this file comes from, so that it must exist from the start."""
    return "url" not in source and "page" not in source


def require_own(name: str, entry: dict[str, Any], file: str | Path) -> None:
    """Refuse a data set, declared in `file`, if a file or folder that only the user can provide is absent.

    Published files that the user must download are only named on the terminal: the study can be planned without them.
    """
    absent = [source for source in sources_of(entry) if not Path(source["path"]).exists()]
    for source in filter(is_own, absent):
        raise BadInput(file, f"datasets.{name}", f"no such file: {source['path']}", "a file or a folder of yours")
    by_hand = [source for source in absent if "url" not in source]
    if by_hand:
        warn_once(f"{name}: no {', no '.join(source['path'] for source in by_hand)}: get it from {by_hand[0]['page']}")


def paths_of(entry: dict[str, Any], *roles: str) -> list[Path]:
    """The paths of the files of a data set, by their roles."""
    return [Path(entry["files"][role]["path"]) for role in roles]


def embedded_text(entry: dict[str, Any]) -> tuple[str, ...]:
    """The text in the repository that a data set consists of, in a tuple; empty for other data sets."""
    return (f"resources/texts/{entry['embedded']}.txt",) if "embedded" in entry else ()


def bundled_file(entry: dict[str, Any]) -> tuple[str, str] | None:
    """The installed package that contains the data, and the file in it; None for other data sets."""
    return ("scikit-learn", "sklearn/datasets/data/digits.csv.gz") if entry["reader"] == "digits" else None


def keeps_originals(entry: Mapping[str, Any]) -> bool:
    """Whether a data set stores its images as the original encoded files."""
    return entry.get("stored_size") == ORIGINAL
