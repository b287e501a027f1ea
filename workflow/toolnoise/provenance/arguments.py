"""Arguments that several verbs of verification share, and the keys that those of required signatures name."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from toolnoise.base.errors import BadInput
from toolnoise.commands.verb import option

if TYPE_CHECKING:
    from toolnoise.provenance.signing import AllowedSigners

RESULTS = {
    "RESULTS": {"nargs": "?", "default": "results", "help": "a results folder, or one study's folder in it (results)"}
}
RESULTS_OR_ARCHIVE = {
    "RESULTS": RESULTS["RESULTS"] | {"help": "a results folder, or the folder or archive of one study (results)"}
}
# Signatures: of every statement; of the root, too.
SIGNATURES = {
    "--require-signatures": option(
        "ALLOWED_SIGNERS", "reject statements that none of these people signed; a file as in ssh-keygen(1)"
    ),
    "--revoked-keys": option(
        "FILE", "reject signatures by these keys: public keys, one on each line, or a list from `ssh-keygen -k`"
    ),
}
SIGNATURES_AND_ROOT = SIGNATURES | {
    "--require-signature": option(
        "KEY", "require a signature of this public key on the root, the page's statement, which names all others"
    ),
    "--not-before": option(
        "DATE_OR_COMMIT",
        "reject a root that is older: made before this date (UTC unless it has an offset), or by a commit that "
        "does not descend from this one",
    ),
}


@contextmanager
def required_signers(options: argparse.Namespace) -> "Iterator[tuple[AllowedSigners | None, AllowedSigners | None]]":
    """Those who must have signed the statements, and the one who must have signed the root."""
    from toolnoise.provenance import signing

    listed, key, revoked = options.require_signatures, vars(options).get("require_signature"), options.revoked_keys
    if revoked and not (listed or key):
        wanted = "--require-signatures or --require-signature beside it"
        raise BadInput("command line", "--revoked-keys", "no signature is required", wanted)
    signers = signing.AllowedSigners(listed, revoked) if listed else None
    with signing.only(key, revoked) if key else nullcontext() as owner:
        yield signers, owner
