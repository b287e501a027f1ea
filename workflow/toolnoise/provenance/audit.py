"""The audit of a results folder: every file is hashed, every rule is checked, and each finding says what is wrong.

A finding means that something is wrong or cannot be known. A result is stale if its code is known to the repository but
has changed since: the result was right at its time, and the next run makes it again. This module has the rules for any
workflow; rules that know what a run is are passed in.
"""

import contextlib
import csv
import functools
import graphlib
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base.errors import BadInput, as_given, fault_name
from toolnoise.base.files import open_plain
from toolnoise.base.printing import counted as number_of
from toolnoise.base.printing import make_printable, size_text
from toolnoise.base.progress import progress
from toolnoise.provenance import repository
from toolnoise.provenance.archive import TRAVELS
from toolnoise.provenance.repository import Counted
from toolnoise.provenance.statements import CODE, INPUT, LOCK, PACKAGE, TIME, UNKNOWN, Statement, output_of, path_for
from toolnoise.provenance.tree import CHECKPOINTS, Results, Tree

# The largest difference between the clocks of machines that share work.
CLOCKS = timedelta(minutes=2)
# Errors that can be raised by comparing values from untrusted files.
ODD = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError)
ODD = (*ODD, MemoryError, OSError, csv.Error)
SHOWN = 3

# A rule's findings: an artifact, by its name in statements, and what is wrong with it.
Found = Iterator[tuple[str, str]]


class Rule(NamedTuple):
    """A rule: its name, its promise in a sentence, and a check that yields findings."""

    name: str
    says: str
    check: Callable[[Tree], Found]


class Finding(NamedTuple):
    """A finding: its rule, the artifact by its name in statements, what is wrong with it, and the rule's promise."""

    rule: str
    artifact: str
    what: str
    promise: str


class Audit(NamedTuple):
    """The result of an audit. Notes are no faults: they report impossible checks and facts worth knowing."""

    studies: tuple[Tree, ...]
    rules: tuple[tuple[str, str], ...]  # by name and promise
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]

    @property
    def stale(self) -> dict[str, list[str]]:
        """Maps the first output of each stale result to the code that has changed since."""
        return {output_of(one.named(path)): what for one in self.studies for path, what in one.stale.items()}

    def is_clean(self, strict: bool) -> bool:
        """Whether there are no findings and, if `strict`, no stale results."""
        return not self.findings and not (strict and self.stale)


def rule(check: Callable[..., Found], name: str = "", *given: Any) -> Rule:
    """A rule from a check, whose docstring is the promise; `given` are the check's arguments before the study."""
    return Rule(name or check.__name__, (check.__doc__ or "").strip(), functools.partial(check, *given))


def each(check: Callable[..., Found]) -> Callable[..., Found]:
    """Apply a check to every statement, its last argument; an error becomes a finding about the first output."""

    @functools.wraps(check)
    def over_all(*given: Any) -> Found:
        for statement in given[-1].statements:
            yield from guarded(statement.name, lambda of=statement: check(*given, of))

    return over_all


def guarded(name: str, check: Callable[[], Iterable[tuple[str, str]]]) -> Found:
    """The findings of a check; an error in the check becomes a finding about `name`."""
    try:
        yield from check()
    except BadInput as error:
        yield name, str(error).removeprefix(f"{name}: ")
    except ODD as error:
        yield name, f"cannot be checked ({type(error).__name__}: {error})"[:300]


# Files
# -----


@each
def changed(tree: Tree, statement: Statement) -> Found:
    """Every file has the size and the SHA-256 in its statement."""
    for output in statement.outputs:
        path = tree.inside(output.name)
        found, digest = tree.files.get(path, output.size), tree.hashed.get(path, output.sha256)
        if found != output.size:
            yield output.name, f"has {found} bytes; stated: {output.size}"
        elif digest != output.sha256:
            yield output.name, f"its SHA-256 is {digest}; stated: {output.sha256}"


@each
def missing(tree: Tree, statement: Statement) -> Found:
    """Every file that a statement names as its output is there."""
    for output in statement.outputs:
        if tree.inside(output.name) is None:
            yield output.name, f"lies outside the study {tree.name!r}, whose statement names it"
        elif tree.lacks(output.name):
            yield output.name, "is stated but missing"


