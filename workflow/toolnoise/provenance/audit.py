"""The audit of a results folder: every file is hashed, every rule is asked, and each finding says what is wrong.

A finding means that something is wrong or cannot be known. A result is stale if other code made it than the present one
and the repository knows that code: it was right at its time, and the next run makes it again. Rules of any workflow are
here; what knows what a run is, is passed in.
"""

import contextlib
import csv
import functools
import graphlib
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base.errors import BadInput, as_given, fault_name
from toolnoise.base.files import open_plain
from toolnoise.base.printing import counted as number_of
from toolnoise.base.printing import escaped, size
from toolnoise.base.progress import progress
from toolnoise.provenance import repository
from toolnoise.provenance.archive import TRAVELS
from toolnoise.provenance.repository import Counted
from toolnoise.provenance.statements import CODE, INPUT, LOCK, PACKAGE, TIME, UNKNOWN, output_of, path_for
from toolnoise.provenance.tree import CHECKPOINTS, Results, Stated, Tree

# The largest difference between the clocks of machines that share work, unless another is given.
CLOCKS = timedelta(minutes=2)
# Errors that comparing what a stranger may have written can raise.
ODD = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError)
ODD = (*ODD, MemoryError, OSError, csv.Error)
BLOCK = 1 << 18
SHOWN = 3

# A rule's findings: an artifact, by its name in statements, and what is wrong with it.
Found = Iterator[tuple[str, str]]


@dataclass
class Evidence:
    """What rules are asked about: a study's results, the digests of its files, and the time in UTC.

    Clocks of machines may differ by `skew`. `stale` has the results that other code made, by the paths of their
    statements, each with what has changed of it. Of a part, what a file rests on, it is not asked whether all is there.
    Rules add `notes` of what they could not check.
    """

    tree: Tree
    hashed: dict[str, str]
    now: datetime
    skew: timedelta = CLOCKS
    is_part: bool = False
    stale: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


class Rule(NamedTuple):
    """A rule: its name, its promise in a sentence, and a check that yields findings."""

    name: str
    says: str
    check: Callable[[Evidence], Found]


class Finding(NamedTuple):
    """A finding: its rule, the artifact by its name in statements, and what is wrong with it."""

    rule: str
    artifact: str
    what: str


class Audit(NamedTuple):
    """The result of an audit; notes are what could not be checked here, or is worth knowing, and no fault."""

    evidence: tuple[Evidence, ...]
    rules: tuple[Rule, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]

    @property
    def stale(self) -> dict[str, list[str]]:
        """The first outputs of stale results, each with what has changed since."""
        return {output_of(one.tree.named(path)): what for one in self.evidence for path, what in one.stale.items()}

    def is_clean(self, strict: bool) -> bool:
        """Whether there are no findings and, if `strict`, no stale results."""
        return not self.findings and not (strict and self.stale)


def rule(check: Callable[..., Found], name: str = "", *given: Any) -> Rule:
    """The rule with the name of its check, whose docstring is the promise; the check is given these before evidence."""
    return Rule(name or check.__name__, (check.__doc__ or "").strip(), functools.partial(check, *given))


def each(check: Callable[..., Found]) -> Callable[..., Found]:
    """A check of every statement, its last argument; if it fails, that is a finding about the first output."""

    @functools.wraps(check)
    def over_all(*given: Any) -> Found:
        for stated in given[-1].tree.statements:
            yield from guarded(stated.statement.name, lambda of=stated: check(*given, of))

    return over_all


def guarded(name: str, check: Callable[[], Iterable[tuple[str, str]]]) -> Found:
    """The findings of a check; an error in the check becomes a finding about `name`."""
    try:
        yield from check()
    except BadInput as error:
        yield name, str(error)
    except ODD as error:
        yield name, f"cannot be checked ({type(error).__name__}: {error})"[:300]


# Files
# -----


@each
def changed(evidence: Evidence, stated: Stated) -> Found:
    """Every file has the size and the SHA-256 in its statement."""
    for output in stated.statement.outputs:
        path = evidence.tree.inside(output.name)
        found, digest = evidence.tree.files.get(path, output.size), evidence.hashed.get(path, output.sha256)
        if found != output.size:
            yield output.name, f"has {found} bytes; stated: {output.size}"
        elif digest != output.sha256:
            yield output.name, f"its SHA-256 is {digest}; stated: {output.sha256}"


@each
def missing(evidence: Evidence, stated: Stated) -> Found:
    """Every file that a statement names as its output is there."""
    for output in stated.statement.outputs:
        if evidence.tree.inside(output.name) is None:
            yield output.name, f"lies outside the study {evidence.tree.name!r}, whose statement names it"
        elif evidence.tree.lacks(output.name):
            yield output.name, "is stated but missing"


