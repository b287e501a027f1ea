"""The audit of a results folder: every file is hashed, every rule is asked, and each finding says what is wrong.

A finding means that something is wrong or cannot be known. A result is stale if other code made it than the present one
and the repository knows that code: it was right at its time, and the next run makes it again. Rules of any workflow are
here; what knows what a run is, is passed in.
"""

import functools
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base import faults
from toolnoise.base.errors import BadInput, as_given
from toolnoise.base.files import open_plain
from toolnoise.base.printing import escaped, size, span
from toolnoise.base.progress import progress
from toolnoise.provenance import history, origins, repository
from toolnoise.provenance.origins import Counted
from toolnoise.provenance.sharing import TRAVELS
from toolnoise.provenance.statements import (
    CODE,
    COMMIT,
    INPUT,
    LOCK,
    PACKAGE,
    RESOURCE,
    SOURCE,
    TIME,
    UNKNOWN,
    Statement,
    output_of,
    path_for,
)
from toolnoise.provenance.tree import CHECKPOINTS, Results, Stated, Tree

# The largest difference between the clocks of machines that share work, unless another is given.
CLOCKS = timedelta(minutes=2)
# Errors that comparing what a stranger may have written can raise.
ODD = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError, MemoryError, OSError)
BLOCK = 1 << 18
SHOWN = 3

# A rule's findings: an artifact, by its name in statements, and what is wrong with it.
Found = Iterator[tuple[str, str]]


class Hashed(NamedTuple):
    """A file's digest and size when it was read, or why it could not be read."""

    sha256: str = ""
    size: int = 0
    why: str = ""


@dataclass
class Evidence:
    """What rules are asked about: a study's results, its files as they were read, and the time in UTC.

    Clocks of machines may differ by `skew`. `counted` knows the present code of a job. Of a part, what a file rests on,
    it is not asked whether all is there. Rules add `notes` of what they could not check, and what they read is `kept`
    for other rules.
    """

    tree: Tree
    hashed: dict[str, Hashed]
    now: datetime
    skew: timedelta = CLOCKS
    counted: Counted = lambda _statement: None
    is_part: bool = False
    notes: list[str] = field(default_factory=list)
    kept: dict[str, Any] = field(default_factory=dict)
    stale: dict[str, list[str]] = field(init=False)

    def __post_init__(self) -> None:
        """Which results other code made, by the paths of their statements, each with what has changed of it."""
        of_statements = ((one, self._changed(one.statement)) for one in self.tree.statements)
        self.stale = {one.path: changed for one, changed in of_statements if changed}

    def _changed(self, statement: Statement) -> list[str]:
        try:
            return origins.changed_since(statement, self.tree.root, self.counted)
        except (BadInput, *ODD):
            # Rules find what is wrong with it.
            return []


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
        return {
            one.statement.name: evidence.stale[one.path]
            for evidence in self.evidence
            for one in evidence.tree.statements
            if one.path in evidence.stale
        }

    def is_clean(self, strict: bool) -> bool:
        """Whether there are no findings and, if `strict`, no stale results."""
        return not self.findings and not (strict and self.stale)


def rule(check: Callable[..., Found], name: str = "", *given: Any) -> Rule:
    """The rule with the name of its check, whose docstring is the promise; the check is given these before evidence."""
    return Rule(name or check.__name__, (check.__doc__ or "").strip(), functools.partial(check, *given))