def unknown(tree: Tree) -> Found:
    """Every file is an output of one statement, which lies at its place and can be read; nothing else is there."""
    for path, what in (*tree.unreadable.items(), *tree.strange.items()):
        yield tree.named(path), str(what)
    for path in tree.files:
        if any(part.startswith(".") for part in path.split("/")):
            yield tree.named(path), "is hidden: left by an interrupted job, or put there"
    for path in tree.artifacts:
        if len(makers := tree.producers.get(path, ())) != 1:
            several = f"is an output of {len(makers)} statements: {', '.join(maker.path for maker in makers[:SHOWN])}"
            yield tree.named(path), several if makers else "has no statement"
    for statement in tree.statements:
        if (lies := tree.named(statement.path)) != (place := path_for(statement.name).as_posix()):
            yield statement.name, f"its statement lies at {lies}; expected: {place}"


# Chains
# ------


@each
def inputs(tree: Tree, statement: Statement) -> Found:
    """Every input is the file that its job made; a chain ends in files from outside, packages and the repository."""
    for needed in statement.dependencies:
        if needed.kind != INPUT and tree.inside(needed.name) is not None:
            yield statement.name, f"calls {needed.name}, a result, a {needed.kind}"
    named = {file.name for file in (*statement.outputs, *statement.dependencies)}
    for word in statement.command:
        path = tree.inside(word)
        if path and word not in named and not path.startswith(f"{CHECKPOINTS}/"):
            yield statement.name, f"does not state {word}, which its command names"
    for needed in statement.inputs:
        maker = tree.producer(needed.name)
        if maker is None:
            yield statement.name, f"no statement made its input {needed.name}"
            continue
        made = next(output for output in maker.outputs if output.name == needed.name)
        if (made.sha256, made.size) != (needed.sha256, needed.size):
            yield needed.name, f"differs from the file that {statement.name} was made from ({needed.sha256})"
        # An input made again since, with the same bits, has a younger statement: `order` checks its times.
        is_older = maker.finished <= statement.started and not _may_be_from_elsewhere(statement, maker)
        if is_older and needed.statement not in ("", maker.sha256):
            yield statement.name, f"names another statement of {needed.name} than the one that is here"


def _may_be_from_elsewhere(statement: Statement, maker: Statement) -> bool:
    """Whether a result may come from another site, with that site's copy of the input: each site prepares its data."""
    return statement.verb in TRAVELS and maker.verb not in TRAVELS


@each
def order(tree: Tree, statement: Statement) -> Found:
    """Every job began after its inputs and its commit were made, and ended after it began, not in the future."""
    host = statement.observed.get("host", "")
    on = f" by the clock of {host}" if host else ""
    name, began, ended = statement.name, f"began at {statement.started:{TIME}}", f"ended at {statement.finished:{TIME}}"
    if statement.finished < statement.started:
        yield name, f"{ended}, before it {began}{on}"
    if statement.finished > datetime.now(UTC).replace(tzinfo=None) + CLOCKS:
        yield name, f"{ended}, in the future{on}"
    for needed in statement.inputs:
        maker = tree.producer(needed.name)
        is_its = maker and (needed.statement == maker.sha256 or not _may_be_from_elsewhere(statement, maker))
        if is_its and maker.finished > statement.started + CLOCKS:
            yield name, f"{began}{on}, before its input {needed.name} was made"
    when = repository.time_of_commit(statement.commit or "")
    if when and statement.started < when - CLOCKS:
        yield name, f"{began}{on}, before its commit was made"


def circles(tree: Tree) -> Found:
    """No file is made from itself, directly or through others."""
    made_from = {}
    for statement in tree.statements:
        makers = (tree.producer(needed.name) for needed in statement.inputs)
        made_from[statement.name] = {maker.name for maker in makers if maker}
    try:
        graphlib.TopologicalSorter(made_from).prepare()
    except graphlib.CycleError as error:
        yield from ((name, "is made from itself, or from a file that is") for name in error.args[1])


# Code, commit and environment
# ----------------------------


@each
def code(tree: Tree, statement: Statement) -> Found:
    """Every module, resource and lock file behind a result is here or in its commit, and so are files of packages."""
    for file, standing in repository.standings_of_files(statement, tree.root):
        if standing == UNKNOWN:
            yield statement.name, f"was made by a {file.name} that is neither here nor in its commit"
        elif standing == repository.DENIED:
            yield statement.name, f"was made by a {file.name} that differs from its commit, but states no difference"
    if not statement.made_of(CODE):
        yield statement.name, "was made by no code"
    for file in statement.made_of(PACKAGE):
        if repository.is_other_in_package(file):
            yield statement.name, f"comes from a {file.name} that differs from the one in {file.uri}"


