"""The rule about signatures, for results whose signers must be known."""

from toolnoise.verify.audit.evidence import Evidence, Found, at


def statements_are_signed(evidence: Evidence) -> Found:
    """Every statement has a signature by an allowed signer."""
    for one in evidence.tree.all_stated:
        if why := evidence.signatures[one.path].why:
            yield at(one), why
