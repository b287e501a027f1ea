"""A signature for other people's tools: OpenSSF's model signing over every file of a study, in `model.sig`.

It is a Sigstore bundle: a DSSE envelope with an in-toto statement that has the digest of each file. `model_signing
verify` checks it without this program. Signatures with keys are made and verified by `openssl`. Those by Sigstore are
made by `model_signing` and verified by `sigstore`, offline, together with their proof of inclusion in the log.
"""

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base import files, shapes
from toolnoise.base.errors import BadInput
from toolnoise.base.shapes import TEXT, ValueKind
from toolnoise.record import envelope
from toolnoise.record.envelope import Envelope, Signature
from toolnoise.verify import tree
from toolnoise.verify.signing import last_line
from toolnoise.verify.tree import MODEL_SIGNATURE, Tree

BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json"
STATEMENT, PREDICATE = "https://in-toto.io/Statement/v1", "https://model_signing/signature/v1.0"
SERIALIZATION = {"method": "files", "hash_type": "sha256", "allow_symlinks": False}
WANTED = "a bundle from `toolnoise sign --model-signing` or from model_signing"
DIGEST = ValueKind("a SHA-256", lambda value: isinstance(value, str) and bool(re.fullmatch("[0-9a-f]{64}", value)))
SHAPE: dict[str, Any] = {
    "_type": shapes.one_of(STATEMENT),
    "predicateType": shapes.one_of(PREDICATE),
    "subject": [{"digest": {"sha256": DIGEST}}],
    "predicate": {
        "serialization": {"method": shapes.one_of("files"), "hash_type": shapes.one_of("sha256")},
        "resources": [{"name": TEXT, "algorithm": shapes.one_of("sha256"), "digest": DIGEST}],
    },
}
# By the identifier of a curve in the DER form of its keys: the hash that goes with it.
HASHES = {"06082a8648ce3d030107": "sha256", "06052b81040022": "sha384", "06052b81040023": "sha512"}
KEY = "an elliptic curve key in PEM, on P-256, P-384 or P-521"