def unknown(evidence: Evidence) -> Found:
    """Every file is an output of one statement, which lies at its place and can be read; nothing else is there."""
    tree = evidence.tree
    for path, what in (*tree.unreadable.items(), *tree.strange.items()):
        yield tree.named(path), str(what)
    for path in tree.files:
        if any(part.startswith(".") for part in path.split("/")):
            yield tree.named(path), "is hidden: left by an interrupted job, or put there"
    for path in tree.artifacts:
        if len(makers := tree.producers.get(path, ())) != 1:
            several = f"is an output of {len(makers)} statements: {', '.join(maker.path for maker in makers[:SHOWN])}"
            yield tree.named(path), several if makers else "has no statement"
    for stated in tree.statements:
        if (lies := tree.named(stated.path)) != (place := path_for(stated.statement.name).as_posix()):
            yield stated.statement.name, f"its statement lies at {lies}; expected: {place}"


# Chains
# ------


@each
def inputs(evidence: Evidence, stated: Stated) -> Found:
    """Every input is the file that its job made; a chain ends in files from outside, packages and the repository."""
    statement, tree = stated.statement, evidence.tree
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
        made = next(output for output in maker.statement.outputs if output.name == needed.name)
        if (made.sha256, made.size) != (needed.sha256, needed.size):
            yield needed.name, f"differs from the file that {statement.name} was made from ({needed.sha256})"
        # One that was made again since, with the same bits, is younger: a matter of times.
        is_older = maker.statement.finished <= statement.started and not _may_be_from_elsewhere(stated, maker)
        if is_older and needed.statement not in ("", maker.sha256):
            yield statement.name, f"names another statement of {needed.name} than the one that is here"


def _may_be_from_elsewhere(stated: Stated, maker: Stated) -> bool:
    """Whether a result may come from another site, where its input was made, too: data are prepared at each."""
    return stated.statement.verb in TRAVELS and maker.statement.verb not in TRAVELS


@each
def order(evidence: Evidence, stated: Stated) -> Found:
    """Every job began after its inputs and its commit were made, and ended after it began, not in the future."""
    statement, skew, host = stated.statement, evidence.skew, stated.statement.observed.get("host", "")
    on = f" by the clock of {host}" if host else ""
    name, began, ended = statement.name, f"began at {statement.started:{TIME}}", f"ended at {statement.finished:{TIME}}"
    if statement.finished < statement.started:
        yield name, f"{ended}, before it {began}{on}"
    if statement.finished > evidence.now + skew:
        yield name, f"{ended}, in the future{on}"
    for needed in statement.inputs:
        maker = evidence.tree.producer(needed.name)
        is_its = maker and (needed.statement == maker.sha256 or not _may_be_from_elsewhere(stated, maker))
        if is_its and maker.statement.finished > statement.started + skew:
            yield name, f"{began}{on}, before its input {needed.name} was made"
    when = repository.committed(statement.commit or "")
    if when and statement.started < when - skew:
        yield name, f"{began}{on}, before its commit was made"


def circles(evidence: Evidence) -> Found:
    """No file is made from itself, directly or through others."""
    made_from = {}
    for stated in evidence.tree.statements:
        makers = (evidence.tree.producer(needed.name) for needed in stated.statement.inputs)
        made_from[stated.statement.name] = {maker.statement.name for maker in makers if maker}
    try:
        graphlib.TopologicalSorter(made_from).prepare()
    except graphlib.CycleError as error:
        yield from ((name, "is made from itself, or from a file that is") for name in error.args[1])


# Code, commit and environment
# ----------------------------


@each
def code(evidence: Evidence, stated: Stated) -> Found:
    """Every module, resource and lock file behind a result is here or in its commit, and so are files of packages."""
    statement = stated.statement
    for file, standing in repository.standings(statement, evidence.tree.root):
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
def commit(_evidence: Evidence, stated: Stated) -> Found:
    """Every result states a commit that is in this repository, and whether the code was as there."""
    statement, name, here = stated.statement, stated.statement.name, repository.commit()
    if statement.changes == UNKNOWN:
        yield name, f"was made by commit {statement.commit or UNKNOWN} with unknown changes"
    elif here is None:
        return
    elif here.why:
        yield name, f"cannot be checked, because git does not answer here ({here.why})"
    elif statement.commit is None:
        yield name, "states no commit"
    elif repository.committed(statement.commit) is None:
        yield name, f"was made by commit {statement.commit}, which is not in this repository"
    elif statement.changes is not None and not re.fullmatch(r"[0-9a-f]{64}", statement.changes):
        yield name, "states a difference from its commit that is not a digest"


