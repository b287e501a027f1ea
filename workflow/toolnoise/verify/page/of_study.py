"""The audit's part of a study's page, which the last job of a study writes: its statement is the root.

It audits all that came before, the page among it. The verdict and what ran where are a data file that the page loads at
once, and the statements one that it loads when somebody asks for them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from toolnoise.base.files import read_bytes, write_text
from toolnoise.pages.document import part
from toolnoise.record import envelope
from toolnoise.steps import STEPS
from toolnoise.study.cells import Training
from toolnoise.verify import tree
from toolnoise.verify.audit import examine
from toolnoise.verify.audit.examine import Audit
from toolnoise.verify.page import audit_data
from toolnoise.verify.signing import AllowedSigners
from toolnoise.verify.tree import Results, Tree


def show(study: str, page: str, parts: Sequence[str], out: str | Path, out_statements: str | Path) -> None:
    """Audit a study and write the audit's part of its page; `page` and `parts` are the rest of it."""
    del page, parts
    root = Path(tree.RESULTS) / study
    audit = audited(tree.load_study(root), {str(out), str(out_statements)})
    shown = part("statements", audit_data.data(audit, strict=False)), part("audit", verdict(audit))
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
    paths = [study.root / stated.path for stated in study.statements]
    if signers:
        valid = ", ".join(f"{count} by {name}" for name, count in audit.signers.items())
        return f"Signatures verified: {valid or 'none'} of {len(paths)} statements"
    signed = sum(bool(envelope.unpack(read_bytes(path), path).signatures) for path in paths)
    if not signed:
        return "Not signed: no statement has a signature"
    return f"{signed} of {len(paths)} statements are signed; the signatures were not verified here"


def _machines(study: Tree) -> Iterator[str]:
    """Each tooling with the number of its runs, what computed them and on how many machines."""
    seen: dict[str, list[Mapping[str, Any]]] = {}
    for stated in study.statements:
        if STEPS[stated.statement.verb].where.place is Training:
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
    kept = tuple(
        made
        for made in study.statements
        if not paths & {study.inside(output.name) for output in made.statement.outputs}
    )
    gone = paths | {stated.path for stated in study.statements if stated not in kept}
    return replace(
        study,
        files={path: size for path, size in study.files.items() if path not in gone},
        statements=kept,
        producers={path: made for path, made in study.producers.items() if path not in paths},
    )
