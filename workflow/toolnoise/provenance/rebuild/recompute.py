"""The audit's rule for `--recompute`: every result that needs no training is made again and compared."""

from toolnoise.provenance.audit.evidence import Evidence, Found
from toolnoise.provenance.audit.rules import rule
from toolnoise.provenance.rebuild.sampling import Made
from toolnoise.steps import STEPS
from toolnoise.study.cells import Training


def results_are_reproduced(evidence: Evidence) -> Found:
    """Every result but the trained runs, made again from its statement, has the same bits."""
    # Imported here: an audit without this rule does without what jobs need.
    from toolnoise.provenance.rebuild import rebuilding

    dear = {verb for verb, step in STEPS.items() if step.place is Training or step.unrepeatable}
    jobs = [Made(evidence.tree, stated.path, stated.statement) for stated in evidence.tree.statements]
    cheap = [made for made in jobs if made.statement.verb in STEPS.keys() - dear]
    for outcome in rebuilding.rebuild(cheap, keep=False):
        if outcome.verdict in (rebuilding.DIFFERS, rebuilding.LACKING):
            yield outcome.made.statement.name, f"{outcome.verdict}: {'; '.join(outcome.lines)}"


RULE = rule(results_are_reproduced)
