"""Statements: in-toto Statement v1 with a SLSA provenance v1 predicate, one per job.

Subjects are a job's outputs. Resolved dependencies are everything that it was made from, by SHA-256. External
parameters are the job's parameters, internal ones the observed machine. A statement lies under statements/ in its
study's folder, at the path of the job's first output. Keys are sorted, so the statements of two runs of a job differ
only in times and machine.

The root may be signed, in a DSSE envelope: a statement and its signatures, in one JSON file. A signature covers DSSE's
encoding of the statement's bytes together with their type. So a signature on something else cannot pass for one on a
statement. The payload is the statement file, byte for byte.
"""

import base64
import hashlib
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from toolnoise.base.errors import BadInput
from toolnoise.base.files import parse_json, read_bytes, readable

TYPE, PREDICATE = "https://in-toto.io/Statement/v1", "https://slsa.dev/provenance/v1"
BUILD_TYPE = re.compile(r"urn:toolnoise:([a-z-]+):1")
BUILDER = "urn:toolnoise:recorder:1"
SUFFIX = ".intoto.json"
RESULTS, FOLDER = "results", "statements"
# SLSA's metadata has no such fields; its names for further ones begin with their vendor.
PROCESS, RESUMED, UNREPEATABLE = "toolnoise_process", "toolnoise_resumed", "toolnoise_unrepeatable"
COUNTED = "toolnoise_code"
# Instead of a commit that git did not tell.
COMMIT_IS, UNKNOWN = "toolnoise_commit", "unknown"
# The words after `toolnoise` that did the job; in the root's statement, the digests of the others.
COMMAND, CHAIN = "command", "statements"
TIME = "%Y-%m-%dT%H:%M:%S.%fZ"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
# Each takes a process to verify.
MOST_SIGNATURES = 64
ENVELOPE = "a DSSE envelope from toolnoise sign"
WANTED = "an in-toto Statement v1 with SLSA provenance v1, as toolnoise writes it"

# Kinds of dependency. Inputs have statements of their own; a chain ends with any other kind.
INPUT, SOURCE, PACKAGE = "input", "source", "package"
CODE, RESOURCE, LOCK, COMMIT = "code", "resource", "lock", "commit"


class Signature(NamedTuple):
    """A signature, and its key's name according to its maker: a hint that nothing relies on."""

    keyid: str
    blob: bytes


class Envelope(NamedTuple):
    """A payload and its signatures; a bare statement has none."""

    payload: bytes
    signatures: tuple[Signature, ...] = ()

    def signed_bytes(self) -> bytes:
        """The bytes that are signed: DSSE's pre-authentication encoding."""
        kind = PAYLOAD_TYPE.encode()
        return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(self.payload), self.payload)

    def sha256(self) -> str:
        """The digest of the payload: a statement has the same before and after it is signed."""
        return hashlib.sha256(self.payload).hexdigest()

    def as_json(self) -> dict[str, Any]:
        """The envelope as JSON values."""
        signatures = [{"keyid": one.keyid, "sig": base64.b64encode(one.blob).decode()} for one in self.signatures]
        payload = base64.b64encode(self.payload).decode()
        return {"payload": payload, "payloadType": PAYLOAD_TYPE, "signatures": signatures}


class Artifact(NamedTuple):
    """A file in a statement: an output, or a dependency of the outputs."""

    name: str
    sha256: str
    size: int | None = None
    role: str = ""
    kind: str = ""
    uri: str = ""
    timed: bool = False  # an output with times in it
    statement: str = ""  # of an input: the digest of the statement of the job that made it

    def descriptor(self) -> dict[str, Any]:
        """The artifact as an in-toto resource descriptor."""
        notes = {"size": self.size, "role": self.role, "kind": self.kind, "statement": self.statement}
        notes["timed"] = self.timed or None
        about = {"name": self.name, "digest": {"gitCommit" if self.kind == COMMIT else "sha256": self.sha256}}
        if self.uri:
            about["uri"] = self.uri
        kept = {key: value for key, value in notes.items() if value not in (None, "")}
        return {**about, **({"annotations": kept} if kept else {})}


