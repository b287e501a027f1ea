"""Rules about times: nothing is older than its inputs, and nothing comes from the future."""

from datetime import timedelta

from toolnoise.base.printing import span
from toolnoise.record import repository
from toolnoise.record.statements import COMMIT, TIME, Statement
from toolnoise.steps import STEPS
from toolnoise.verify.audit.evidence import Evidence, Found, each


@each
def times_are_possible(evidence: Evidence, statement: Statement) -> Found:
    """Every job began after its inputs and its commit were made, ended after it began, and not in the future."""
    name = statement.name
    host = _host(statement)
    if statement.finished < statement.started:
        why = _set_back(host, statement.started - statement.finished)
        yield name, f"ended at {statement.finished:{TIME}}, before it began at {statement.started:{TIME}}{why}"
    if statement.finished > evidence.now + evidence.skew:
        ahead = span((statement.finished - evidence.now).total_seconds())
        why = f": the clock of {host} is {ahead} ahead" if host else ""
        yield name, f"ended at {statement.finished:{TIME}}, in the future{why}"
    for needed in statement.inputs:
        made = evidence.tree.producer(needed.name)
        # Runs from another cluster lie beside data that was prepared here, perhaps later.
        elsewhere = needed.role == "data" and STEPS[statement.verb].record.travels
        if made and not elsewhere and made.statement.finished > statement.started + evidence.skew:
            behind, other = made.statement.finished - statement.started, _host(made.statement)
            why = _set_back(host, behind)
            if host and other and host != other:
                why = f": the clock of {host} is {span(behind.total_seconds())} behind that of {other}"
            yield name, f"began at {statement.started:{TIME}}, before its input {needed.name} was made{why}"
    for needed in statement.dependencies:
        when = repository.committed(needed.sha256) if needed.kind == COMMIT else None
        if when and statement.started < when - evidence.skew:
            behind = span((when - statement.started).total_seconds())
            why = f": or the clock of {host} is {behind} behind" if host else ""
            yield name, f"began at {statement.started:{TIME}}, before its commit was made{why}"


def _host(statement: Statement) -> str:
    """Where a job ran; nothing if that was left out."""
    return str(statement.observed.get("host", ""))


def _set_back(host: str, by: timedelta) -> str:
    return f": the clock of {host} was set back by {span(by.total_seconds())}" if host else ""