@each
def commit(_tree: Tree, statement: Statement) -> Found:
    """Every result states a commit that is in this repository, and whether the code was as there."""
    name, here = statement.name, repository.head_commit()
    if statement.changes == UNKNOWN:
        yield name, f"was made by commit {statement.commit or UNKNOWN} with unknown changes"
    elif here is None:
        return
    elif here.why:
        yield name, f"cannot be checked, because git does not answer here ({here.why})"
    elif statement.commit is None:
        yield name, "states no commit"
    elif repository.time_of_commit(statement.commit) is None:
        yield name, f"was made by commit {statement.commit}, which is not in this repository"
    elif statement.changes is not None and not re.fullmatch(r"[0-9a-f]{64}", statement.changes):
        yield name, "states a difference from its commit that is not a digest"


@each
def lock(_tree: Tree, statement: Statement) -> Found:
    """Every job that states a lock file ran with the versions that it pins."""
    locks = statement.made_of(LOCK)
    if len(locks) > 1 or any(one.name not in repository.LOCKS for one in locks):
        yield statement.name, f"was made in the environment of {', '.join(one.name for one in locks)}"
        return
    for needed in locks:
        for wrong in repository.unpinned_packages(statement, needed):
            yield statement.name, f"was made with {wrong}"


# The root
# --------


def root(tree: Tree) -> Found:
    """Every statement has the digest that the root, the statement of the page, has for it, and none is missing."""
    top, later = tree.top, []
    if top is None:
        return
    named = dict(top.chain or {})
    used = {needed.name for statement in tree.statements for needed in statement.inputs}
    for name, statement in tree.by_name.items():
        digest = named.pop(name, None)
        if statement is top or digest == statement.sha256:
            continue
        # A job that the page does not wait for (a report, a measured speed) may run later: nothing names it.
        # Both times must be later: if only one is, a statement under the root was changed.
        is_later = digest is None or top.finished < statement.started <= statement.finished
        if is_later and not any(output.name in used for output in statement.outputs):
            later.append(statement.name)
        else:
            what = f"its statement has the SHA-256 {statement.sha256}; the root names {digest or 'no such statement'}"
            yield statement.name, what
    for name in (name for name in named if tree.inside(name) not in tree.unreadable):
        if output_of(name) in used:
            yield name, "is named by the root, and is missing"
        else:
            later.append(name)
    if later:
        some = f"{', '.join(later[:SHOWN])}{' and more' * (len(later) > SHOWN)}"
        what = f"{len(later)} statements are not as the root names them, or gone, and nothing rests on them: {some}"
        tree.notes.append(what)


# In reading order: problems with files explain most of the later findings.
RULES = (
    *map(rule, (changed, missing, unknown, inputs, order)),
    rule(circles, "order"),
    *map(rule, (code, commit, lock, root)),
)


# Examining
# ---------


def examine(
    results: Results,
    of_study: Callable[[Tree], Sequence[Rule]] = lambda _tree: (),
    counted: Counted = lambda _statement: None,
) -> Audit:
    """Audit loaded results by the rules above, and by the rules that `of_study` returns for each study.

    `counted` returns the digest of the present code that affects a job's outputs.
    """
    stray = "lies beside the studies and belongs to none"
    findings = [Finding("unknown", name, stray, rule(unknown).says) for name in results.strays]
    # Several rules may have one name.
    rules, notes = dict.fromkeys((one.name, one.says) for one in RULES), []
    for tree in results.trees:
        tree.hashed.update(digests(tree))
        for statement in tree.statements:
            # If this fails for a statement, the rules report what is wrong with the statement.
            with contextlib.suppress(BadInput, *ODD):
                if changes := repository.changed_since(statement, tree.root, counted):
                    tree.stale[statement.path] = changes
        for one in (*RULES, *of_study(tree)):
            rules[one.name, one.says] = None
            problems = guarded(tree.named("study.json"), lambda tree=tree, one=one: one.check(tree))
            # Each finding is reported once, even if the rule finds it more than once.
            findings += [Finding(one.name, *problem, one.says) for problem in dict.fromkeys(problems)]
        notes += [f"{tree.name}: {note}" for note in _notes(tree)]
    return Audit(results.trees, tuple(rules), tuple(findings), tuple(notes))


def _notes(tree: Tree) -> Iterator[str]:
    yield from tree.notes
    if tree.left_out:
        yield f"{len(tree.left_out)} files were left out of this archive: their digests are stated, they were not read"
    if unlocked := sum(not statement.made_of(LOCK) for statement in tree.statements):
        yield f"{unlocked} statements name no lock file: the versions of a few packages are known, the others are not"
    if repository.head_commit() is None:
        yield "this program is not in a repository of its own: commits and changed code were not checked"
    if any(statement.is_signed for statement in tree.statements):
        yield "there are signatures: `--require-signature KEY` checks the root's"


