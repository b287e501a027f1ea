"""An audit on a page: of its own (`toolnoise audit --html`), or the part of a study's page that the last job writes.

That job's statement is the root. It audits all that came before, the page among it. The verdict and what ran where are
a data file that the page loads at once, and the statements one that it loads when somebody asks for them: the findings,
and the links from every file back to its data. Statements share most of their content, so the data hold each thing
once: files, values and lists of code are tables, and statements are indices into them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from toolnoise.base import faults
from toolnoise.base.errors import BadInput
from toolnoise.base.files import write_text
from toolnoise.pages.document import document, part
from toolnoise.record import repository
from toolnoise.record.statements import INPUT, TIME, Artifact
from toolnoise.steps import STEPS
from toolnoise.study.cells import Training
from toolnoise.verify import tree
from toolnoise.verify.audit import examine
from toolnoise.verify.audit.examine import Audit
from toolnoise.verify.signing import AllowedSigners
from toolnoise.verify.tree import Results, Stated, Tree

FILE = "file"
DEEPEST = 12
# Larger integers are not exact in a browser.
EXACT = 2**53


def show(study: str, page: str, parts: Sequence[str], out: str | Path, out_statements: str | Path) -> None:
    """Audit a study and write the audit's part of its page; `page` and `parts` are the rest of it."""
    del page, parts
    root = Path(tree.RESULTS) / study
    audit = audited(tree.load_study(root), {str(out), str(out_statements)})
    shown = part("statements", data(audit, strict=False)), part("audit", verdict(audit))
    for path, text in zip((out_statements, out), shown, strict=True):
        write_text(path, text)


def audited(study: Tree, left_out: set[str], signers: AllowedSigners | None = None) -> Audit:
    """The audit of a study without the files that show it, by their names: while they are made, they are not there."""
    audit = examine.examine(Results(study.root, (_without(study, left_out),), ()), signers=signers)
    return audit._replace(findings=tuple(finding for finding in audit.findings if finding.artifact not in left_out))


def verdict(audit: Audit, signers: AllowedSigners | None = None) -> dict[str, Any]:
    """What the first view says of an audit."""
    (study,) = audit.results.trees
    return {
        "clean": audit.is_clean(False),
        "slim": audit.slim,
        "findings": len(audit.findings),
        "stale": len(audit.stale),
        "says": [str(audit.coverage), *audit.notes, _signed(audit, study, signers)],
        "ran_on": list(_machines(study)),
        "left_out": [],
    }


def _signed(audit: Audit, study: Tree, signers: AllowedSigners | None) -> str:
    """How many statements are signed; whose signatures are valid is known only with a list of people."""
    count = len(study.statements)
    if signers:
        valid = ", ".join(f"{number} by {name}" for name, number in audit.signers.items())
        return f"Signatures verified: {valid or 'none'} of {count} statements"
    signed = sum(bool(stated.signatures) for stated in study.statements)
    if not signed:
        return "Not signed: no statement has a signature"
    return f"{signed} of {count} statements are signed; the signatures were not verified here"


def _machines(study: Tree) -> Iterator[str]:
    """Each tooling with the number of its runs, what computed them and on how many machines."""
    seen: dict[str, list[Mapping[str, Any]]] = {}
    for stated in study.statements:
        if (step := STEPS.get(stated.statement.verb)) and step.where.place is Training:
            name = stated.statement.parameters["spec"]["hardware"]["name"]
            seen.setdefault(name, []).append(stated.statement.observed)
    for name, observed in seen.items():
        devices = sorted({str(on.get("cpu" if on.get("device") == "cpu" else "device")) for on in observed})
        hosts = {str(machine.get("host")) for machine in observed}
        frameworks = sorted({_framework(machine) for machine in observed})
        machines = f"{len(hosts)} machine{'s' if len(hosts) > 1 else ''}"
        yield f"{name}: {len(observed)} runs on {', '.join(devices)}; {', '.join(frameworks)}; {machines}"


def _framework(observed: Mapping[str, Any]) -> str:
    versions = observed.get("versions") or {}
    return next((f"{name} {versions[name]}" for name in ("tensorflow", "jax", "torch") if name in versions), "NumPy")


def _without(study: Tree, names: set[str]) -> Tree:
    """The results without some files and their statements."""
    paths = {path for name in names if (path := study.inside(name))}
    gone = paths | {made.path for path in paths for made in study.producers.get(path, ())}
    return replace(
        study,
        files={path: size for path, size in study.files.items() if path not in gone},
        statements=tuple(made for made in study.statements if made.path not in gone),
        producers={path: made for path, made in study.producers.items() if path not in paths},
    )


def write(path: str | Path, audit: Audit, strict: bool) -> None:
    """Write the page of an audit."""
    # Among the results, the next audit would report the page.
    if Path(path).resolve().is_relative_to(audit.results.root.resolve()):
        raise BadInput("command line", "--html", f"{path} lies in the results", "a place outside the audited results")
    try:
        block = data(audit, strict)
        write_text(path, document({"title": f"Audit of {block['title']}", "parts": {"statements": block}}, parts=False))
    except OSError as error:
        raise BadInput("command line", "--html", f"{path} cannot be written ({faults.called(error)})") from None


