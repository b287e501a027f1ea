"""Rules about specifications: parameters, paths, records and the study agree."""

from toolnoise import streams
from toolnoise.base.noise_sources import DRAW, OPTIONAL, draws
from toolnoise.base.spec import Spec
from toolnoise.provenance.audit.evidence import Evidence, Found, differences, each, stated_outputs, without_narrow
from toolnoise.provenance.statements import Statement
from toolnoise.steps import STEPS, outputs
from toolnoise.study.cells import MODES, Profile
from toolnoise.study.variants import Variant, variant


@each
def path_says_the_spec(evidence: Evidence, statement: Statement) -> Found:
    """The outputs of a statement are those of its verb, at the paths that follow from its parameters."""
    stated = stated_outputs(statement)
    job = evidence.job(statement)
    as_planned = job is not None and job.parameters == statement.parameters
    wanted = job.outputs if as_planned else outputs(statement.verb, statement.parameters, evidence.tree.name)
    if stated not in (wanted, without_narrow(wanted)):
        other = next((output for output in stated if output not in wanted), stated[0])
        yield other[0], f"does not follow from its parameters: {', '.join(name for name, _ in wanted)}"


@each
def records_agree(evidence: Evidence, statement: Statement) -> Found:
    """The record of a result has the spec and the observations in its statement."""
    role = STEPS[statement.verb].record.option if statement.verb in STEPS else ""
    name = next((output.name for output in statement.outputs if output.role == role), None)
    if not role or name is None:
        return
    record, spec = evidence.record(name), statement.parameters["spec"]
    if role == "index":
        # What a training does without is known to the network alone.
        unused = set(record.get("unused", ())).intersection(OPTIONAL)
        drawn = draws(Spec.read(spec), record["seeds"], unused) if "draws" in record else {}
        spec = {key: value for key, value in spec.items() if key not in ("seed", "draw")}
        job = evidence.job(statement)
        seeds = [evidence.record(path)["spec"]["seed"] for path, of in (job.inputs if job else ()) if of == "records"]
        if job and record["seeds"] != seeds:
            yield name, f"has the seeds {record['seeds']}; stated: {seeds}"
        # Dumps made before indices had draws have none.
        other = differences(drawn, record.get("draws", {}))
        if other:
            yield name, f"has draws that do not follow from its seeds: {', '.join(other[:5])}"
    stated = {"spec": spec, "observed": statement.observed}
    if "trained_on" in statement.parameters:
        stated["trained_on"] = statement.parameters["trained_on"]
    for key, value in stated.items():
        other = differences(record[key], value)
        if other:
            yield name, f"differs from its statement in {key}: {', '.join(other[:5])}"


@each
def made_for_this_study(evidence: Evidence, statement: Statement) -> Found:
    """Every job has the parameters that follow from the present study.json; a finding names the differences."""
    job = evidence.job(statement)
    other = differences(job.parameters, statement.parameters) if job else []
    if other:
        yield statement.name, f"was made for another study: {', '.join(other[:5])} differ"


@each
def keys_follow(_evidence: Evidence, statement: Statement) -> Found:
    """The keys of every draw follow from the study's seed, the variant and the run's seed."""
    if "spec" not in statement.parameters and "keys" not in statement.parameters:
        return
    spec, name = statement.parameters["spec"], statement.name
    given = spec["variant"]
    of_mode = statement.verb in STEPS and STEPS[statement.verb].place is Profile
    known = Variant(MODES[given["name"]]) if of_mode else variant(given["name"])
    if known is None:
        yield name, f"there is no variant {given['name']!r}"
        return
    if given["varying"] != list(known.varying):
        yield name, f"the variant {given['name']} lets {', '.join(known.varying) or 'nothing'} vary"
    if given.get("bit_after") != (known.bit_after if "bit" in known.varying else None):
        yield name, f"the variant {given['name']} does not move a bit after {given.get('bit_after')} epochs"
    if "draw" in spec and spec["draw"] != spec["seed"] // DRAW:
        yield name, f"its seed {spec['seed']} is not of draw {spec['draw']}"
    as_known = {**spec, "variant": {**given, "varying": list(known.varying)}}
    other = differences(streams.keys(Spec.read(as_known)), statement.parameters["keys"])
    if other:
        yield name, f"has keys that do not follow from its seeds: {', '.join(other[:5])}"