def each(check: Callable[[Evidence, Stated], Found]) -> Callable[[Evidence], Found]:
    """A check of every statement; if it fails, that is a finding about the statement's first output."""

    @functools.wraps(check)
    def over_all(evidence: Evidence) -> Found:
        for stated in evidence.tree.statements:
            yield from guarded(stated.statement.name, lambda of=stated: check(evidence, of))

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
        if evidence.tree.left_out.get(path, output.sha256) != output.sha256:
            yield output.name, f"is left out with the SHA-256 {evidence.tree.left_out[path]}; stated: {output.sha256}"
        if path not in evidence.tree.files:
            continue
        found, hashed = evidence.tree.files[path], evidence.hashed.get(path, Hashed(why="it is not hashed"))
        if found != output.size:
            yield output.name, f"has {found} bytes; stated: {output.size}"
        elif hashed.why:
            yield output.name, f"cannot be read ({hashed.why})"
        elif hashed.sha256 != output.sha256:
            yield output.name, f"its SHA-256 is {hashed.sha256}; stated: {output.sha256}"
        elif hashed.size != found:
            yield output.name, "changed while the audit ran"


@each
def missing(evidence: Evidence, stated: Stated) -> Found:
    """Every file that a statement names as its output is there."""
    tree = evidence.tree
    for output in stated.statement.outputs:
        if tree.inside(output.name) is None:
            yield output.name, f"lies outside the study {tree.name!r}, whose statement names it"
        elif tree.lacks(output.name):
            yield output.name, "is stated but missing"


def unknown(evidence: Evidence) -> Found:
    """Every file is an output of one statement, which lies at its place and can be read; nothing else is there."""
    tree = evidence.tree
    for path, error in tree.unreadable.items():
        yield tree.named(path), str(error)
    for path, what in tree.strange.items():
        yield tree.named(path), f"is {what}" if not what.startswith(("gone", "cannot")) else what
    for path in tree.files:
        if any(part.startswith(".") for part in path.split("/")):
            yield tree.named(path), "is hidden: left by an interrupted job, or put there"
    for path in tree.artifacts:
        makers = tree.producers.get(path, ())
        if len(makers) != 1:
            several = ", ".join(maker.path for maker in makers[:SHOWN])
            what = f"is an output of {len(makers)} statements: {several}" if makers else "has no statement"
            yield tree.named(path), what
    for stated in tree.statements:
        lies, expected = tree.named(stated.path), path_for(stated.statement.name).as_posix()
        if lies != expected:
            yield stated.statement.name, f"its statement lies at {lies}; expected: {expected}"


# Chains
# ------


@each
def inputs(evidence: Evidence, stated: Stated) -> Found:
    """Every input is the file that its job made; a chain ends in files from outside, packages and the repository."""
    statement, tree = stated.statement, evidence.tree
    for needed in statement.dependencies:
        if needed.kind not in (INPUT, SOURCE, PACKAGE, CODE, RESOURCE, LOCK, COMMIT):
            yield statement.name, f"was made from {needed.name}, of unknown kind {needed.kind!r}"
        elif needed.kind != INPUT and tree.inside(needed.name) is not None:
            yield statement.name, f"calls {needed.name}, a result, a {needed.kind}"
    named = {file.name for file in (*statement.outputs, *statement.dependencies)}
    for word in statement.command:
        path = tree.inside(word)
        if path and word not in named and not path.startswith(f"{CHECKPOINTS}/"):
            yield statement.name, f"does not state {word}, which its command names"
    # An audit that an earlier version showed is older than the page that has been made again since.
    for needed in () if _is_former_root(evidence, stated) else statement.inputs:
        maker = tree.producer(needed.name)
        if maker is None:
            yield statement.name, f"no statement made its input {needed.name}"
            continue
        made = next(output for output in maker.statement.outputs if output.name == needed.name)
        if (made.sha256, made.size) != (needed.sha256, needed.size):
            yield needed.name, f"differs from the file that {statement.name} was made from ({needed.sha256})"
        elif needed.statement in ("", maker.sha256) or _is_from_another_site(statement, maker):
            continue
        # One that was made again since, with the same bits, is younger: a matter of times.
        elif maker.statement.finished <= statement.started:
            yield statement.name, f"names another statement of {needed.name} than the one that is here"


