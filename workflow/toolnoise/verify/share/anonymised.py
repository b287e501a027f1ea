"""A copy of a study's results without host names, users and paths, for people who must not know whose they are.

Names stand in statements and in files that statements have the digests of. So the copy has other statements: without
the names, with the digests of the files as they are in the copy, without signatures, and each marked as anonymised. An
audit of the copy compares them with its files as usual. It cannot say that they are what the jobs recorded: only the
original results show that. The root statement would give the originals' digests away, so it is not in the copy.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base import files
from toolnoise.base.errors import BadInput
from toolnoise.record import envelope, tree
from toolnoise.record.statements import ANONYMISED
from toolnoise.record.tree import Stated, Tree
from toolnoise.verify import anonymous

# What can be written again without the names; another file that has one is left out.
REWRITTEN = (".json", ".ipynb")
# Only numbers, in which any short name is found somewhere.
NUMBERS = (".npz", ".npy")

# A file's name and digest in the statements, and its digest and size in the copy.
Digests = dict[tuple[str, str], tuple[str, int]]


class Copy(NamedTuple):
    """An anonymised copy: its folder, the number of its statements, and the files that are not in it."""

    root: Path
    statements: int
    left_out: tuple[str, ...]


@contextmanager
def copied(results: Path) -> Iterator[Copy]:
    """Make a copy that is there as long as somebody works with it. What is large is linked."""
    study = tree.load_study(results.absolute())
    if study.study is None:
        raise BadInput(results, "", study.why, "the results folder of one study")
    with tempfile.TemporaryDirectory() as folder:
        yield _copy(study, Path(folder) / tree.RESULTS / study.name)


def _copy(study: Tree, out: Path) -> Copy:
    names = anonymous.secrets(study)
    stated = {path: digest for made in study.statements for path, digest in _outputs(study, made).items()}
    digests: Digests = {}
    left_out = []
    for path in study.artifacts:
        written = _written(study.root / path, out / path, names)
        if written is None:
            left_out.append(path)
        elif path in stated:
            digests[study.named(path), stated[path]] = written
    kept = 0
    for made in study.statements:
        outputs = _outputs(study, made)
        # Without one of its files, a job is left out as a whole; the root has the digests of the originals.
        if made.statement.chain is None and not outputs.keys() & left_out:
            files.write_json(out / made.path, _anonymised(study.root / made.path, names, digests))
            kept += 1
            continue
        for path in outputs:
            (out / path).unlink(missing_ok=True)
            left_out += [path] if path not in left_out else []
    return Copy(out, kept, tuple(left_out))


def _outputs(study: Tree, made: Stated) -> dict[str, str]:
    """The files of a statement, by their places in the study, with their digests."""
    outputs = ((study.inside(output.name), output.sha256) for output in made.statement.outputs)
    return {path: digest for path, digest in outputs if path is not None}


def _written(source: Path, out: Path, names: Collection[str]) -> tuple[str, int] | None:
    """Write a file of the copy; its digest and size, or None if it has a name that cannot be taken out of it."""
    out.parent.mkdir(parents=True, exist_ok=True)
    if source.suffix in NUMBERS:
        _link(source, out)
        return files.sha256(out), out.stat().st_size
    content = source.read_bytes()
    if source.suffix in REWRITTEN:
        # By the rule for statements: what a job was given is the same in its statement and in study.json.
        with files.readable(source, "a JSON file"):
            value = json.loads(content)
        hidden = anonymous.without(value, names)
        content = content if hidden == value else json.dumps(hidden, indent=1).encode()
    elif anonymous.names_somebody(content, names):
        return None
    out.write_bytes(content)
    return hashlib.sha256(content).hexdigest(), len(content)


def _link(source: Path, out: Path) -> None:
    try:
        os.link(source, out)
    except OSError:
        # On another disk.
        shutil.copyfile(source, out)


def _anonymised(path: Path, names: Collection[str], digests: Mapping[tuple[str, str], tuple[str, int]]) -> Any:
    """A statement without names, and with the digests of the copy's files."""
    statement = json.loads(envelope.unpack(path.read_bytes(), path).payload)
    definition = statement["predicate"]["buildDefinition"]
    for artifact in (*statement["subject"], *definition["resolvedDependencies"]):
        written = digests.get((artifact["name"], artifact["digest"].get("sha256", "")))
        if written:
            artifact["digest"]["sha256"], size = written
            if "size" in artifact.get("annotations", {}):
                artifact["annotations"]["size"] = size
    statement["predicate"]["runDetails"]["metadata"][ANONYMISED] = True
    return anonymous.without(statement, names)
