"""The authors and the licence of a study, from a CITATION.cff."""

import re
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base.errors import BadInput
from toolnoise.study import config

NAME = "CITATION.cff"
ORCID = re.compile(r"https://orcid\.org/[0-9X-]{19}")
SPDX = re.compile(r"[A-Za-z0-9.+-]+")
AUTHORS = "a list of authors, each with a name or with given-names and family-names"


class Author(NamedTuple):
    """A person, or a group of people under one name."""

    name: str
    is_group: bool
    affiliation: str = ""
    orcid: str = ""
    website: str = ""


class Credits(NamedTuple):
    """The authors, and the SPDX identifier of the licence."""

    authors: tuple[Author, ...]
    licence: str


def read(path: Path) -> Credits:
    """Read the credits in a CITATION.cff."""
    about = config.read_yaml(path)
    authors = about.get("authors") if isinstance(about, dict) else None
    if not isinstance(authors, list) or not authors:
        raise BadInput(path, "authors", "found none", AUTHORS)
    licence = about.get("license")
    if not isinstance(licence, str) or not SPDX.fullmatch(licence):
        raise BadInput(path, "license", f"found {licence!r}", "an SPDX identifier, such as MIT or CC-BY-4.0")
    return Credits(tuple(_author(author, path) for author in authors), licence)


def _author(about: Any, path: Path) -> Author:
    known = {key: value for key, value in about.items() if isinstance(value, str)} if isinstance(about, dict) else {}
    parts = (known.get(key, "") for key in ("given-names", "name-particle", "family-names", "name-suffix"))
    name = known.get("name") or " ".join(filter(None, parts))
    if not name:
        raise BadInput(path, "authors", f"found {about!r}", AUTHORS)
    orcid = known.get("orcid", "")
    return Author(
        name,
        "name" in known,
        known.get("affiliation", ""),
        orcid if ORCID.fullmatch(orcid) else "",
        known.get("website", ""),
    )
