"""Results without host names, users, paths and credentials, for review by people who must not know who made them.

Names stand in statements and in files that statements have the digests of. So the copy has other statements: without
the names, with the digests of the files as they are in the copy, without signatures, and each marked as anonymised. An
audit of the copy compares them with its files as usual. It cannot say that they are what the jobs recorded: only the
original results show that. The root statement would give the originals' digests away, so it is not in the copy.
"""

import getpass
import hashlib
import json
import os
import re
import shutil
import socket
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base import files
from toolnoise.base.errors import BadInput
from toolnoise.record import envelope
from toolnoise.record.statements import ANONYMISED
from toolnoise.verify import credentials, tree
from toolnoise.verify.tree import Stated, Tree

LEFT_OUT = "(left out)"
# What a machine is called, and whom and where it serves: keys of what a job observed.
KEYS = ("host", "slurm", "user")
# A path from the root of a machine, with at least two names; parts of addresses and of relative paths are none.
PATH = re.compile(r"(?<![\w./:+-])(?:/[\w.@+~-]+){2,}/?|~/[\w./@+-]*")
# The account in an address, such as that of a git remote, with or without its password: https://ann@host/repository.
ACCOUNT = re.compile(r"(?<=://)[^\s/?@\"'<>\\]+@")
# A name that nobody is known by.
COMMON = {"root", "user", "localhost", "cpu", "gpu", ""}
# The texts in a file that is none.
TEXTS = re.compile(rb"[ -~]{12,}")
# In a file that is copied as it is: pictures have many slashes, so only paths of people count.
HOME = re.compile(r"/(?:home|root|Users|tmp|scratch|work)/[\w.@+-]+")
# What can be written again without the names; another file that has one is left out.
REWRITTEN = (".json", ".ipynb")
# Only numbers, in which any short name is found somewhere.
NUMBERS = (".npz", ".npy")

# A file's name and digest in the statements, and its digest and size in the copy.
Digests = dict[tuple[str, str], tuple[str, int]]


def secrets(study: Tree) -> set[str]:
    """The names that identify somebody: of hosts and jobs in the statements, and of this machine and its user."""
    names = {socket.gethostname(), socket.gethostname().partition(".")[0], _user(), Path.home().name}
    for stated in study.statements:
        for key in KEYS:
            names |= set(_texts(stated.statement.observed.get(key)))
    # A number, such as that of a job, names nobody.
    return {name for name in names - COMMON if len(name) > 1 and any(sign.isalpha() for sign in name)}


def without(value: Any, names: Collection[str]) -> Any:
    """The same value without these names, paths of a machine, credentials, and the keys that have the first."""
    pattern = _pattern(names)

    def text(plain_text: str) -> str:
        hidden = PATH.sub(LEFT_OUT, credentials.hidden(ACCOUNT.sub("", plain_text), LEFT_OUT))
        return pattern.sub(LEFT_OUT, hidden) if names else hidden

    def plain(part: Any) -> Any:
        if isinstance(part, str):
            return text(part)
        if isinstance(part, dict):
            return {
                text(str(key)): LEFT_OUT if credentials.holds(str(key), each) else plain(each)
                for key, each in part.items()
                if key not in KEYS
            }
        return [plain(each) for each in part] if isinstance(part, (list, tuple)) else part

    return plain(value)


def names_somebody(content: bytes, names: Collection[str]) -> bool:
    """Whether a file has such a name, a path or a credential in it."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        # Between its texts a picture has every short name somewhere.
        text = "\n".join(match.decode() for match in TEXTS.findall(content))
    if HOME.search(text) or ACCOUNT.search(text) or credentials.found(text):
        return True
    return bool(names and _pattern(names).search(text))


def _pattern(names: Iterable[str]) -> re.Pattern[str]:
    """These names as whole words, the longest first."""
    return re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in sorted(names, key=len, reverse=True)))


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _texts(each)


class Copy(NamedTuple):
    """An anonymised copy: its folder, and the files that are not in it."""

    root: Path
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
    names = secrets(study)
    stated = {path: digest for made in study.statements for path, digest in _outputs(study, made).items()}
    digests: Digests = {}
    left_out = []
    for path in study.artifacts:
        written = _written(study.root / path, out / path, names)
        if written is None:
            left_out.append(path)
        elif path in stated:
            digests[study.named(path), stated[path]] = written
    for made in study.statements:
        outputs = _outputs(study, made)
        # Without one of its files, a job is left out as a whole; the root has the digests of the originals.
        if made.statement.chain is None and not outputs.keys() & left_out:
            files.write_json(out / made.path, _anonymised(study.root / made.path, names, digests))
            continue
        for path in outputs:
            (out / path).unlink(missing_ok=True)
            left_out += [path] if path not in left_out else []
    return Copy(out, tuple(left_out))


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
        hidden = without(value, names)
        content = content if hidden == value else json.dumps(hidden, indent=1).encode()
    elif names_somebody(content, names):
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
    return without(statement, names)
