"""The audit of a results folder: every rule on every study, the findings, and the stale results.

A finding means that something is wrong or cannot be known. A result is stale if other code made it than the present
one and the repository knows that code. It was right at its time, and the next run makes it again. Stale results fail
an audit only on request (`strict`).
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from toolnoise.base import command_words
from toolnoise.base.errors import as_given
from toolnoise.base.printing import escaped, size
from toolnoise.base.progress import progress
from toolnoise.provenance import left_out
from toolnoise.provenance.audit.digests import Cache, Hashed, sha256_of_all
from toolnoise.provenance.audit.evidence import CLOCKS, Evidence, guarded
from toolnoise.provenance.audit.rules import ROOT_SIGNED, RULES, SIGNED, Rule, code_origins, root
from toolnoise.provenance.audit.rules.code_origins import Stale
from toolnoise.provenance.signing import AllowedSigners, Verdict
from toolnoise.provenance.tree import Results, Tree

# Files that belong to no study are reported under this rule.
STRAY = "nothing-else-is-there"
SHOWN = 3
UNSIGNED = "none"
LEFT = "files are left out of this copy: their digests were compared, their contents not"
UNSTATED = "the list of these files has no statement: nothing says for which root it was made"


class AuditFinding(NamedTuple):
    """A finding: its rule, the artifact by its name in statements, and what is wrong with it."""

    rule: str
    artifact: str
    what: str


class Coverage(NamedTuple):
    """The number of files, how many of them have a statement, and their bytes."""

    files: int
    stated: int
    bytes: int

    def __str__(self) -> str:
        """In per cent; 100 only if every file has a statement."""
        share = 1000 * self.stated // self.files if self.files else 1000
        text = f"{share // 10} %" if share in (0, 1000) else f"{share / 10:.1f} %"
        return f"{text} of {self.files} files ({size(self.bytes)}) have a statement"


class Audit(NamedTuple):
    """The result of an audit by these rules at `now` (UTC). `notes`: checks that were impossible here, not faults."""

    results: Results
    rules: tuple[Rule, ...]
    evidence: tuple[Evidence, ...]
    findings: tuple[AuditFinding, ...]
    stale: tuple[Stale, ...]
    notes: tuple[str, ...]
    now: datetime
    cached: int | None = None

    @property
    def signers(self) -> Counter[str]:
        """The number of statements that each allowed signer signed, if signatures are required."""
        return Counter(
            name for study in self.evidence for verdict in study.signatures.values() for name in verdict.principals
        )

    @property
    def coverage(self) -> Coverage:
        """The coverage of all studies together."""
        of = [_coverage(study) for study in self.results.trees]
        return Coverage(*(sum(numbers) for numbers in zip(*of, strict=True)))

    @property
    def signatures(self) -> str:
        """What is known about signatures: whether there are any, and whose they are if somebody asked for them."""
        count = sum(bool(stated.signatures) for tree in self.results.trees for stated in tree.all_stated)
        of = f"on {count} of {sum(len(tree.all_stated) for tree in self.results.trees)} statements"
        on_roots = [evidence.root_verdict for evidence in self.evidence if evidence.root_verdict]
        if on_roots or any(evidence.signatures for evidence in self.evidence):
            names = dict.fromkeys([*self.signers, *(name for verdict in on_roots for name in verdict.principals)])
            bad = any(finding.rule in (SIGNED.name, ROOT_SIGNED.name) for finding in self.findings)
            return f"not good, {of}: see the findings" if bad else f"good, by {', '.join(map(escaped, names))}"
        return f"present, not checked ({of})" if count else UNSIGNED

    @property
    def roots(self) -> list[str]:
        """For each study its root, or that it has none."""
        return [line for evidence in self.evidence for line in root.lines(evidence)]

    @property
    def unstated(self) -> list[str]:
        """The studies that are slim copies by a list without a statement."""
        return [study.name for study in self.results.trees if study.left_out and not study.list_stated]

    @property
    def slim(self) -> str:
        """For the verdict: that these are slim copies, if they are, and what was left out of them."""
        counts = Counter(left_out.kind(path) for study in self.results.trees for path in study.left_out)
        if not counts:
            return ""
        *most, last = [f"{name} ({counts[name]})" for name in dict.fromkeys(left_out.KINDS.values()) if counts[name]]
        how = ", by a list without a statement" if self.unstated else ""
        return f", as a slim copy: {' and '.join(filter(None, [', '.join(most), last]))} were left out{how}"

    def is_clean(self, strict: bool) -> bool:
        """Whether there are no findings and, if `strict`, no stale results and no unstated list of a slim copy."""
        return not self.findings and not (strict and (self.stale or self.unstated))

    def verdict(self, strict: bool) -> str:
        """In one line."""
        if self.findings:
            count, rules = len(self.findings), len({finding.rule for finding in self.findings})
            return f"not clean: {count} finding{'s' * (count > 1)} under {rules} rule{'s' * (rules > 1)}"
        stale = f"; {len(self.stale)} results are stale: other code made them" if self.stale else ""
        return f"{'clean' if self.is_clean(strict) else 'not clean'}{self.slim}{stale}"


def examine(
    results: Results,
    threads: int | None = None,
    now: datetime | None = None,
    rules: tuple[Rule, ...] = RULES,
    signers: AllowedSigners | None = None,
    key: AllowedSigners | None = None,
    cache: Cache | None = None,
    skew: timedelta = CLOCKS,
) -> Audit:
    """Audit loaded results; `threads` is the number of cores by default.

    `signers` may sign statements, the owner of `key` the root. Files whose digests are in a `cache` are not read.
    Clocks of machines may differ by `skew`.
    """
    now = now or datetime.now(UTC).replace(tzinfo=None)
    hashed = _hashed(results.trees, threads or cores(), cache)
    signed = [_signatures(study, signers) if signers else {} for study in results.trees]
    of_trees = zip(results.trees, hashed, signed, strict=True)
    evidence = tuple(
        Evidence(study, digests, now, verdicts, cache=cache, skew=skew) for study, digests, verdicts in of_trees
    )
    for study in evidence if key else ():
        if top := study.tree.top:
            study.root_verdict = key.check(study.tree.root / top.path, top.statement)
    findings = [AuditFinding(STRAY, name, "lies beside the studies and belongs to none") for name in results.strays]
    for study in evidence:
        for rule in rules:
            name = study.tree.named("study.json")
            # Each finding is reported once, even if the rule finds it more than once.
            problems = dict.fromkeys(guarded(name, lambda study=study, rule=rule: rule.check(study)))
            findings += [AuditFinding(rule.name, artifact, what) for artifact, what in problems]
    stale = tuple(result for study in evidence for result in code_origins.stale(study))
    slim = [f"{study.name}: {len(study.left_out)} {LEFT}" for study in results.trees if study.left_out]
    open_values = [f"{study.name}: {line}" for study in results.trees for line in _unrecorded(study)]
    cached = cache.used if cache else None
    audit = Audit(results, rules, evidence, tuple(findings), stale, (), now, cached)
    unstated = [f"{name}: {UNSTATED}" for name in audit.unstated]
    return audit._replace(notes=(*slim, *unstated, *open_values, *code_origins.notes()))


def as_json(audit: Audit, strict: bool) -> dict[str, Any]:
    """The audit as plain values."""
    return {
        "results": as_given(audit.results.root),
        "clean": audit.is_clean(strict),
        "verdict": audit.verdict(strict),
        "strict": strict,
        "coverage": audit.coverage._asdict(),
        "studies": [
            {
                "study": study.name,
                "folder": as_given(study.root),
                "statements": len(study.statements),
                "coverage": _coverage(study)._asdict(),
            }
            for study in audit.results.trees
        ],
        "rules": [{"rule": rule.name, "says": rule.says, "findings": _count(audit, rule)} for rule in audit.rules],
        "findings": [finding._asdict() for finding in audit.findings],
        "signatures": audit.signatures,
        "signers": dict(audit.signers),
        "roots": {study.tree.name: top.sha256 if (top := study.tree.top) else None for study in audit.evidence},
        "stale": [result._asdict() for result in audit.stale],
        "notes": list(audit.notes),
        "from_cache": audit.cached,
    }


def as_text(audit: Audit, strict: bool) -> str:
    """The audit, for a person: one line if all is well."""
    lines = []
    for rule in audit.rules:
        of_rule = [finding for finding in audit.findings if finding.rule == rule.name]
        lines += [f"{rule.name}: {escaped(finding.artifact)}: {escaped(finding.what)}" for finding in of_rule[:SHOWN]]
        if len(of_rule) > SHOWN:
            lines.append(f"{rule.name}: and {len(of_rule) - SHOWN} more")
        if of_rule:
            lines += [f"  promised: {rule.says}", ""]
    lines += [f"note: {note}" for note in audit.notes]
    lines += _stale_lines(audit.stale)
    lines += [f"signed by {escaped(name)}: {count} statements" for name, count in audit.signers.items()]
    if not audit.is_clean(strict) or len(audit.evidence) > 1 or audit.slim:
        lines += map(escaped, audit.roots)
    if audit.signatures != UNSIGNED:
        lines.append(f"signatures: {audit.signatures}")
    if audit.cached is not None:
        lines.append(f"{audit.cached} of {audit.coverage.files} digests are from the cache: these files were not read")
    if audit.findings:
        lines.append("`toolnoise audit --repair` has Snakemake make damaged and missing files again")
    lines.append(f"{audit.verdict(strict)}: {audit.coverage.files} files, {', '.join(_roots(audit))}")
    return "\n".join(lines)


def _roots(audit: Audit) -> Iterator[str]:
    for study in audit.evidence:
        top = study.tree.top
        yield f"root {top.sha256}" if top else "no root: whether all is there is unknown"


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _stale_lines(stale: Sequence[Stale]) -> list[str]:
    if not stale:
        return []
    changed = Counter(name for result in stale for name in result.changed)
    lines = [f"stale: {escaped(result.artifact)}" for result in stale[:SHOWN]]
    lines += [f"stale: and {len(stale) - SHOWN} more"] if len(stale) > SHOWN else []
    listed = ", ".join(f"{escaped(name)} ({count})" for name, count in changed.most_common(10))
    return [*lines, f"changed since: {listed}{' and more' if len(changed) > 10 else ''}", ""]


def _coverage(of: Tree) -> Coverage:
    artifacts = of.artifacts
    return Coverage(len(artifacts), sum(path in of.producers for path in artifacts), sum(artifacts.values()))


def _unrecorded(tree: Tree) -> list[str]:
    """That the commands of a study name variables of the environment, if they do."""
    models = tree.study.config["models"].values() if tree.study else ()
    texts = (model.get(key, "") for model in models for key in ("command", "deterministic"))
    named = dict.fromkeys(name for text in texts for name in command_words.variable_names(text))
    listed = ", ".join(f"{{{name}}}" for name in named)
    return [f"the values of {listed} are not recorded, so runs with other values have equal specs"] if named else []


def _count(audit: Audit, rule: Rule) -> int:
    return sum(finding.rule == rule.name for finding in audit.findings)


def _signatures(tree: Tree, signers: AllowedSigners) -> dict[str, Verdict]:
    verdicts = signers.check_all({tree.root / stated.path: stated.statement for stated in tree.all_stated})
    return {path.relative_to(tree.root).as_posix(): verdict for path, verdict in verdicts.items()}


def _hashed(trees: Iterable[Tree], threads: int, cache: Cache | None) -> list[dict[str, Hashed]]:
    """The digest of every artifact, by study and path; the largest first, so that no thread ends with a long one.

    A file that has another size than its statement says is not as stated: it is not read, however large it is.
    """
    sizes = []
    for number, study in enumerate(trees):
        outputs = (output for made in study.statements for output in made.statement.outputs)
        stated = {(study.inside(output.name), output.size) for output in outputs}
        sizes += [(size, number, study.root, path) for path, size in study.artifacts.items() if (path, size) in stated]
    sizes.sort(reverse=True)
    paths = [((number, path), root / path) for _, number, root, path in sizes]
    with progress("reading", sum(size for size, *_ in sizes), "B") as bar:
        digests = sha256_of_all(paths, threads, bar.update, cache)
    hashed: list[dict[str, Hashed]] = [{} for _ in trees]
    for (number, path), digest in digests.items():
        hashed[number][path] = digest
    return hashed
