"""A study as a Workflow Run RO-Crate: Provenance Run Crate 0.5 on RO-Crate 1.1, a folder or a zip file.

Everything in it comes from the study's statements; nothing is measured or invented. The same study and program give
the same bytes. Packed files are verified against their statements.
"""

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, NamedTuple

from rocrate.model.computerlanguage import snakemake
from rocrate.model.contextentity import ContextEntity
from rocrate.rocrate import ROCrate

from toolnoise.base.errors import BadInput
from toolnoise.base.files import filling, replacing
from toolnoise.base.program import ROOT
from toolnoise.base.progress import progress
from toolnoise.verify import tree as trees
from toolnoise.verify.crate import citation
from toolnoise.verify.crate.contents import Contents, Packed
from toolnoise.verify.crate.entities import Graph
from toolnoise.verify.crate.graph import SNAKEMAKE, TERMS, WORKFLOW_CRATE, describe
from toolnoise.verify.tree import Tree

VERSION = "1.1"


class Export(NamedTuple):
    """The counts of an export: jobs, packed and only referenced files."""

    jobs: int
    packed: int
    referenced: int


def export(study: Path, out: Path, embed: bool) -> Export:
    """Write the crate of a study's results folder, with all its files if `embed`, or else the small ones."""
    _check_place(study, out)
    tree = _finished(trees.load_study(study))
    last = max((stated.statement for stated in tree.statements), key=lambda statement: statement.finished)
    beside = tree.root.resolve().parent.parent / citation.NAME
    cited = beside if tree.root.resolve().parent.name == trees.RESULTS and beside.exists() else ROOT / citation.NAME
    contents = Contents(tree, embed, last.commit, cited)
    graph = describe(tree, contents, citation.read(cited), citation.read(ROOT / citation.NAME))
    crate = _crate(graph)
    referenced = sum(identifier.startswith("#file/") for identifier, _ in graph.entities())
    try:
        _write(crate, out)
    except UnicodeEncodeError as error:
        what = f"a statement has invalid Unicode text ({error.reason})"
        raise BadInput(tree.root, "", what, "UTF-8") from None
    return Export(len(tree.statements), len(graph.packed), referenced)


def _check_place(study: Path, out: Path) -> None:
    """Refuse to overwrite anything but an archive, and to write among results, where each file has a statement."""
    if out.resolve().is_relative_to(study.resolve()):
        raise BadInput(out, "", "lies among the results", "a folder or .zip file elsewhere")
    if out.suffix == ".zip" and not out.is_dir():
        return
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BadInput(out, "", "already exists", "a new or empty folder, or a .zip file")


def _finished(tree: Tree) -> Tree:
    for error in tree.unreadable.values():
        raise error
    if not tree.statements:
        raise BadInput(tree.root, "", "has no statements", "a study's results, such as results/demo")
    return tree


def _crate(graph: Graph) -> ROCrate:
    crate = ROCrate(version=VERSION)
    crate.metadata.extra_terms.update(TERMS)
    crate.metadata["conformsTo"] = [{"@id": crate.metadata.profile}, {"@id": WORKFLOW_CRATE}]
    for identifier, properties in graph.entities():
        if identifier in graph.packed:
            crate.add(Packed(crate, *graph.packed[identifier], properties))
        elif identifier == crate.root_dataset.id:
            for name, value in properties.items():
                if not name.startswith("@"):
                    crate.root_dataset[name] = value
        else:
            crate.add(ContextEntity(crate, identifier, properties))
    language = crate.add(snakemake(crate, crate.get(SNAKEMAKE)["softwareVersion"]))
    crate.mainEntity["programmingLanguage"] = language
    return crate


def _write(crate: ROCrate, out: Path) -> None:
    """Write all or nothing: beside the final place, then renamed."""
    if out.suffix == ".zip":
        with replacing(out) as scratch, zipfile.ZipFile(scratch, "w", zipfile.ZIP_DEFLATED) as archive:
            _pack(crate, lambda name: _member(archive, name))
        return
    with filling(out) as scratch:
        _pack(crate, lambda name: _file(scratch, name))


def _pack(crate: ROCrate, opened: Callable[[str], IO[bytes]]) -> None:
    packed = [entity for entity in crate.data_entities if isinstance(entity, Packed)]
    with progress("packing", sum(entity.content.size for entity in packed), "B") as bar:
        for entity in packed:
            with opened(entity.path) as file:
                for _, chunk in entity.stream():
                    bar.update(file.write(chunk))
    for name, chunk in crate.metadata.stream():
        with opened(name) as file:
            file.write(chunk)


def _file(folder: Path, name: str) -> IO[bytes]:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("xb")


def _member(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    # The date is 1980, so an archive of the same files has the same bytes.
    about = zipfile.ZipInfo(name)
    about.compress_type = zipfile.ZIP_DEFLATED
    about.external_attr = 0o644 << 16
    return archive.open(about, "w", force_zip64=True)
