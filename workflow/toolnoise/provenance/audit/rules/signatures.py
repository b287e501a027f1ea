"""The rule about signatures, for results that are to be believed on somebody's word."""

from toolnoise.provenance.audit.evidence import Evidence, Found, at


def statements_are_signed(evidence: Evidence) -> Found:
    """Every statement is signed by somebody who may."""
    for one in evidence.tree.statements:
        if why := evidence.signatures[one.path].why:
            yield at(one), why
