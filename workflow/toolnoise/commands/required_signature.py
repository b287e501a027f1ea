"""What `audit` and `import` may ask of the root, and the key that must have signed it."""

import argparse
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from toolnoise.base.errors import BadInput
from toolnoise.commands.verb import option

if TYPE_CHECKING:
    from toolnoise.provenance.signing import RequiredKey

SIGNATURE = {
    "--require-signature": option(
        "KEY", "require a signature of this public key on the root, the page's statement, which names all others"
    ),
    "--revoked-keys": option(
        "FILE", "reject signatures by these keys: public keys, one on each line, or a list from `ssh-keygen -k`"
    ),
    "--not-before": option(
        "DATE_OR_COMMIT",
        "reject a root that is older: made before this date (UTC unless it has an offset), or by a commit that "
        "does not descend from this one",
    ),
}


def required_key(options: argparse.Namespace) -> "AbstractContextManager[RequiredKey | None]":
    """The key that must have signed the root, if one must have."""
    from toolnoise.provenance import signing

    if options.require_signature:
        return signing.only(options.require_signature, options.revoked_keys)
    if options.revoked_keys:
        raise BadInput("command line", "--revoked-keys", "no signature is required", "--require-signature beside it")
    return nullcontext()
