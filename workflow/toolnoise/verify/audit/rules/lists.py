"""The rule about the list of what a slim copy does not have: it can hide nothing."""

from toolnoise.verify import left_out
from toolnoise.verify.audit.evidence import Evidence, Found


def only_what_slim_leaves_out_is(evidence: Evidence) -> Found:
    """What is left out is what `toolnoise slim` leaves out; if its list has a statement, it is the root's and fits."""
    tree, name = evidence.tree, evidence.tree.named(left_out.FILE)
    for path in tree.listed.refused if tree.listed else ():
        yield tree.named(path), "is listed as left out, and no slim copy leaves it out"
    for path in tree.left_out:
        if path not in tree.producers:
            yield tree.named(path), "is listed as left out, and no statement made it"
    if tree.list_stated is None:
        # Lists were without one once: the verdict says so.
        return
    statement = tree.list_stated.statement
    stated = [(output.name, output.sha256, output.size) for output in statement.outputs]
    if tree.listed is None:
        yield name, "is stated but missing"
    elif statement.verb != left_out.VERB or stated != [(name, tree.listed.sha256, tree.listed.size)]:
        yield name, f"its SHA-256 is {tree.listed.sha256}; its statement is one of {statement.verb} with {stated[:1]}"
    if statement.chain != tree.chain:
        yield name, "was listed for other results: its statement does not name the root that is here"