def data(audit: Audit, strict: bool) -> dict[str, Any]:
    """The page's data, each thing once."""
    packed = _Packed()
    # With several studies, each name begins with its study's folder.
    trees = audit.results.trees
    names = [(study, f"{study.root.name}/" if len(trees) > 1 else "") for study in trees]
    for study, before in names:
        packed.add(study, before)

    def here(artifact: str) -> str:
        inside = ((before, study.inside(artifact)) for study, before in names)
        return next((before + path for before, path in inside if path is not None), artifact)

    findings: dict[str, list[tuple[str, str]]] = {}
    for rule, artifact, what in audit.findings:
        findings.setdefault(rule, []).append((here(artifact), what))
    stale: dict[tuple[str, ...], list[str]] = {}
    for artifact, changed in audit.stale:
        stale.setdefault(changed, []).append(here(artifact))
    verbs = {job[0] for job in packed.jobs}
    vouched = [*(f"Chain of {line}" for line in audit.roots), f"Signatures: {audit.signatures}"]
    return {
        "title": f"results/{trees[0].name}" if len(trees) == 1 else f"{len(trees)} studies",
        "clean": audit.is_clean(strict),
        "slim": audit.slim,
        "told": [str(audit.coverage), *(f"Note: {note}" for note in audit.notes), *vouched, _audited(audit)],
        "rules": {rule.name: rule.says for rule in audit.rules},
        "findings": list(findings.items()),
        "stale": list(stale.items()),
        "says": {verb: job.says for verb, job in STEPS.items() if verb in verbs},
        **packed.tables(),
    }


def _audited(audit: Audit) -> str:
    """The time of the audit and the program's version."""
    commit = repository.commit()
    changes = "" if not commit or not commit.changes else " with unknown changes" if commit.why else " with changes"
    at = f" at commit {commit.sha[:12] or 'unknown'}{changes}" if commit else ""
    version = repository.versions("toolnoise").get("toolnoise", "")
    return f"Audited {audit.now:%Y-%m-%d %H:%M} UTC by toolnoise {version}{at}"


class _Packed:
    """The tables that statements share, and the statements as indices into them."""

    def __init__(self) -> None:
        self.files: list[tuple[str, int]] = []
        self.jobs: list[list[Any]] = []
        self._kinds: dict[str, int] = {}
        self._things: dict[tuple[str, str, int | None, str, str], int] = {}
        self.values: list[Any] = []
        self._values: dict[str, int] = {}
        self._made_by: dict[str, int] = {}

    def add(self, study: Tree, before: str) -> None:
        """Add the files and statements of a study; `before` is the prefix of its paths."""
        self.files += [(before + path, size) for path, size in study.artifacts.items()]
        for stated in study.statements:
            self.jobs.append(self._job(study, stated, before))

    def tables(self) -> dict[str, Any]:
        """The tables, in the form that the page's script reads."""
        # Most files are as a statement has them: a number instead of a name and a size.
        stated = {(name, size): number for number, (name, _, size, *_) in enumerate(self._things)}
        names, digests, sizes, kinds, uris = zip(*self._things, strict=True) if self._things else ((),) * 5
        return {
            "files": [stated.get(file, file) for file in self.files],
            "things": {
                "names": names,
                "sha256": digests,
                "sizes": sizes,
                "kinds": [self._kinds[kind] for kind in kinds],
                "uris": {number: uri for number, uri in enumerate(uris) if uri},
            },
            "kinds": list(self._kinds),
            "values": self.values,
            "madeBy": [json.loads(text) for text in self._made_by],
            "jobs": self.jobs,
        }

    def _job(self, study: Tree, stated: Stated, before: str) -> list[Any]:
        path, statement = stated.path, stated.statement
        outputs: dict[str, list[int]] = {}
        inputs: dict[str, list[int]] = {}
        others: dict[str, list[int]] = {}
        for output in statement.outputs:
            outputs.setdefault(output.role, []).append(self._thing(study, output, before))
        for needed in statement.dependencies:
            group, key = (inputs, needed.role) if needed.kind == INPUT else (others, needed.kind)
            group.setdefault(key, []).append(self._thing(study, needed, before))
        return [
            statement.verb,
            statement.started.strftime(TIME),
            statement.finished.strftime(TIME),
            outputs,
            inputs,
            self._made_by.setdefault(json.dumps(others), len(self._made_by)),
            self._value(statement.parameters),
            self._value(statement.observed),
            self._value(statement.versions),
            before + path,
            None if statement.changes is None else str(statement.changes),
        ]

    def _thing(self, study: Tree, artifact: Artifact, before: str) -> int:
        """The index of a file with these bytes; all statements share it."""
        inside = study.inside(artifact.name)
        name = artifact.name if inside is None else before + inside
        kind = FILE if artifact.kind in ("", INPUT) else artifact.kind
        self._kinds.setdefault(kind, len(self._kinds))
        return self._things.setdefault((name, artifact.sha256, artifact.size, kind, artifact.uri), len(self._things))

    def _value(self, value: Any, depth: int = 0) -> int:
        """The index of a JSON value; objects and lists hold indices, so equal parts are kept once."""
        if depth > DEEPEST:
            packed: Any = "nested too deeply to be shown"
        elif isinstance(value, dict):
            packed = {key: self._value(each, depth + 1) for key, each in value.items()}
        elif isinstance(value, list):
            packed = [self._value(each, depth + 1) for each in value]
        elif isinstance(value, float) or (isinstance(value, int) and abs(value) > EXACT):
            # As text: a browser would show 1e-05 and 0.00001, or two large numbers, as the same.
            packed = repr(value)
        else:
            packed = value
        written = repr(packed)
        if written not in self._values:
            self._values[written] = len(self.values)
            self.values.append(packed)
        return self._values[written]
