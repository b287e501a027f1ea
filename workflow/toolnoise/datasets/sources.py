"""The source files of a data set, as its registry entry names them. No heavy imports: the Snakefile uses this."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolnoise.base.errors import BadInput, warn_once
from toolnoise.base.spec import ORIGINAL

Source = dict[str, Any]

NOT_CHECKED = "none"


def sources(entry: dict[str, Any]) -> list[Source]:
    """Each file with its `path`, and the `url`, `page` and `checksum` it may have; nothing for embedded data."""
    read = [entry] if "path" in entry else list(entry.get("files", {}).values())
    return [*read, {"path": entry["vocabulary"]}] if "vocabulary" in entry else read


def checksums(entry: dict[str, Any]) -> list[str]:
    """What two entries of the same data have in common, whatever their names and paths."""
    return sorted(source.get("checksum", "") for source in sources(entry))


def is_own(source: Source) -> bool:
    """Whether only the user can know where this file comes from, so that it must exist from the start."""
    return "url" not in source and "page" not in source


def require_own(name: str, entry: dict[str, Any], file: str | Path) -> None:
    """Refuse a data set of the user's, declared in this file, of which a file or a folder is absent.

    Published files that nobody may download for them are named on the terminal: without them the study can be planned.
    """
    absent = [source for source in sources(entry) if not Path(source["path"]).exists()]
    for source in filter(is_own, absent):
        raise BadInput(file, f"datasets.{name}", f"no such file: {source['path']}", "a file or a folder of yours")
    by_hand = [source for source in absent if "url" not in source]
    if by_hand:
        warn_once(f"{name}: no {', no '.join(source['path'] for source in by_hand)}: get it from {by_hand[0]['page']}")


def paths_of(entry: dict[str, Any], *roles: str) -> list[Path]:
    """The paths of the files of a data set, by their roles."""
    return [Path(entry["files"][role]["path"]) for role in roles]


def embedded(entry: dict[str, Any]) -> tuple[str, ...]:
    """The text of the repository that a data set is made of, if it is."""
    return (f"resources/texts/{entry['embedded']}.txt",) if "embedded" in entry else ()


def bundled(entry: dict[str, Any]) -> tuple[str, str] | None:
    """The installed package of embedded data, and the file in it; None for data that is drawn."""
    return ("scikit-learn", "sklearn/datasets/data/digits.csv.gz") if entry["reader"] == "digits" else None


def keeps_originals(entry: Mapping[str, Any]) -> bool:
    """Whether images are stored as their files have them, by the entry of their data set."""
    return entry.get("stored_size") == ORIGINAL