def _is_from_another_site(statement: Statement, maker: Stated) -> bool:
    """Whether a result may come from another site, where its input was made, too: data are prepared at each."""
    return statement.verb in TRAVELS and maker.statement.verb not in TRAVELS


def _is_former_root(evidence: Evidence, stated: Stated) -> bool:
    return stated.statement.chain is not None and stated is not evidence.tree.top and not evidence.is_part


@each
def order(evidence: Evidence, stated: Stated) -> Found:
    """Every job began after its inputs and its commit were made, and ended after it began, not in the future."""
    statement, tree, skew = stated.statement, evidence.tree, evidence.skew
    name, host = statement.name, str(statement.observed.get("host", ""))
    clock = f": the clock of {host} " if host else ""
    if statement.finished < statement.started:
        back = clock and f"{clock}was set back by {_span(statement.started - statement.finished)}"
        yield name, f"ended at {statement.finished:{TIME}}, before it began at {statement.started:{TIME}}{back}"
    if statement.finished > evidence.now + skew:
        ahead = clock and f"{clock}is {_span(statement.finished - evidence.now)} ahead"
        yield name, f"ended at {statement.finished:{TIME}}, in the future{ahead}"
    for needed in () if _is_former_root(evidence, stated) else statement.inputs:
        made = tree.producer(needed.name)
        if not made or made.statement.finished <= statement.started + skew:
            continue
        if needed.statement != made.sha256 and _is_from_another_site(statement, made):
            continue
        behind, other = made.statement.finished - statement.started, str(made.statement.observed.get("host", ""))
        why = clock and f"{clock}was set back by {_span(behind)}, or the input was made again"
        if host and other not in ("", host):
            why = f"{clock}is {_span(behind)} behind that of {other}"
        yield name, f"began at {statement.started:{TIME}}, before its input {needed.name} was made{why}"
    for needed in statement.made_of(COMMIT):
        when = history.committed(needed.sha256)
        if when and statement.started < when - skew:
            behind = clock and f"{clock}is {_span(when - statement.started)} behind"
            yield name, f"began at {statement.started:{TIME}}, before its commit was made{behind}"


def _span(time: timedelta) -> str:
    return span(time.total_seconds())


def circles(evidence: Evidence) -> Found:
    """No file is made from itself, directly or through others."""
    made_from = {}
    for stated in evidence.tree.statements:
        makers = (evidence.tree.producer(needed.name) for needed in stated.statement.inputs)
        made_from[stated.path] = {maker.path for maker in makers if maker}
    while ready := {path for path, needed in made_from.items() if not needed & made_from.keys()}:
        made_from = {path: needed for path, needed in made_from.items() if path not in ready}
    for stated in evidence.tree.statements:
        if stated.path in made_from:
            yield stated.statement.name, "is made from itself, or from a file that is"


# Code, commit and environment
# ----------------------------


@each
def code(evidence: Evidence, stated: Stated) -> Found:
    """Every module, resource and lock file behind a result is here or in its commit, and so are files of packages."""
    standings = origins.standings(stated.statement, evidence.tree.root)
    for file, standing in standings:
        if standing == UNKNOWN:
            yield stated.statement.name, f"was made by a {file.name} that is neither here nor in its commit"
        elif standing == origins.DENIED:
            what = f"was made by a {file.name} that differs from its commit, but states no difference"
            yield stated.statement.name, what
    if not any(file.kind == CODE for file, _ in standings):
        yield stated.statement.name, "was made by no code"
    for file in stated.statement.made_of(PACKAGE):
        if origins.is_other_in_package(file):
            yield stated.statement.name, f"comes from a {file.name} that differs from the one in {file.uri}"


