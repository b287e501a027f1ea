"""The files in a crate: the study's files up to a size, or all of them, and the program's files as they were used.

Every packed file has the digest in its statement. Data from outside is never packed: the study may not be allowed to
redistribute it, and its statement says where to get it.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rocrate.model.file import File
from rocrate.rocrate import ROCrate

from toolnoise.base import files, program
from toolnoise.base.errors import BadInput
from toolnoise.base.files import open_plain, read_plain
from toolnoise.record.statements import CODE, LOCK, RESOURCE, Artifact
from toolnoise.verify import history
from toolnoise.verify.share.sharing import unchanged
from toolnoise.verify.tree import Tree

# Figures, tables and records of runs are smaller; weights, predictions and pictures are larger.
SMALL = 2**20
ENTRIES = ("Snakefile", "workflow/Snakefile", "LICENSE")
RULES = "workflow/rules"
# The kinds of dependency that belong to the program.
PROGRAM = (CODE, RESOURCE, LOCK)
CONFIGURATION = "configuration"


@dataclass(frozen=True)
class Content:
    """The bytes of a file, or its path, and the required SHA-256."""

    at: Path | bytes
    sha256: str
    size: int


class Packed(File):
    """A file that is verified during packing."""

    def __init__(self, crate: ROCrate, name: str, content: Content, properties: dict[str, Any]) -> None:
        super().__init__(crate, dest_path=name, properties=properties)
        self.path, self.content = name, content

    def stream(self, chunk_size: int = 0) -> Iterator[tuple[str, bytes]]:  # noqa: ARG002 (as in `rocrate`)
        """The bytes in chunks, each with the path in the crate, as `rocrate` expects."""
        at = self.content.at
        chunks = [at] if isinstance(at, bytes) else unchanged(at, self.content.sha256, self.content.size)
        yield from ((self.path, chunk) for chunk in chunks)


@dataclass(frozen=True)
class Contents:
    """Finds the files of a study and of the program that made it; all of the study's files if `embed`."""

    tree: Tree
    embed: bool
    commit: str | None
    citation: Path

    def of(self, artifact: Artifact) -> Content | None:
        """The content of an artifact; None if it is not packed."""
        path = self.tree.inside(artifact.name)
        if path is not None:
            return self._of_study(artifact, path)
        if artifact.kind in PROGRAM:
            return self._of_program(artifact)
        return self._beside(artifact) if artifact.role == CONFIGURATION else None

    def program(self) -> dict[str, Content]:
        """The workflow itself, which no statement names: from the commit that made the study, or else from here."""
        rules = sorted(f"{RULES}/{path.name}" for path in program.path_of(RULES).glob("*.smk"))
        used = {}
        for name in (*ENTRIES, *rules):
            committed = history.show(self.commit, name) if self.commit else None
            used[name] = in_memory(program.path_of(name).read_bytes() if committed is None else committed)
        return used | {self.citation.name: in_memory(files.read_bytes(self.citation))}

    def statement(self, path: str) -> Content:
        """A statement of the study."""
        content = in_memory(read_plain(self.tree.root / path, "a statement"))
        return Content(self.tree.root / path, content.sha256, content.size)

    def _of_study(self, artifact: Artifact, path: str) -> Content | None:
        size = self.tree.files.get(path)
        if size is None and self.embed:
            what = self.tree.strange.get(path, "no such file")
            raise BadInput(self.tree.root / path, "", what, "the file in its statement, to pack it")
        if size is None or not (self.embed or size <= SMALL):
            return None
        return Content(self.tree.root / path, artifact.sha256, size)

    def _of_program(self, artifact: Artifact) -> Content | None:
        here = _at(program.path_of(artifact.name), artifact) or self._beside(artifact)
        if here or not self.commit or not files.is_below(artifact.name):
            return here
        return _if_it_is(history.show(self.commit, artifact.name), artifact)

    def _beside(self, artifact: Artifact) -> Content | None:
        """A file of the folder in which Snakemake ran, which contains results/<study>/."""
        return _at(self.tree.root.resolve().parent.parent / artifact.name, artifact)


def in_memory(content: bytes) -> Content:
    """The content for these bytes."""
    return Content(content, hashlib.sha256(content).hexdigest(), len(content))


def _at(path: Path, artifact: Artifact) -> Content | None:
    if not files.is_below(artifact.name):
        return None
    try:
        with open_plain(path) as file:
            return _if_it_is(file.read(SMALL + 1), artifact)
    except OSError:
        return None


def _if_it_is(content: bytes | None, artifact: Artifact) -> Content | None:
    packed = None if content is None else in_memory(content)
    return packed if packed and packed.sha256 == artifact.sha256 else None