def digests(tree: Tree) -> dict[str, str]:
    """The digest of every file. The largest are read first, so that no thread ends with a long one.

    A file whose size differs from its statement is not read: it is known to be changed. Threads are fast enough,
    because hashlib releases the interpreter's lock.
    """
    outputs = {(tree.inside(one.name), one.size) for made in tree.statements for one in made.outputs}
    files = {path: size for path, size in tree.artifacts.items() if (path, size) in outputs}
    paths = sorted(files, key=lambda path: files[path], reverse=True)
    with progress("reading", sum(files.values()), "B") as bar, ThreadPoolExecutor() as pool:

        def digest(path: str) -> str:
            try:
                with open_plain(tree.root / path) as file:
                    return hashlib.file_digest(file, "sha256").hexdigest()
            except OSError as error:
                return f"not known ({fault_name(error)})"
            finally:
                bar.update(files[path])

        return tree.left_out | dict(zip(paths, pool.map(digest, paths), strict=True))


# Showing
# -------


def as_json(audit: Audit, strict: bool) -> dict[str, Any]:
    """The audit as plain values."""
    return {
        "clean": audit.is_clean(strict),
        "studies": [
            {
                "study": tree.name,
                "folder": as_given(tree.root),
                "files": len(tree.files),
                "bytes": sum(tree.files.values()),
                "statements": len(tree.statements),
                "root": _root(tree),
            }
            for tree in audit.studies
        ],
        "findings": [{"rule": one.rule, "artifact": one.artifact, "what": one.what} for one in audit.findings],
        "stale": [{"artifact": name, "changed": changed} for name, changed in audit.stale.items()],
        "notes": list(audit.notes),
    }


def as_text(audit: Audit, strict: bool) -> str:
    """The audit as text: one line if there are no findings and no notes."""
    lines = []
    for name, promise in audit.rules:
        if broken := [finding for finding in audit.findings if (finding.rule, finding.promise) == (name, promise)]:
            lines += [
                f"{name}: {make_printable(finding.artifact)}: {make_printable(finding.what)}"
                for finding in broken[:SHOWN]
            ]
            lines += [f"{name}: and {len(broken) - SHOWN} more"] * (len(broken) > SHOWN)
            lines += [f"  promised: {promise}", ""]
    if audit.findings:
        lines += ["`toolnoise audit --repair` has Snakemake make damaged and missing files again"]
    lines += [f"note: {make_printable(note)}" for note in audit.notes]
    return "\n".join([*lines, _verdict(audit, strict)])


def _verdict(audit: Audit, strict: bool) -> str:
    """The result of the audit in one line."""
    sizes = [size for tree in audit.studies for size in tree.files.values()]
    roots = []
    for one in audit.studies:
        unrooted = "all that it rests on" if one.is_part else "no root: completeness unknown"
        roots.append(f"root {_root(one)}" if _root(one) else unrooted)
    stale = [f"{len(audit.stale)} results are stale: other code made them"] if audit.stale else []
    about = ", ".join([f"{len(sizes)} files ({size_text(sum(sizes))})", *roots, *stale])
    found = f", {number_of(len(audit.findings), 'finding')}" if audit.findings else ""
    return f"{'clean' if audit.is_clean(strict) else 'not clean'}{found}: {about}"


def _root(tree: Tree) -> str | None:
    top = tree.top
    return top.sha256 if top and not tree.is_part else None


# Repairing
# ---------

# The rules whose findings name files that can be made again.
REPAIRED = ("changed", "missing", "unknown", "complete", "root", "numbers")


def damaged(audit: Audit) -> dict[Path, list[str]]:
    """For each study the files to make again: damaged, missing, without a statement, or with a damaged one.

    One file of each job is enough: its last output.
    """
    found: dict[Path, dict[str, None]] = {}
    for tree in audit.studies:
        for finding in audit.findings:
            artifact, path = finding.artifact, tree.inside(finding.artifact)
            is_scratch = path is None or path.startswith((f"{CHECKPOINTS}/", ".")) or "/." in path
            if finding.rule in REPAIRED and not is_scratch:
                statement = tree.by_name.get(artifact) or tree.producer(artifact)
                name = statement.outputs[-1].name if statement else artifact
                found.setdefault(tree.root, {})[name] = None
    return {root: list(names) for root, names in found.items()}
