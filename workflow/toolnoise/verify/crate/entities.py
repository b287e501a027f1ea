"""The entities of a crate by their ids, the links between them, and the packed files: JSON-LD under construction."""

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from toolnoise.base.files import is_below
from toolnoise.record.statements import SUFFIX, Artifact
from toolnoise.verify.crate.contents import Content

Entity = dict[str, Any]

README, DESCRIPTOR = "README.md", "ro-crate-metadata.json"
FORMATS = {
    ".csv": "text/csv",
    ".gz": "application/gzip",
    ".html": "text/html",
    ".ipynb": "application/x-ipynb+json",
    ".json": "application/json",
    ".md": "text/markdown",
    ".npy": "application/x-npy",
    ".npz": "application/zip",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".py": "text/x-python",
    ".rst": "text/x-rst",
    ".svg": "image/svg+xml",
    ".tar": "application/x-tar",
    ".tex": "text/x-tex",
    ".txt": "text/plain",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".zip": "application/zip",
    ".cff": "application/yaml",
    ".smk": "text/plain",
    "": "text/plain",
    SUFFIX: "application/vnd.in-toto+json",
}


class Graph:
    """The entities by their ids, and the packed files; the first file of a name keeps it."""

    def __init__(self, published: str) -> None:
        self.published = published
        self.packed: dict[str, tuple[str, Content]] = {}
        self._entities: dict[str, Entity] = {}
        # An ordered set of ids per key.
        self._links: dict[str, dict[str, dict[str, None]]] = {}
        self._types: dict[str, set[str]] = {}
        self._files: dict[tuple[str, str], str] = {}

    def add(self, identifier: str, kind: str | list[str], **properties: Any) -> str:
        """Add an entity unless it exists; links are added one by one."""
        if identifier not in self._entities:
            self._entities[identifier] = {"@type": kind, **properties}
        return identifier

    def link(self, identifier: str, key: str, *others: str) -> None:
        """Link an entity to others."""
        self._links.setdefault(identifier, {}).setdefault(key, {}).update(dict.fromkeys(others))

    def type_parameter(self, parameter: str, kind: str) -> None:
        """Add a type of values to a formal parameter."""
        self._types.setdefault(parameter, set()).add(kind)

    def file(self, artifact: Artifact, content: Content | None, **properties: Any) -> str:
        """Add a file, packed under its name or only referenced; a second file of that name is only referenced."""
        key = artifact.name, artifact.sha256
        kept = content is not None and is_below(artifact.name) and artifact.name not in (README, DESCRIPTOR)
        identifier = quote(artifact.name)
        if not kept or identifier in self._entities:
            kept, identifier = False, f"#file/{artifact.sha256[:16]}/{identifier}"
        about = self._about(artifact.name, artifact.sha256, content.size if kept else artifact.size)
        address = {"url": artifact.uri} if artifact.uri else {}
        self._files[key] = self.add(identifier, "File", **{**about, **address, **properties})
        if kept:
            self._pack(artifact.name, content)
        return self._files[key]

    def pack(self, path: str, kind: str | list[str], content: Content, **properties: Any) -> str:
        """Add a packed file that no statement names."""
        self._pack(path, content)
        return self.add(quote(path), kind, **{**self._about(path, content.sha256, content.size), **properties})

    def _pack(self, path: str, content: Content) -> None:
        self.packed[quote(path)] = path, content
        self.link("./", "hasPart", quote(path))

    def _about(self, name: str, sha256: str, size: int | None) -> Entity:
        suffix = SUFFIX if name.endswith(SUFFIX) else PurePosixPath(name).suffix.lower()
        return {
            "name": name,
            "encodingFormat": FORMATS.get(suffix, "application/octet-stream"),
            "sha256": sha256,
            **({} if size is None else {"contentSize": str(size)}),
            # A crate may be put on the web, where each file should have the date of its description.
            "sdDatePublished": self.published,
        }

    def knows(self, artifact: Artifact) -> bool:
        """Whether a file has been added."""
        return (artifact.name, artifact.sha256) in self._files

    def known(self, artifact: Artifact) -> str:
        """The id of a file that has been added."""
        return self._files[artifact.name, artifact.sha256]

    def entities(self) -> Iterator[tuple[str, Entity]]:
        """Every entity as JSON-LD."""
        for identifier, entity in self._entities.items():
            types = sorted(self._types.get(identifier, ()))
            typed = {"additionalType": types[0] if len(types) == 1 else types} if types else {}
            links = {key: references(others) for key, others in self._links.get(identifier, {}).items() if others}
            yield identifier, {**entity, **typed, **links}


def references(identifiers: Iterable[str]) -> Entity | list[Entity]:
    """The ids as a JSON-LD reference, or a list of them."""
    references = [{"@id": identifier} for identifier in identifiers]
    return references[0] if len(references) == 1 else references
