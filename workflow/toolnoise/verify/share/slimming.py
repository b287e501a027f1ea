"""A slim copy of a study's results: without what is large or a repetition, which its audit knows by its digests.

The statements of all files are in it, so whatever was left out can be made again and compared (`toolnoise rebuild`).
The copy is a folder or an archive. A copy of a slim copy that leaves out no more has the same bytes.
"""

import shutil
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from toolnoise.base import files
from toolnoise.base.errors import BadInput
from toolnoise.base.files import sha256
from toolnoise.record import archive, recorder
from toolnoise.record.archive import Member
from toolnoise.record.statements import Artifact, Statement
from toolnoise.verify import left_out, tree
from toolnoise.verify.share import sharing
from toolnoise.verify.tree import Tree


def copy(results: str | Path, out: str | Path) -> tuple[int, int]:
    """Copy a study's results to a folder or an archive; return the numbers of copied files and of those left out."""
    place, packed = Path(out), str(out).endswith(archive.SUFFIXES)
    if place.exists():
        raise BadInput("command line", "--out", f"{out} exists", f"expected: a new {'archive' if packed else 'folder'}")
    loaded = tree.load(results)
    if len(loaded.trees) != 1:
        raise BadInput(results, "", f"has {len(loaded.trees)} studies", "the results folder of one study")
    (study,) = loaded.trees
    for path, what in study.strange.items():
        raise BadInput(study.root / path, "", f"is {what}", "plain files")
    if study.listed and study.listed.refused:
        wanted = "a list of toolnoise slim"
        raise BadInput(study.root / left_out.FILE, study.listed.refused[0], "may not be left out", wanted)
    lacking = dict(study.left_out)
    for path, makers in study.producers.items():
        stated = next(output.sha256 for output in makers[0].statement.outputs if study.inside(output.name) == path)
        if path in study.files and sha256(study.root / path) != stated:
            wanted = "unchanged results: see toolnoise audit"
            raise BadInput(study.root / path, "", "differs from its statement", wanted)
        if path in study.files and left_out.kind(path):
            lacking[path] = stated
    known = _is_stated(study, lacking)
    list_files = () if known else (left_out.FILE, left_out.STATEMENT)
    kept = [path for path in study.files if path not in lacking and path not in list_files]
    with tempfile.TemporaryDirectory() if packed else files.filling(place) as folder:
        made = Path(folder)
        for path in kept:
            (made / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(study.root / path, made / path)
        if not known:
            _state(study, lacking, made)
        if packed:
            sharing.pack(place, _members(made, study))
    return len(kept), len(lacking)


def _members(folder: Path, study: Tree) -> Iterator[Member]:
    for path in sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()):
        content = (folder / path).read_bytes()
        yield Member(study.named(path), len(content), iter([content]))


def _is_stated(study: Tree, lacking: dict[str, str]) -> bool:
    """Whether the list that is there says what is left out, and its statement is of it and of the root."""
    if not (study.listed and study.list_stated) or lacking != study.left_out:
        return False
    statement = study.list_stated.statement
    listed = Artifact(study.named(left_out.FILE), study.listed.sha256, study.listed.size, "list")
    return statement.outputs == (listed,) and statement.chain == study.chain


def _state(study: Tree, lacking: dict[str, str], out: Path) -> None:
    """Write the list of what is left out, and its statement, which names the root."""
    started, path = datetime.now(UTC).replace(tzinfo=None), out / left_out.FILE
    files.write_json(path, lacking)
    listed = Artifact(study.named(left_out.FILE), sha256(path), path.stat().st_size, "list")
    finished = datetime.now(UTC).replace(tzinfo=None)
    versions = recorder.programs()
    statement = Statement(left_out.VERB, (listed,), (), {}, {}, started, finished, versions, chain=study.chain)
    files.write_json(out / left_out.STATEMENT, statement.as_json())
