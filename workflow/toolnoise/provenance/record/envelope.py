"""DSSE envelopes: a statement and the signatures on it, in one JSON file.

What is signed is not the statement's bytes alone but DSSE's encoding of them with their type, so that no signature on
something else can be passed off as one on a statement. The payload is the statement file as it was, byte for byte.
"""

import base64
import json
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base.errors import BadInput

PAYLOAD_TYPE = "application/vnd.in-toto+json"
# Each costs a process to verify.
MOST_SIGNATURES = 64
WANTED = "a DSSE envelope as toolnoise sign writes it"


class Signature(NamedTuple):
    """A signature, and what its maker says is the key's name: a hint, which nothing relies on."""

    keyid: str
    blob: bytes


class Envelope(NamedTuple):
    """A payload and the signatures on it; a bare statement is one without any."""

    payload: bytes
    signatures: tuple[Signature, ...] = ()

    def signed_bytes(self) -> bytes:
        """What the signatures are on: DSSE's pre-authentication encoding."""
        kind = PAYLOAD_TYPE.encode()
        return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(self.payload), self.payload)

    def as_json(self) -> dict[str, Any]:
        """The envelope itself."""
        signatures = [{"keyid": one.keyid, "sig": base64.b64encode(one.blob).decode()} for one in self.signatures]
        return {
            "payload": base64.b64encode(self.payload).decode(),
            "payloadType": PAYLOAD_TYPE,
            "signatures": signatures,
        }


def unpack(content: bytes, path: str | Path) -> Envelope:
    """The envelope in a file's bytes; whether its signatures hold is told elsewhere."""
    try:
        value = json.loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise BadInput(path, "", f"damaged or truncated ({error})", WANTED) from None
    if not isinstance(value, dict) or "payload" not in value:
        return Envelope(content)
    if value.get("payloadType") != PAYLOAD_TYPE:
        raise BadInput(path, "payloadType", f"found {value.get('payloadType')!r}", f"allowed: {PAYLOAD_TYPE}")
    payload = _bytes(value["payload"], "payload", path)
    signatures = value.get("signatures")
    if not isinstance(signatures, list) or not all(isinstance(one, dict) for one in signatures):
        raise BadInput(path, "signatures", f"found {type(signatures).__name__}", "a list of signatures")
    if len(signatures) > MOST_SIGNATURES:
        raise BadInput(path, "signatures", f"found {len(signatures)}", f"at most {MOST_SIGNATURES}")
    return Envelope(
        payload,
        tuple(Signature(str(one.get("keyid", "")), _bytes(one.get("sig"), "sig", path)) for one in signatures),
    )


def _bytes(value: Any, key: str, path: str | Path) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (ValueError, TypeError):
        raise BadInput(path, key, "is no base64, or not all of it", WANTED) from None
