"""What a result was made from: spec, code, environment, data and lock, and in which of these two results differ.

Taken from the statement of the job, and of a run, where there is none, from its record, which knows no code.
"""

from collections.abc import Iterable
from typing import Any

from toolnoise.base.files import canonical_sha256
from toolnoise.provenance.diff.changes import changes
from toolnoise.provenance.record.statements import (
    CODE,
    COMMIT,
    INPUT,
    LOCK,
    PACKAGE,
    RESOURCE,
    SOURCE,
    Artifact,
    Statement,
)

PARTS = ("spec", "code", "environment", "data", "lock")
# Of two jobs it is told where they ran; of many it would drown the rest.
WHERE = ("host", "slurm")

Differences = dict[str, list[dict[str, Any]] | None]


def of_statement(statement: Statement) -> dict[str, Any]:
    """The parts that a job was made from, each a nested object."""
    parameters = statement.parameters
    return {
        "spec": parameters.get("spec", {key: value for key, value in parameters.items() if key != "keys"}),
        "code": {
            "commit": {one.name: one.sha256 for one in _kinds(statement, COMMIT)} | {"changes": statement.changes},
            "files": {one.name: one.sha256 for one in _kinds(statement, CODE, RESOURCE)},
        },
        "environment": {**statement.observed, "programs": statement.versions},
        # By role: the names of inputs say which study they are of.
        "data": _digests(_kinds(statement, SOURCE, PACKAGE), of_inputs=_kinds(statement, INPUT)),
        "lock": {one.name: one.sha256 for one in _kinds(statement, LOCK)},
    }


def of_run(record: dict[str, Any], statement: Statement | None) -> dict[str, Any]:
    """The parts that a run was made from; None for what nothing is known of."""
    parts = of_statement(statement) if statement else dict.fromkeys(PARTS)
    environment = {**(record.get("observed") or {}), **({"programs": statement.versions} if statement else {})}
    data = {"content": record.get("data_sha256"), **(parts["data"] or {})}
    return {**parts, "spec": record["spec"], "environment": environment, "data": data}


def differences(one: dict[str, Any], other: dict[str, Any]) -> Differences:
    """What differs, part by part; None for a part of which one of the two tells nothing."""
    return {part: None if None in (one[part], other[part]) else told(one[part], other[part]) for part in PARTS}


def told(one: Any, other: Any) -> list[dict[str, Any]]:
    """What differs between two values, each with its dotted key."""
    return [{"key": change.key, "a": change.one, "b": change.other} for change in changes(one, other)]


def merged(found: Iterable[Differences]) -> Differences:
    """The differences of many pairs as those of one: each is told once, and where the jobs ran is not."""
    parts: Differences = dict.fromkeys(PARTS)
    seen: set[str] = set()
    for differing in found:
        for part, rows in differing.items():
            if rows is None:
                continue
            parts[part] = parts[part] or []
            for row in rows:
                digest = canonical_sha256([part, row])
                if digest not in seen and row["key"].partition(".")[0] not in WHERE:
                    seen.add(digest)
                    parts[part].append(row)
    return parts


def _kinds(statement: Statement, *kinds: str) -> list[Artifact]:
    return [one for one in statement.dependencies if one.kind in kinds]


def _digests(sources: list[Artifact], of_inputs: list[Artifact]) -> dict[str, str | list[str]]:
    by_role: dict[str, list[str]] = {}
    for one in of_inputs:
        by_role.setdefault(one.role, []).append(one.sha256)
    told = {role: found[0] if len(found) == 1 else found for role, found in by_role.items()}
    return {one.name: one.sha256 for one in sources} | told
