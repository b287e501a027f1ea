"""The origins of a result (spec, code, environment, data and lock), and the differences between those of two results.

They come from the job's statement. A run without a statement has only its record, which does not cover the code.
"""

from collections.abc import Iterable
from typing import Any

from toolnoise.base.files import canonical_sha256
from toolnoise.provenance.diff.changes import changes
from toolnoise.provenance.statements import CODE, COMMIT, LOCK, PACKAGE, RESOURCE, SOURCE, Artifact, Statement

PARTS = ("spec", "code", "environment", "data", "lock")
# Reported for two jobs only: for many jobs, the places where they ran would drown the rest.
WHERE = ("host", "slurm")

Differences = dict[str, list[dict[str, Any]] | None]


def of_statement(statement: Statement) -> dict[str, Any]:
    """The origins of a job by part, each a nested object."""
    parameters = statement.parameters
    return {
        "spec": parameters.get("spec", {key: value for key, value in parameters.items() if key != "keys"}),
        "code": {
            "commit": _digests(statement.made_of(COMMIT)) | {"changes": statement.changes},
            "files": _digests(statement.made_of(CODE, RESOURCE)),
        },
        "environment": {**statement.observed, "programs": statement.versions},
        # By role, because the names of inputs contain the study's name.
        "data": _digests(statement.made_of(SOURCE, PACKAGE)) | _by_role(statement.inputs),
        "lock": _digests(statement.made_of(LOCK)),
    }


def of_run(record: dict[str, Any], statement: Statement | None) -> dict[str, Any]:
    """The origins of a run by part; None for an unknown part."""
    parts = of_statement(statement) if statement else dict.fromkeys(PARTS)
    environment = {**(record.get("observed") or {}), **({"programs": statement.versions} if statement else {})}
    data = {"content": record.get("data_sha256"), **(parts["data"] or {})}
    return {**parts, "spec": record["spec"], "environment": environment, "data": data}


def differences(origins_a: dict[str, Any], origins_b: dict[str, Any]) -> Differences:
    """The differences by part; None for a part that is unknown for one of the two."""
    pairs = {part: (origins_a[part], origins_b[part]) for part in PARTS}
    return {part: None if None in pair else rows(*pair) for part, pair in pairs.items()}


def rows(value_a: Any, value_b: Any) -> list[dict[str, Any]]:
    """The differences between two values, one row per dotted key."""
    return [{"key": change.key, "a": change.value_a, "b": change.value_b} for change in changes(value_a, value_b)]


def merged(pairs: Iterable[Differences]) -> Differences:
    """The differences of many pairs as those of one: each is listed once, without the places where the jobs ran."""
    parts: Differences = dict.fromkeys(PARTS)
    seen: set[str] = set()
    for differing in pairs:
        for part, differ in differing.items():
            if differ is None:
                continue
            parts[part] = parts[part] or []
            for row in differ:
                digest = canonical_sha256([part, row])
                if digest not in seen and row["key"].partition(".")[0] not in WHERE:
                    seen.add(digest)
                    parts[part].append(row)
    return parts


def _digests(artifacts: Iterable[Artifact]) -> dict[str, Any]:
    return {artifact.name: artifact.sha256 for artifact in artifacts}


def _by_role(inputs: Iterable[Artifact]) -> dict[str, Any]:
    by_role: dict[str, list[str]] = {}
    for artifact in inputs:
        by_role.setdefault(artifact.role, []).append(artifact.sha256)
    return {role: digests[0] if len(digests) == 1 else digests for role, digests in by_role.items()}
