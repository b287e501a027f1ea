"""The audit as data of a page: the findings, and the links from every file back to its data.

It is one HTML file (`toolnoise audit --html`), or the part of a study's page that the last job writes. Statements share
most of their content, so the data hold each thing once: files, values and lists of code are tables, and statements are
indices into them.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from toolnoise.base import faults
from toolnoise.base.errors import BadInput
from toolnoise.base.files import write_text
from toolnoise.pages.document import document
from toolnoise.record import repository
from toolnoise.record.statements import INPUT, TIME, Artifact
from toolnoise.steps import STEPS
from toolnoise.verify.audit.examine import Audit
from toolnoise.verify.audit.rules import RULES, Rule
from toolnoise.verify.tree import Stated, Tree

FILE = "file"
DEEPEST = 12
# Larger integers are not exact in a browser.
EXACT = 2**53


def write(path: str | Path, audit: Audit, strict: bool, rules: Sequence[Rule] = RULES) -> None:
    """Write the page of an audit."""
    # Among the results, the next audit would report the page.
    if Path(path).resolve().is_relative_to(audit.results.root.resolve()):
        raise BadInput("command line", "--html", f"{path} lies in the results", "a place outside the audited results")
    try:
        block = data(audit, strict, rules)
        write_text(path, document({"title": f"Audit of {block['title']}", "parts": {"statements": block}}, parts=False))
    except OSError as error:
        raise BadInput("command line", "--html", f"{path} cannot be written ({faults.called(error)})") from None


def data(audit: Audit, strict: bool, rules: Sequence[Rule] = RULES) -> dict[str, Any]:
    """The page's data, each thing once."""
    packed = _Packed()
    # With several studies, each name begins with its study's folder.
    trees = audit.results.trees
    names = [(tree, f"{tree.root.name}/" if len(trees) > 1 else "") for tree in trees]
    for tree, before in names:
        packed.add(tree, before)

    def here(artifact: str) -> str:
        inside = ((before, tree.inside(artifact)) for tree, before in names)
        return next((before + path for before, path in inside if path is not None), artifact)

    findings: dict[str, list[tuple[str, str]]] = {}
    for rule, artifact, what in audit.findings:
        findings.setdefault(rule, []).append((here(artifact), what))
    stale: dict[tuple[str, ...], list[str]] = {}
    for artifact, changed in audit.stale:
        stale.setdefault(changed, []).append(here(artifact))
    verbs = {job[0] for job in packed.jobs}
    return {
        "title": f"results/{trees[0].name}" if len(trees) == 1 else f"{len(trees)} studies",
        "clean": audit.is_clean(strict),
        "slim": audit.slim,
        "told": [str(audit.coverage), *(f"Note: {note}" for note in audit.notes), *_vouched(audit), _audited(audit)],
        "rules": {rule.name: rule.says for rule in rules},
        "findings": list(findings.items()),
        "stale": list(stale.items()),
        "says": {verb: job.says for verb, job in STEPS.items() if verb in verbs},
        **packed.tables(),
    }


def _vouched(audit: Audit) -> list[str]:
    """Each study's root, and whose signatures there are."""
    return [*(f"Chain of {line}" for line in audit.roots), f"Signatures: {audit.signatures}"]


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

    def add(self, tree: Tree, before: str) -> None:
        """Add the files and statements of a study; `before` is the prefix of its paths."""
        self.files += [(before + path, size) for path, size in tree.artifacts.items()]
        for stated in tree.statements:
            self.jobs.append(self._job(tree, stated, before))

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

    def _job(self, tree: Tree, stated: Stated, before: str) -> list[Any]:
        path, statement = stated.path, stated.statement
        outputs: dict[str, list[int]] = {}
        inputs: dict[str, list[int]] = {}
        others: dict[str, list[int]] = {}
        for output in statement.outputs:
            outputs.setdefault(output.role, []).append(self._thing(tree, output, before))
        for needed in statement.dependencies:
            group, key = (inputs, needed.role) if needed.kind == INPUT else (others, needed.kind)
            group.setdefault(key, []).append(self._thing(tree, needed, before))
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

    def _thing(self, tree: Tree, artifact: Artifact, before: str) -> int:
        """The index of a file with these bytes; all statements share it."""
        inside = tree.inside(artifact.name)
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
