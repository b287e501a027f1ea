"""What `audit` and `import` may demand of the root."""

import argparse
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from toolnoise.base.errors import BadInput
from toolnoise.commands.verb import option

if TYPE_CHECKING:
    from toolnoise.provenance.signing import Demand

DEMANDS = {
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


@contextmanager
def demanded(options: argparse.Namespace) -> "Iterator[list[Demand]]":
    """What the options of a command line demand of the root."""
    from toolnoise.provenance import signing

    if options.revoked_keys and not options.require_signature:
        raise BadInput("command line", "--revoked-keys", "no signature is required", "--require-signature beside it")
    demands = [signing.not_before(options.not_before)] if options.not_before else []
    with ExitStack() as stack:
        if options.require_signature:
            key = signing.signed_by(options.require_signature, options.revoked_keys)
            demands.append(stack.enter_context(key))
        yield demands