@each
def commit(_evidence: Evidence, stated: Stated) -> Found:
    """Every result states a commit that is in this repository, and whether the code was as there."""
    statement, name, here = stated.statement, stated.statement.name, repository.commit()
    if statement.changes == UNKNOWN:
        what = f"commit {statement.commit}" if statement.commit else "an unknown commit"
        yield name, f"was made by {what} with unknown changes"
    elif here is None:
        return
    elif here.why:
        yield name, f"cannot be checked, because git does not answer here ({here.why})"
    elif statement.commit is None:
        yield name, "states no commit"
    elif history.committed(statement.commit) is None:
        yield name, f"was made by commit {statement.commit}, which is not in this repository"
    elif not isinstance(statement.changes, str | None) or not re.fullmatch(r"|[0-9a-f]{64}", statement.changes or ""):
        yield name, "states a difference from its commit that is not a digest"


@each
def lock(_evidence: Evidence, stated: Stated) -> Found:
    """Every job that states a lock file ran with the versions that it pins."""
    locks = stated.statement.made_of(LOCK)
    if len(locks) > 1 or any(one.name not in repository.LOCKS for one in locks):
        yield stated.statement.name, f"was made in the environment of {', '.join(one.name for one in locks)}"
        return
    for needed in locks:
        for wrong in origins.unpinned(stated.statement, needed):
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
    of_studies: Callable[[Tree], Sequence[Rule]] = lambda _tree: (),
    counted: Counted = lambda _statement: None,
    skew: timedelta = CLOCKS,
    now: datetime | None = None,
    *,
    is_part: bool = False,
) -> Audit:
    """Audit loaded results by the rules above, and by those that `of_studies` has for each study."""
    now = now or datetime.now(UTC).replace(tzinfo=None)
    findings = [Finding("unknown", name, "lies beside the studies and belongs to none") for name in results.strays]
    all_evidence, rules, notes = [], {one.name: one for one in RULES}, []
    for tree, hashed in zip(results.trees, _hashed(results.trees), strict=True):
        evidence = Evidence(tree, hashed, now, skew, counted, is_part)
        all_evidence.append(evidence)
        for one in (*RULES, *of_studies(tree)):
            rules.setdefault(one.name, one)
            problems = guarded(tree.named("study.json"), lambda evidence=evidence, one=one: one.check(evidence))
            # Each finding is reported once, even if the rule finds it more than once.
            findings += [Finding(one.name, *problem) for problem in dict.fromkeys(problems)]
        notes += [f"{tree.name}: {note}" for note in _notes(evidence)]
    return Audit(tuple(all_evidence), tuple(rules.values()), tuple(findings), tuple(notes))


def _notes(evidence: Evidence) -> Iterator[str]:
    tree = evidence.tree
    yield from evidence.notes
    if tree.left_out:
        yield f"{len(tree.left_out)} files were left out of this archive: their digests are stated, they were not read"
    unlocked = sum(not stated.statement.made_of(LOCK) for stated in tree.statements)
    if unlocked:
        yield f"{unlocked} statements name no lock file: the versions of a few packages are known, the others are not"
    if repository.commit() is None:
        yield "this program is not in a repository of its own: commits and changed code were not checked"
    later = [name for name, _, is_ordinary in _not_under_root(tree) if is_ordinary]
    if later:
        more = " and more" if len(later) > SHOWN else ""
        what = "are not as the root names them, or gone, and nothing rests on them"
        yield f"{len(later)} statements {what}: {', '.join(later[:SHOWN])}{more}"
    if unchecked := sum(stated.signatures > 0 for stated in tree.statements):
        yield f"{unchecked} statements are signed: `--require-signature KEY` checks the root's signature"


def _hashed(trees: Sequence[Tree]) -> list[dict[str, Hashed]]:
    """The digest of every file by study and path; the largest first, so that no thread ends with a long one.

    A file that has another size than its statement says is not as stated: it is not read, however large it is.
    """
    files = []
    for number, tree in enumerate(trees):
        outputs = (output for made in tree.statements for output in made.statement.outputs)
        stated = {(tree.inside(output.name), output.size) for output in outputs}
        files += [(size, number, path) for path, size in tree.artifacts.items() if (path, size) in stated]
    files.sort(reverse=True)
    hashed: list[dict[str, Hashed]] = [{} for _ in trees]
    with progress("reading", sum(size for size, *_ in files), "B") as bar, ThreadPoolExecutor(_cores()) as pool:
        digests = pool.map(lambda file: _digest(trees[file[1]].root / file[2], bar.update), files)
        for (_, number, path), digest in zip(files, digests, strict=True):
            hashed[number][path] = digest
    return hashed


