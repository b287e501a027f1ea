"""DSSE envelopes: a statement and its signatures, in one JSON file.

A signature covers DSSE's encoding of the statement's bytes together with their type. So a signature on something else
cannot pass for one on a statement. The payload is the statement file, byte for byte.
"""

import base64
import hashlib
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base.errors import BadInput
from toolnoise.base.files import parse_json

PAYLOAD_TYPE = "application/vnd.in-toto+json"
# Each takes a process to verify.
MOST_SIGNATURES = 64
WANTED = "a DSSE envelope from toolnoise sign"


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


def unpack(content: bytes, path: str | Path) -> Envelope:
    """The envelope in a file's bytes, or the bare statement that they are; signatures are verified elsewhere."""
    try:
        value = parse_json(content.decode())
    except (ValueError, RecursionError) as error:
        raise BadInput(path, "", f"damaged or truncated ({error})", WANTED) from None
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
        raise BadInput(path, key, "is not valid base64", WANTED) from None
