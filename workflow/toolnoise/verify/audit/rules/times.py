"""Rules about times: nothing is older than its inputs, and nothing comes from the future."""

from datetime import timedelta

from toolnoise.record import repository
from toolnoise.record.statements import COMMIT, TIME, Statement
from toolnoise.steps import STEPS
from toolnoise.verify.audit.evidence import Evidence, Found, each

# The largest difference between the clocks of machines that share work.
CLOCKS = timedelta(minutes=2)


@each
def times_are_possible(evidence: Evidence, statement: Statement) -> Found:
    """Every job began after its inputs and its commit were made, ended after it began, and not in the future."""
    name = statement.outputs[0].name
    if statement.finished < statement.started:
        yield name, f"ended at {statement.finished:{TIME}}, before it began at {statement.started:{TIME}}"
    if statement.finished > evidence.now + CLOCKS:
        yield name, f"ended at {statement.finished:{TIME}}, in the future"
    for one in statement.inputs:
        made = evidence.tree.producer(one.name)
        # Runs from another cluster lie beside data that was prepared here, perhaps later.
        elsewhere = made and made.statement.verb in ("prepare", "gather-labels") and STEPS[statement.verb].travels
        if made and not elsewhere and made.statement.finished > statement.started + CLOCKS:
            yield name, f"began at {statement.started:{TIME}}, before its input {one.name} was made"
    for one in statement.dependencies:
        when = repository.committed(one.sha256) if one.kind == COMMIT else None
        if when and statement.started < when - CLOCKS:
            yield name, f"began at {statement.started:{TIME}}, before its commit was made"