class Bundle(NamedTuple):
    """A signature that is not verified yet: the bytes of its file, its envelope, and the digests that it is on."""

    path: Path
    content: bytes
    signed: Envelope
    digest: str
    digests: dict[str, str]

    def differences(self, present: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """The files, of these digests by path, that are not as they were signed."""
        for path in dict.fromkeys((*present, *self.digests)):
            if path not in self.digests:
                yield path, f"is not in the signature {self.path.name}"
            elif path not in present:
                yield path, f"is missing, and in the signature {self.path.name}"
            elif present[path] != self.digests[path]:
                yield path, f"its SHA-256 is {present[path]}; signed in {self.path.name}: {self.digests[path]}"


def sign(folder: str | Path, key: str | Path) -> int:
    """Sign the files of each study in a results folder; returns the number of files."""
    hashing, public = _public(key, "-pubout", "-in", key)
    studies = tree.load(folder).trees
    for study in studies:
        for path, what in study.strange.items():
            raise BadInput(study.root / path, "", f"is {what}", "plain files")
    for study in studies:
        payload = json.dumps(_statement(study.root.resolve().name, digests(study)), indent=2).encode()
        with tempfile.TemporaryDirectory() as place:
            Path(place, "message").write_bytes(Envelope(payload).signed_bytes())
            command = ("dgst", f"-{hashing}", "-sign", key, "-out", Path(place, "sig"), Path(place, "message"))
            done = _ran("openssl", *command)
            if done.returncode:
                raise BadInput(key, "", f"cannot sign ({last_line(done)})", KEY)
            signed = Envelope(payload, (Signature("", Path(place, "sig").read_bytes()),))
        material = {"publicKey": {"hint": hashlib.sha256(public).hexdigest()}, "tlogEntries": []}
        value = {"mediaType": BUNDLE, "verificationMaterial": material, "dsseEnvelope": signed.as_json()}
        files.write_json(study.root / MODEL_SIGNATURE, value)
    return sum(len(study.files) - (MODEL_SIGNATURE in study.files) for study in studies)


def digests(of: Tree, known: Mapping[str, str] | None = None) -> dict[str, str]:
    """The SHA-256 of each file of a study but the signature; those that are `known` are not read again."""
    known = known or {}
    paths = sorted(path for path in of.files if path != MODEL_SIGNATURE)
    return {path: known.get(path) or files.sha256(of.root / path) for path in paths}


def read(path: str | Path) -> Bundle:
    """Read a bundle; what it says is consistent, and may be signed by anybody."""
    path = Path(path)
    with files.readable(path, WANTED):
        content = files.read_bytes(path)
        value = files.parse_json(content.decode())
    shape = {"mediaType": shapes.one_of(BUNDLE), "verificationMaterial": {}, "dsseEnvelope": {"payload": TEXT}}
    shapes.require(value, shape, path, WANTED)
    signed = envelope.opened(value["dsseEnvelope"], path)
    if len(signed.signatures) != 1:
        raise BadInput(path, "signatures", f"found {len(signed.signatures)}", "one")
    with files.readable(path, WANTED):
        about = files.parse_json(signed.payload.decode())
    shapes.require(about, SHAPE, path, WANTED)
    resources = about["predicate"]["resources"]
    names = [resource["name"] for resource in resources]
    for name in names:
        if not files.is_below(name):
            raise BadInput(path, "resources", f"found the name {name!r}", "paths below the folder")
    whole = hashlib.sha256(b"".join(bytes.fromhex(resource["digest"]) for resource in resources)).hexdigest()
    if len(set(names)) < len(names) or [resource["digest"]["sha256"] for resource in about["subject"]] != [whole]:
        raise BadInput(path, "subject", "is not the digest of the files that it names", WANTED)
    return Bundle(path, content, signed, whole, {resource["name"]: resource["digest"] for resource in resources})


def verifier(signer: str) -> Callable[[Bundle], str]:
    """What says why a bundle is not signed by the owner of a public key, or by IDENTITY,ISSUER; nothing if it is."""
    if "," in signer and not Path(signer).exists():
        identity, issuer = signer.rsplit(",", 1)
        _program("sigstore")
        return lambda bundle: _sigstores_refusal(bundle, identity, issuer)
    hashing, public = _public(signer, "-pubin", "-in", signer)
    return lambda bundle: _refusal(bundle, hashing, public, signer)


def _refusal(bundle: Bundle, hashing: str, public: bytes, key: str) -> str:
    with tempfile.TemporaryDirectory() as place:
        Path(place, "key").write_bytes(public)
        Path(place, "sig").write_bytes(bundle.signed.signatures[0].blob)
        Path(place, "message").write_bytes(bundle.signed.signed_bytes())
        options = ("-verify", Path(place, "key"), "-signature", Path(place, "sig"), Path(place, "message"))
        done = _ran("openssl", "dgst", f"-{hashing}", *options)
    return f"is not signed with the key {key}" if done.returncode else ""


def _sigstores_refusal(bundle: Bundle, identity: str, issuer: str) -> str:
    with tempfile.TemporaryDirectory() as place:
        Path(place, "bundle").write_bytes(bundle.content)
        whose = (f"--cert-identity={identity}", f"--cert-oidc-issuer={issuer}")
        command = ("verify", "identity", "--offline", "--bundle", Path(place, "bundle"), *whose)
        done = _ran("sigstore", *command, f"sha256:{bundle.digest}")
    return f"is not signed by {identity} of {issuer}, or sigstore cannot verify it offline" if done.returncode else ""


def _statement(name: str, of: Mapping[str, str]) -> dict[str, Any]:
    whole = hashlib.sha256(b"".join(bytes.fromhex(digest) for digest in of.values())).hexdigest()
    return {
        "_type": STATEMENT,
        "subject": [{"name": name, "digest": {"sha256": whole}}],
        "predicateType": PREDICATE,
        "predicate": {
            "serialization": SERIALIZATION | {"ignore_paths": [MODEL_SIGNATURE]},
            "resources": [{"name": path, "algorithm": "sha256", "digest": digest} for path, digest in of.items()],
        },
    }


def _public(key: str | Path, *options: object) -> tuple[str, bytes]:
    """The hash that goes with a key, and its public half in PEM."""
    with files.readable(key, KEY):
        Path(key).open("rb").close()
    done = _ran("openssl", "pkey", *options, "-outform", "PEM")
    body = b"".join(done.stdout.splitlines()[1:-1])
    der = base64.b64decode(body).hex() if done.returncode == 0 else ""
    hashing = next((name for curve, name in HASHES.items() if curve in der[:60]), None)
    if hashing is None:
        raise BadInput(key, "", "is of another kind" if der else "cannot be read as a key", KEY)
    return hashing, done.stdout


def _ran(program: str, *arguments: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([_program(program), *map(str, arguments)], capture_output=True)


def _program(name: str) -> str:
    # What pip has installed beside this program is not always on the path.
    folders = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    if program := shutil.which(name, path=folders):
        return program
    wanted = "pip install sigstore" if name == "sigstore" else "it comes with OpenSSL"
    raise BadInput(name, "", "is not installed", wanted)
