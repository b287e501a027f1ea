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

from toolnoise.base.files import parse_json, read_bytes, readable

TYPE, PREDICATE = "https://in-toto.io/Statement/v1", "https://slsa.dev/provenance/v1"
BUILD_TYPE = re.compile(r"urn:toolnoise:([a-z-]+):1")
BUILDER = "urn:toolnoise:recorder:1"
SUFFIX = ".intoto.json"
RESULTS, FOLDER = "results", "statements"
# Further fields of SLSA's metadata: their names begin with the vendor.
PROCESS, RESUMED, UNREPEATABLE = "toolnoise_process", "toolnoise_resumed", "toolnoise_unrepeatable"
COUNTED = "toolnoise_code"
# Replaces a commit that git did not report.
COMMIT_IS, UNKNOWN = "toolnoise_commit", "unknown"
# The keys of a job's command line after `toolnoise` and, in the root, of the digests of all other statements.
COMMAND, CHAIN = "command", "statements"
TIME = "%Y-%m-%dT%H:%M:%S.%fZ"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
# Verifying a signature takes a process.
MOST_SIGNATURES = 64
WANTED = "an in-toto Statement v1 with SLSA provenance v1, as toolnoise writes it"

# Kinds of dependency. Inputs have statements of their own; a chain ends with any other kind.
INPUT, SOURCE, PACKAGE = "input", "source", "package"
CODE, RESOURCE, LOCK, COMMIT = "code", "resource", "lock", "commit"
KINDS = (INPUT, SOURCE, PACKAGE, CODE, RESOURCE, LOCK, COMMIT)


class Envelope(NamedTuple):
    """A payload and its signatures, each with `sig` in base64 and `keyid`, a hint; a bare statement has none."""

    payload: bytes
    signatures: tuple[dict[str, str], ...] = ()

    def signed_bytes(self) -> bytes:
        """The bytes that are signed: DSSE's pre-authentication encoding."""
        kind = PAYLOAD_TYPE.encode()
        return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(self.payload), self.payload)

    def sha256(self) -> str:
        """The digest of the payload: a statement has the same before and after it is signed."""
        return hashlib.sha256(self.payload).hexdigest()

    def as_json(self) -> dict[str, Any]:
        """The envelope as JSON values."""
        payload = base64.b64encode(self.payload).decode()
        return {"payload": payload, "payloadType": PAYLOAD_TYPE, "signatures": list(self.signatures)}