@each
def lock(_evidence: Evidence, stated: Stated) -> Found:
    """Every job that states a lock file ran with the versions that it pins."""
    locks = stated.statement.made_of(LOCK)
    if len(locks) > 1 or any(one.name not in repository.LOCKS for one in locks):
        yield stated.statement.name, f"was made in the environment of {', '.join(one.name for one in locks)}"
        return
    for needed in locks:
        for wrong in repository.unpinned(stated.statement, needed):
            yield stated.statement.name, f"was made with {wrong}"


# The root
# --------


def root(evidence: Evidence) -> Found:
    """Every statement has the digest that the root, the statement of the page, has for it, and none is missing."""
    yield from ((name, what) for name, what, is_ordinary in _not_under_root(evidence.tree) if not is_ordinary)


def _not_under_root(tree: Tree) -> Iterator[tuple[str, str, bool]]:
    """Statements that are not as the root names them, with what differs, and whether that is ordinary.

    A job that the page does not wait for (a report, a measured speed) may be performed later: nothing names it.
    """
    top = tree.top
    if top is None:
        return
    named = dict(top.statement.chain or {})
    used = {needed.name for stated in tree.statements for needed in stated.statement.inputs}
    for stated in tree.statements:
        digest = named.pop(tree.named(stated.path), None)
        if stated is top or digest == stated.sha256:
            continue
        what = f"its statement has the SHA-256 {stated.sha256}; the root names {digest or 'no such statement'}"
        # Both times: a change of one alone is a change of a statement that was under the root.
        is_later = digest is None or top.statement.finished < stated.statement.started <= stated.statement.finished
        is_used = any(output.name in used for output in stated.statement.outputs)
        yield stated.statement.name, what, is_later and not is_used
    for name in named:
        if tree.inside(name) not in tree.unreadable:
            yield name, "is named by the root, and is missing", output_of(name) not in used


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
    of_study: Callable[[Evidence], Sequence[Rule]] = lambda _evidence: (),
    counted: Counted = lambda _statement: None,
    skew: timedelta = CLOCKS,
    *,
    is_part: bool = False,
) -> Audit:
    """Audit loaded results by the rules above, and by those that `of_study` has for each study.

    `counted` knows what counts of the present code of a job.
    """
    findings = [Finding("unknown", name, "lies beside the studies and belongs to none") for name in results.strays]
    all_evidence, rules, notes = [], {one.name: one for one in RULES}, []
    for tree in results.trees:
        now = datetime.now(UTC).replace(tzinfo=None)
        evidence = Evidence(tree, hashed(tree), now, skew, is_part, _stale(tree, counted))
        all_evidence.append(evidence)
        for one in (*RULES, *of_study(evidence)):
            rules.setdefault(one.name, one)
            problems = guarded(tree.named("study.json"), lambda evidence=evidence, one=one: one.check(evidence))
            # Each finding is reported once, even if the rule finds it more than once.
            findings += [Finding(one.name, *problem) for problem in dict.fromkeys(problems)]
        notes += [f"{tree.name}: {note}" for note in _notes(evidence)]
    return Audit(tuple(all_evidence), tuple(rules.values()), tuple(findings), tuple(notes))


def _stale(tree: Tree, counted: Counted) -> dict[str, list[str]]:
    found = {}
    for stated in tree.statements:
        # Rules find what is wrong with a statement of which this cannot be known.
        with contextlib.suppress(BadInput, *ODD):
            found[stated.path] = repository.changed_since(stated.statement, tree.root, counted)
    return {path: what for path, what in found.items() if what}


def _notes(evidence: Evidence) -> Iterator[str]:
    tree = evidence.tree
    yield from evidence.notes
    if tree.left_out:
        yield f"{len(tree.left_out)} files were left out of this archive: their digests are stated, they were not read"
    if unlocked := sum(not stated.statement.made_of(LOCK) for stated in tree.statements):
        yield f"{unlocked} statements name no lock file: the versions of a few packages are known, the others are not"
    if repository.commit() is None:
        yield "this program is not in a repository of its own: commits and changed code were not checked"
    if later := [name for name, _, is_ordinary in _not_under_root(tree) if is_ordinary]:
        some = f"{', '.join(later[:SHOWN])}{' and more' * (len(later) > SHOWN)}"
        yield f"{len(later)} statements are not as the root names them, or gone, and nothing rests on them: {some}"
    if any(stated.is_signed for stated in tree.statements):
        yield "there are signatures: `--require-signature KEY` checks the root's"