def _digest(path: Path, done: Callable[[int], object]) -> Hashed:
    """A file's digest. Threads are fast enough: hashlib computes without the interpreter's lock."""
    digest, read = hashlib.sha256(), 0
    try:
        with open_plain(path) as file:
            while block := file.read(BLOCK):
                digest.update(block)
                read += len(block)
    except OSError as error:
        return Hashed(why=faults.called(error))
    finally:
        done(read)
    return Hashed(digest.hexdigest(), read)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# Showing
# -------


def as_json(audit: Audit, strict: bool) -> dict[str, Any]:
    """The audit as plain values."""
    return {
        "clean": audit.is_clean(strict),
        "verdict": verdict(audit, strict),
        "strict": strict,
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
        "rules": [
            {"rule": one.name, "says": one.says, "findings": sum(found.rule == one.name for found in audit.findings)}
            for one in audit.rules
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
        if len(found) > SHOWN:
            lines.append(f"{one.name}: and {len(found) - SHOWN} more")
        if found:
            lines += [f"  promised: {one.says}", ""]
    if audit.findings:
        lines += ["`toolnoise audit --repair` has Snakemake make damaged and missing files again"]
    lines += [f"note: {escaped(note)}" for note in audit.notes]
    return "\n".join([*lines, verdict(audit, strict)])


def verdict(audit: Audit, strict: bool) -> str:
    """In one line."""
    files = sum(len(evidence.tree.files) for evidence in audit.evidence)
    read = size(sum(sum(evidence.tree.files.values()) for evidence in audit.evidence))
    roots = [f"root {_root(one)}" if _root(one) else _without_root(one) for one in audit.evidence]
    stale = [f"{len(audit.stale)} results are stale: other code made them"] if audit.stale else []
    about = ", ".join([f"{files} files ({read})", *roots, *stale])
    if audit.findings:
        rules = len({finding.rule for finding in audit.findings})
        several = "s" * (len(audit.findings) > 1), "s" * (rules > 1)
        return f"not clean: {len(audit.findings)} finding{several[0]} under {rules} rule{several[1]}; {about}"
    return f"{'clean' if audit.is_clean(strict) else 'not clean'}: {about}"


def _root(evidence: Evidence) -> str | None:
    top = evidence.tree.top
    return top.sha256 if top and not evidence.is_part else None


def _without_root(evidence: Evidence) -> str:
    return "all that it rests on" if evidence.is_part else "no root: completeness unknown"


# Repairing
# ---------


def damaged(audit: Audit) -> dict[Path, list[str]]:
    """For each study the files to make again: damaged, missing, without a statement, or with a damaged one."""
    found: dict[Path, list[str]] = {}
    for evidence in audit.evidence:
        tree, names = evidence.tree, {}
        for finding in audit.findings:
            if finding.rule in ("changed", "missing", "unknown", "complete", "root", "numbers"):
                names |= dict.fromkeys(_files_of(tree, finding.artifact))
        if names:
            found[tree.root] = list(names)
    return found


def _files_of(tree: Tree, artifact: str) -> list[str]:
    """The last file of the job that makes an artifact or a statement."""
    path = tree.inside(artifact)
    if path is None or path.startswith((f"{CHECKPOINTS}/", ".")) or "/." in path:
        return []
    stated = next((one for one in tree.statements if tree.named(one.path) == artifact), None) or tree.producer(artifact)
    return [stated.statement.outputs[-1].name] if stated else [artifact]