class Artifact(NamedTuple):
    """A file in a statement: an output, or a dependency of the outputs."""

    name: str
    sha256: str
    size: int | None = None
    role: str = ""
    kind: str = ""
    uri: str = ""
    timed: bool = False  # an output with times in it
    statement: str = ""  # for an input: the digest of the statement of the job that made it

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
    """The record of a job.

    When it is read with the results of a study, it gets the path of its file there, its digest, and whether it is
    signed.
    """

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
    chain: Mapping[str, str] | None = None  # in the root: the digest of every other statement of the study, by name
    command: tuple[str, ...] = ()  # the command that did the job; earlier versions did not record it
    unrepeatable: str = ""  # why the outputs cannot be made again
    counted: str = ""  # the digest of the code that affects the outputs: if it changes, they are made again
    path: str = ""
    sha256: str = ""
    is_signed: bool = False

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
        is_unknown = self.changes == UNKNOWN
        dependencies = [artifact.descriptor() for artifact in self.dependencies]
        for artifact in dependencies:
            if artifact.get("annotations", {}).get("kind") == COMMIT:
                artifact["annotations"] |= {"dirty": UNKNOWN if is_unknown else self.changes is not None}
                if self.changes and not is_unknown:
                    artifact["annotations"]["diff_sha256"] = self.changes
        notes = {PROCESS: self.process, RESUMED: self.resumed, UNREPEATABLE: self.unrepeatable, COUNTED: self.counted}
        notes[COMMIT_IS] = UNKNOWN if is_unknown and not self.commit else ""
        internal: dict[str, Any] = {"observed": self.observed}
        if self.command:
            internal[COMMAND] = list(self.command)
        if self.chain is not None:
            internal[CHAIN] = dict(self.chain)
        definition = {
            "buildType": f"urn:toolnoise:{self.verb}:1",
            "externalParameters": self.parameters,
            "internalParameters": internal,
            "resolvedDependencies": dependencies,
        }
        occasion = {"startedOn": self.started.strftime(TIME), "finishedOn": self.finished.strftime(TIME)}
        details = {
            "builder": {"id": BUILDER, "version": self.versions},
            "metadata": occasion | {key: value for key, value in notes.items() if value},
        }
        return {
            "_type": TYPE,
            "subject": [artifact.descriptor() for artifact in self.outputs],
            "predicateType": PREDICATE,
            "predicate": {"buildDefinition": definition, "runDetails": details},
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


def read_statement(path: str | Path) -> Statement:
    """Read and check a statement, with or without a signed envelope."""
    with readable(path, WANTED):
        return open_statement(unpack_envelope(read_bytes(path), path), path)


def unpack_envelope(content: bytes, path: str | Path) -> Envelope:
    """The envelope in a file's bytes; a bare statement gets one without signatures. Verification is elsewhere."""
    with readable(path, WANTED):
        value = parse_json(content.decode())
        if not isinstance(value, dict) or "payload" not in value:
            return Envelope(content)
        if value.get("payloadType") != PAYLOAD_TYPE:
            raise ValueError(f"payloadType: found {value.get('payloadType')!r}; allowed: {PAYLOAD_TYPE}")
        if len(listed := _at(value, "signatures", kind=list)) > MOST_SIGNATURES:
            raise ValueError(f"signatures: found {len(listed)}; at most {MOST_SIGNATURES}")
        signatures = [{"sig": _at(one, "sig", kind=str), "keyid": str(one.get("keyid", ""))} for one in listed]
        for one in signatures:
            base64.b64decode(one["sig"], validate=True)
        return Envelope(base64.b64decode(_at(value, "payload", kind=str), validate=True), tuple(signatures))


def open_statement(signed: Envelope, path: str | Path) -> Statement:
    """The statement in an envelope that was read from `path`."""
    with readable(path, WANTED):
        about = parse_json(signed.payload.decode())
        for key, wanted in (("_type", TYPE), ("predicateType", PREDICATE)):
            if _at(about, key, kind=str) != wanted:
                raise ValueError(f"{key}: found {about[key]!r}; allowed: {wanted}")
        definition = _at(about, "predicate", "buildDefinition")
        internal = _at(definition, "internalParameters")
        details = _at(about, "predicate", "runDetails")
        metadata = _at(details, "metadata")
        verb = BUILD_TYPE.fullmatch(_at(definition, "buildType", kind=str))
        outputs = tuple(_artifact(one, is_output=True) for one in _at(about, "subject", kind=list))
        if not verb or not outputs:
            raise ValueError(f"{definition['buildType']!r} is no job of toolnoise, or has no output")
        described = _at(definition, "resolvedDependencies", kind=list)
        dependencies = tuple(map(_artifact, described))
        of_commits = [notes for notes in map(_notes, described) if notes.get("kind") == COMMIT]
        changes = UNKNOWN if COMMIT_IS in metadata else None
        chain = _at(internal, CHAIN) if internal.get(CHAIN) is not None else None
        return Statement(
            verb[1],
            outputs,
            dependencies,
            _at(definition, "externalParameters"),
            _at(internal, "observed"),
            datetime.strptime(_at(metadata, "startedOn", kind=str), TIME),
            datetime.strptime(_at(metadata, "finishedOn", kind=str), TIME),
            _at(details, "builder", "version"),
            _changes(of_commits[0]) if of_commits else changes,
            str(metadata.get(PROCESS, "")),
            metadata.get(RESUMED),
            None if chain is None else {name: str(digest) for name, digest in chain.items()},
            tuple(map(str, _at(internal, COMMAND, kind=list))) if COMMAND in internal else (),
            str(metadata.get(UNREPEATABLE, "")),
            str(metadata.get(COUNTED, "")),
        )


def _at(value: Any, *keys: str, kind: type = dict) -> Any:
    """The value at the end of some keys of nested mappings; it must be of this kind."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    if not isinstance(value, kind):
        raise ValueError(f"{'.'.join(keys)}: found {type(value).__name__}")
    return value


def _changes(notes: dict[str, Any]) -> str | None:
    """The digest of the difference from a commit; None if it is not `dirty`, unknown if a digest is missing."""
    if notes.get("diff_sha256") is not None:
        return notes["diff_sha256"]
    return None if notes.get("dirty", False) is False else UNKNOWN


def _artifact(about: Any, *, is_output: bool = False) -> Artifact:
    """An output, or a dependency of one of the kinds, from its descriptor."""
    name, digest, notes = _at(about, "name", kind=str), _at(about, "digest"), _notes(about)
    if not is_output and notes.get("kind") not in KINDS:
        raise ValueError(f"{notes.get('kind')!r} is no kind of dependency")
    role, kind, made_by = (str(notes.get(key, "")) for key in ("role", "kind", "statement"))
    is_commit = kind == COMMIT and not is_output
    sha, size = _at(digest, "gitCommit" if is_commit else "sha256", kind=str), notes.get("size")
    # A second digest is not checked here, so it could contradict the first and mislead another reader.
    if len(digest) > 1 or not re.fullmatch(r"[0-9a-f]{64}" + "|[0-9a-f]{40}" * is_commit, sha):
        raise ValueError(f"{name!r} does not have one digest, {'gitCommit' if is_commit else 'sha256'}")
    if (size is not None or is_output) and (type(size) is not int or size < 0):
        raise ValueError(f"{name!r} has a size of {size!r}")
    return Artifact(name, sha, size, role, kind, str(about.get("uri", "")), notes.get("timed") is True, made_by)


def _notes(about: Any) -> dict[str, Any]:
    notes = about.get("annotations") if isinstance(about, dict) else None
    return notes if isinstance(notes, dict) else {}