class Statement(NamedTuple):
    """The record of a job."""

    verb: str
    outputs: tuple[Artifact, ...]
    dependencies: tuple[Artifact, ...]
    parameters: dict[str, Any]
    observed: dict[str, Any]
    started: datetime
    finished: datetime
    versions: dict[str, str]
    changes: str | None = None  # SHA-256 of the difference from the commit, if any; "unknown" if git did not say
    process: str = ""  # how the job's process started: warm, or cold and why
    resumed: Mapping[str, Any] | None = None  # the epochs after which a run resumed, and from which checkpoint
    chain: Mapping[str, str] | None = None  # of the root: the digest of every other statement of the study, by name
    command: tuple[str, ...] = ()  # what did the job; not known of jobs of earlier versions
    unrepeatable: str = ""  # why the outputs cannot be made again
    counted: str = ""  # the digest of what counts of the code: another one is a reason to make the outputs again

    @property
    def name(self) -> str:
        """The first output, which stands for the statement in a finding."""
        return self.outputs[0].name

    def made_of(self, *kinds: str) -> tuple[Artifact, ...]:
        """The dependencies of these kinds."""
        return tuple(one for one in self.dependencies if one.kind in kinds)

    @property
    def inputs(self) -> tuple[Artifact, ...]:
        """The dependencies that other jobs made."""
        return self.made_of(INPUT)

    @property
    def commit(self) -> str | None:
        """The commit that the code belongs to, if it is known."""
        return next((one.sha256 for one in self.made_of(COMMIT)), None)

    def as_json(self) -> dict[str, Any]:
        """The statement as JSON values."""
        dependencies = [artifact.descriptor() for artifact in self.dependencies]
        for artifact in dependencies:
            if artifact.get("annotations", {}).get("kind") == COMMIT:
                unknown = self.changes == UNKNOWN
                artifact["annotations"] |= {"dirty": UNKNOWN if unknown else self.changes is not None}
                if self.changes and not unknown:
                    artifact["annotations"]["diff_sha256"] = self.changes
        occasion: dict[str, Any] = {
            "startedOn": self.started.strftime(TIME),
            "finishedOn": self.finished.strftime(TIME),
        }
        notes = ((PROCESS, self.process), (RESUMED, self.resumed), (UNREPEATABLE, self.unrepeatable))
        notes = (*notes, (COUNTED, self.counted))
        for key, value in notes:
            occasion |= {key: value} if value else {}
        if self.changes == UNKNOWN and not any(artifact.kind == COMMIT for artifact in self.dependencies):
            occasion[COMMIT_IS] = UNKNOWN
        return {
            "_type": TYPE,
            "subject": [artifact.descriptor() for artifact in self.outputs],
            "predicateType": PREDICATE,
            "predicate": {
                "buildDefinition": {
                    "buildType": f"urn:toolnoise:{self.verb}:1",
                    "externalParameters": self.parameters,
                    "internalParameters": {"observed": self.observed}
                    | ({COMMAND: list(self.command)} if self.command else {})
                    | ({} if self.chain is None else {CHAIN: dict(self.chain)}),
                    "resolvedDependencies": dependencies,
                },
                "runDetails": {
                    "builder": {"id": BUILDER, "version": self.versions},
                    "metadata": occasion,
                },
            },
        }


def path_for(output: str | Path) -> Path:
    """The path of a job's statement, from its first output: beside it if that lies outside a study's results."""
    parts = PurePosixPath(output).parts
    if parts[:1] == (RESULTS,) and len(parts) > 2:
        return Path(*parts[:2], FOLDER, *parts[2:-1], parts[-1] + SUFFIX)
    return Path(f"{output}{SUFFIX}")


def output_of(statement: str) -> str:
    """The first output of the job whose statement has this name."""
    return statement.replace(f"/{FOLDER}/", "/", 1).removesuffix(SUFFIX)


def read(path: str | Path) -> Statement:
    """Read and check a statement, with or without a signed envelope."""
    with readable(path, WANTED):
        return parse(read_bytes(path), path)


def parse(content: bytes, path: str | Path) -> Statement:
    """The statement in bytes read from `path`, with or without a signed envelope."""
    return opened(unpack(content, path), path)


def opened(signed: Envelope, path: str | Path) -> Statement:
    """The statement in an envelope that was read from `path`."""
    try:
        about = _of_kind(parse_json(signed.payload.decode()), "", path)
    except (ValueError, RecursionError) as error:
        raise BadInput(path, "", f"damaged or truncated ({error})", f"expected {WANTED}") from None
    for key, wanted in (("_type", TYPE), ("predicateType", PREDICATE)):
        if about.get(key) != wanted:
            raise BadInput(path, key, f"found {about.get(key)!r}", f"allowed: {wanted}")
    predicate = _of_kind(about.get("predicate"), "predicate", path)
    definition = _of_kind(predicate.get("buildDefinition"), "buildDefinition", path)
    verb = BUILD_TYPE.fullmatch(str(definition.get("buildType")))
    if not verb:
        raise BadInput(path, "buildType", f"found {definition.get('buildType')!r}", "allowed: urn:toolnoise:<verb>:1")
    details = _of_kind(predicate.get("runDetails"), "runDetails", path)
    metadata = _of_kind(details.get("metadata"), "metadata", path)
    internal = _of_kind(definition.get("internalParameters"), "internalParameters", path)
    chain = None if internal.get(CHAIN) is None else _of_kind(internal[CHAIN], CHAIN, path)
    described = _of_kind(definition.get("resolvedDependencies"), "resolvedDependencies", path, list)
    outputs = _of_kind(about.get("subject"), "subject", path, list)
    if not outputs:
        raise BadInput(path, "subject", "found none", "at least one output")
    commits = [one for one in described if isinstance(one, dict) and _notes(one).get("kind") == COMMIT]
    return Statement(
        verb[1],
        tuple(_artifact(one, "subject", path) for one in outputs),
        tuple(_artifact(one, "resolvedDependencies", path) for one in described),
        _of_kind(definition.get("externalParameters"), "externalParameters", path),
        _of_kind(internal.get("observed"), "observed", path),
        _time(metadata, "startedOn", path),
        _time(metadata, "finishedOn", path),
        _of_kind(_of_kind(details.get("builder"), "builder", path).get("version"), "version", path),
        _changes(_notes(commits[0])) if commits else UNKNOWN if COMMIT_IS in metadata else None,
        str(metadata.get(PROCESS, "")),
        metadata.get(RESUMED),
        None if chain is None else {str(name): str(digest) for name, digest in chain.items()},
        tuple(map(str, _of_kind(internal.get(COMMAND, []), COMMAND, path, list))),
        str(metadata.get(UNREPEATABLE, "")),
        str(metadata.get(COUNTED, "")),
    )


