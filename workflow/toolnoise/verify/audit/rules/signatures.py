"""The rule about signatures, for results whose signers must be known."""

from toolnoise.verify.audit.evidence import Evidence, Found


def statements_are_signed(evidence: Evidence) -> Found:
    """Every statement has a signature by an allowed signer."""
    for stated in evidence.tree.all_stated:
        if why := evidence.signatures[stated.path].why:
            yield stated.statement.name, why