def hashed(tree: Tree) -> dict[str, str]:
    """The digest of every file; the largest first, so that no thread ends with a long one.

    A file that has another size than its statement says is not as stated: it is not read, however large it is.
    """
    outputs = {(tree.inside(one.name), one.size) for made in tree.statements for one in made.statement.outputs}
    files = {path: size for path, size in tree.artifacts.items() if (path, size) in outputs}
    paths = sorted(files, key=lambda path: files[path], reverse=True)
    with progress("reading", sum(files.values()), "B") as bar, ThreadPoolExecutor() as pool:
        digests = pool.map(lambda path: _digest(tree.root / path, bar.update), paths)
        return tree.left_out | dict(zip(paths, digests, strict=True))


def _digest(path: Path, done: Callable[[int], object]) -> str:
    """A file's digest. Threads are fast enough: hashlib computes without the interpreter's lock."""
    digest = hashlib.sha256()
    try:
        with open_plain(path) as file:
            while block := file.read(BLOCK):
                digest.update(block)
                done(len(block))
    except OSError as error:
        return f"not known ({fault_name(error)})"
    return digest.hexdigest()


# Showing
# -------


def as_json(audit: Audit, strict: bool) -> dict[str, Any]:
    """The audit as plain values."""
    return {
        "clean": audit.is_clean(strict),
        "studies": [
            {
                "study": evidence.tree.name,
                "folder": as_given(evidence.tree.root),
                "files": len(evidence.tree.files),
                "bytes": sum(evidence.tree.files.values()),
                "statements": len(evidence.tree.statements),
                "root": _root(evidence),
            }
            for evidence in audit.evidence
        ],
        "findings": [finding._asdict() for finding in audit.findings],
        "stale": [{"artifact": name, "changed": changed} for name, changed in audit.stale.items()],
        "notes": list(audit.notes),
    }


def as_text(audit: Audit, strict: bool) -> str:
    """The audit, for a person: one line if all is well."""
    lines = []
    for one in audit.rules:
        found = [finding for finding in audit.findings if finding.rule == one.name]
        lines += [f"{one.name}: {escaped(finding.artifact)}: {escaped(finding.what)}" for finding in found[:SHOWN]]
        lines += [f"{one.name}: and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
        lines += [f"  promised: {one.says}", ""] if found else []
    if audit.findings:
        lines += ["`toolnoise audit --repair` has Snakemake make damaged and missing files again"]
    lines += [f"note: {escaped(note)}" for note in audit.notes]
    return "\n".join([*lines, _verdict(audit, strict)])


def _verdict(audit: Audit, strict: bool) -> str:
    """In one line."""
    sizes = [size for evidence in audit.evidence for size in evidence.tree.files.values()]
    roots = []
    for one in audit.evidence:
        unrooted = "all that it rests on" if one.is_part else "no root: completeness unknown"
        roots.append(f"root {_root(one)}" if _root(one) else unrooted)
    stale = [f"{len(audit.stale)} results are stale: other code made them"] if audit.stale else []
    about = ", ".join([f"{len(sizes)} files ({size(sum(sizes))})", *roots, *stale])
    found = f", {number_of(len(audit.findings), 'finding')}" if audit.findings else ""
    return f"{'clean' if audit.is_clean(strict) else 'not clean'}{found}: {about}"


def _root(evidence: Evidence) -> str | None:
    top = evidence.tree.top
    return top.sha256 if top and not evidence.is_part else None


# Repairing
# ---------

# The rules whose findings name files that can be made again.
REPAIRED = ("changed", "missing", "unknown", "complete", "root", "numbers")


def damaged(audit: Audit) -> dict[Path, list[str]]:
    """For each study the files to make again: damaged, missing, without a statement, or with a damaged one.

    Of each job it is the last file, as one is enough.
    """
    found: dict[Path, dict[str, None]] = {}
    for evidence in audit.evidence:
        tree = evidence.tree
        of_statements = {tree.named(one.path): one for one in tree.statements}
        for finding in audit.findings:
            artifact, path = finding.artifact, tree.inside(finding.artifact)
            is_scratch = path is None or path.startswith((f"{CHECKPOINTS}/", ".")) or "/." in path
            if finding.rule in REPAIRED and not is_scratch:
                stated = of_statements.get(artifact) or tree.producer(artifact)
                name = stated.statement.outputs[-1].name if stated else artifact
                found.setdefault(tree.root, {})[name] = None
    return {root: list(names) for root, names in found.items()}