def _changes(notes: dict[str, Any]) -> str | None:
    """The digest of a difference; unknown unless there is one, or it is said that there is no difference."""
    if notes.get("diff_sha256") is not None:
        return notes["diff_sha256"]
    return None if notes.get("dirty", False) is False else UNKNOWN


def _artifact(value: Any, key: str, path: str | Path) -> Artifact:
    about = _of_kind(value, key, path)
    notes, digest = _notes(about), _of_kind(about.get("digest"), f"{key}.digest", path)
    kind = str(notes.get("kind", ""))
    algorithm = "gitCommit" if kind == COMMIT else "sha256"
    name, sha = about.get("name"), digest.get(algorithm)
    pattern = r"[0-9a-f]{40}|[0-9a-f]{64}" if kind == COMMIT else r"[0-9a-f]{64}"
    if not isinstance(name, str) or not isinstance(sha, str) or not re.fullmatch(pattern, sha):
        raise BadInput(path, key, f"{name!r} has no name or no SHA-256", WANTED)
    if len(digest) > 1:
        # Nothing here reads another one, so it could contradict the first, and be what somebody else reads.
        raise BadInput(path, key, f"{name!r} has the digests {', '.join(sorted(digest))}", f"allowed: {algorithm}")
    size = notes.get("size")
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 0):
        raise BadInput(path, key, f"{name!r} has a size of {size!r}", "a number of bytes")
    made_by, uri = str(notes.get("statement", "")), str(about.get("uri", ""))
    return Artifact(name, sha, size, str(notes.get("role", "")), kind, uri, notes.get("timed") is True, made_by)


def _notes(about: dict[str, Any]) -> dict[str, Any]:
    notes = about.get("annotations", {})
    return notes if isinstance(notes, dict) else {}


def _of_kind(value: Any, key: str, path: str | Path, kind: type = dict) -> Any:
    if not isinstance(value, kind):
        raise BadInput(path, key, f"found {type(value).__name__}", WANTED)
    return value


def _time(metadata: dict[str, Any], key: str, path: str | Path) -> datetime:
    try:
        return datetime.strptime(metadata[key], TIME)
    except (KeyError, TypeError, ValueError):
        raise BadInput(
            path, key, f"found {metadata.get(key)!r}", "a time such as 2026-01-31T12:00:00.000000Z"
        ) from None


def unpack(content: bytes, path: str | Path) -> Envelope:
    """The envelope in a file's bytes, or the bare statement that they are; signatures are verified elsewhere."""
    try:
        value = parse_json(content.decode())
    except (ValueError, RecursionError) as error:
        raise BadInput(path, "", f"damaged or truncated ({error})", ENVELOPE) from None
    if not isinstance(value, dict) or "payload" not in value:
        return Envelope(content)
    if value.get("payloadType") != PAYLOAD_TYPE:
        raise BadInput(path, "payloadType", f"found {value.get('payloadType')!r}", f"allowed: {PAYLOAD_TYPE}")
    signatures = value.get("signatures")
    if not isinstance(signatures, list) or not all(isinstance(one, dict) for one in signatures):
        raise BadInput(path, "signatures", f"found {type(signatures).__name__}", "a list of signatures")
    if len(signatures) > MOST_SIGNATURES:
        raise BadInput(path, "signatures", f"found {len(signatures)}", f"at most {MOST_SIGNATURES}")
    signed = (Signature(str(one.get("keyid", "")), _bytes(one.get("sig"), "sig", path)) for one in signatures)
    return Envelope(_bytes(value["payload"], "payload", path), tuple(signed))


def _bytes(value: Any, key: str, path: str | Path) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (ValueError, TypeError):
        raise BadInput(path, key, "is not valid base64", ENVELOPE) from None
