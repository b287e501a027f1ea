"""A study's statements as the entities of a Provenance Run Crate 0.5: plain JSON-LD, before anything is packed.

The prospective part: the workflow, its steps (the rules), their tools (the verbs) and the tools' parameters. The
retrospective part: an action per job, with its inputs, its parameters, the observed machine and its outputs. Values
and sets of code files that many jobs share are one entity each, so the crate grows only with the number of jobs.
"""

import hashlib
import itertools
import json
import math
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from toolnoise import steps
from toolnoise.base.errors import BadInput
from toolnoise.base.printing import escaped
from toolnoise.record.statements import COMMIT, FOLDER, INPUT, SUFFIX, TYPE, UNKNOWN, Artifact, Statement
from toolnoise.steps import STEPS
from toolnoise.verify.crate.citation import Author, Credits
from toolnoise.verify.crate.contents import PROGRAM, Content, Contents, in_memory
from toolnoise.verify.crate.entities import README, Entity, Graph, references
from toolnoise.verify.tree import Stated, Tree

WORKFLOW = "Snakefile"
SNAKEMAKE = "https://snakemake.github.io"
WORKFLOW_CRATE = "https://w3id.org/workflowhub/workflow-ro-crate/1.0"
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/ro/wfrun/provenance/0.5": "Provenance Run Crate",
    WORKFLOW_CRATE: "Workflow RO-Crate",
}
# Workflow Run RO-Crate's own terms, missing in RO-Crate 1.1's context. They are inline, so nothing must be fetched.
TERMS = {name: f"https://w3id.org/ro/terms/workflow-run#{name}" for name in ("environment", "sha256")}


def describe(tree: Tree, contents: Contents, owners: Credits, makers: Credits) -> Graph:
    """The graph of a study with its authors (`owners`) and the program's authors (`makers`)."""
    stated = tree.statements
    for made in stated:
        if made.statement.verb not in STEPS:
            what, allowed = f"unknown verb {made.statement.verb!r}", f"allowed: {', '.join(STEPS)}"
            raise BadInput(tree.root / made.path, "buildType", what, allowed)
    by_age = sorted(stated, key=lambda made: (made.statement.finished, made.path), reverse=True)
    graph = Graph(by_age[0].statement.finished.date().isoformat())
    agents = _authors(graph, owners)
    _root(graph, tree, agents, _licence(graph, owners.licence))
    program = {"license": {"@id": _licence(graph, makers.licence)}}
    used = contents.program()
    _workflow(graph, by_age[0].statement, used.pop(WORKFLOW), _authors(graph, makers), program)
    for name, content in used.items():
        graph.file(Artifact(name, content.sha256, content.size), content, **program)
    _files(graph, contents, [made.statement for made in by_age], program)
    for made in stated:
        _job(graph, tree, contents, made, agents)
    _run(graph, stated, agents)
    _readme(graph, tree, owners)
    return graph


def _files(graph: Graph, contents: Contents, statements: list[Statement], program: Entity) -> None:
    """Add every file that a statement names. Of two files with one name, the first one is packed."""
    # Outputs before inputs, and the newest first.
    made = (output for statement in statements for output in statement.outputs)
    needed = (needed for statement in statements for needed in statement.dependencies if needed.kind != COMMIT)
    for artifact in itertools.chain(made, needed):
        if not graph.knows(artifact):
            graph.file(artifact, contents.of(artifact), **(program if artifact.kind in PROGRAM else {}))


def _root(graph: Graph, tree: Tree, agents: list[str], licence: str) -> None:
    graph.add(
        "./",
        "Dataset",
        name=f"{tree.name}: a study of toolnoise",
        description=f"The study {tree.name!r} of the noise of training deep networks: {len(tree.statements)} jobs with"
        " their parameters and inputs, as toolnoise recorded them when they were done.",
        datePublished=graph.published,
        license={"@id": licence},
        mainEntity={"@id": WORKFLOW},
    )
    graph.link("./", "author", *agents)
    groups = [agent for agent in agents if not agent.startswith("https://orcid.org/")]
    graph.link("./", "publisher", *groups[:1])
    for profile, name in PROFILES.items():
        graph.add(profile, "CreativeWork", name=name, version=profile.rsplit("/", 1)[1])
    graph.link("./", "conformsTo", *PROFILES)


def _authors(graph: Graph, named: Credits) -> list[str]:
    return [_author(graph, author) for author in named.authors]


def _author(graph: Graph, author: Author) -> str:
    properties = {"url": author.website or {"@id": README}}
    if author.is_group:
        return graph.add(f"#organization/{quote(author.name)}", "Organization", name=author.name, **properties)
    person = graph.add(author.orcid or f"#person/{quote(author.name)}", "Person", name=author.name, **properties)
    if author.affiliation:
        group = Author(author.affiliation, is_group=True)
        graph.link(person, "affiliation", _author(graph, group))
    return person


def _licence(graph: Graph, name: str) -> str:
    address = f"https://spdx.org/licenses/{quote(name)}"
    return graph.add(
        address, "CreativeWork", name=name, description=f"The licence {name}, as listed by SPDX.", url=address
    )


def _workflow(graph: Graph, last: Statement, content: Content, authors: list[str], program: Entity) -> None:
    graph.pack(
        WORKFLOW,
        ["File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"],
        content,
        name="toolnoise",
        description="Measures how much of a trained network is noise: Snakemake rules around toolnoise's verbs.",
        version=last.commit or last.versions.get("toolnoise", "unknown"),
        url={"@id": README},
        **program,
        conformsTo={"@id": "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"},
    )
    graph.link(WORKFLOW, "author", *authors)
    version = last.versions.get("snakemake", "unknown")
    graph.add(SNAKEMAKE, "SoftwareApplication", name="Snakemake", url=SNAKEMAKE, softwareVersion=version)


def _job(graph: Graph, tree: Tree, contents: Contents, made: Stated, agents: list[str]) -> None:
    statement, verb = made.statement, made.statement.verb
    path = made.path.removeprefix(f"{FOLDER}/").removesuffix(SUFFIX)
    tool, step = _tool(graph, statement), _step(graph, statement)
    job = graph.add(
        f"#job/{quote(path)}",
        "CreateAction",
        name=f"{verb} {escaped(path)}",
        description=STEPS[verb].says,
        actionStatus="http://schema.org/CompletedActionStatus",
        instrument={"@id": tool},
        **_times([statement]),
    )
    graph.link(job, "agent", *agents)
    graph.link("./", "mentions", job)
    for output in statement.outputs:
        graph.link(job, "result", _example(graph, tool, "output", output))
    for needed in statement.dependencies:
        if needed.kind not in (*PROGRAM, COMMIT):
            graph.link(job, "object", _example(graph, tool, "input", needed))
    for name, value in _leaves(statement.parameters):
        parameter = graph.add(f"#parameter/{verb}/value/{quote(name)}", "FormalParameter", name=name)
        graph.link(tool, "input", parameter)
        graph.link(job, "object", _value(graph, verb, name, value, parameter))
    code = statement.made_of(*PROGRAM)
    if code:
        graph.link(job, "object", _code(graph, verb, code))
    _environment(graph, tool, job, statement)
    control = graph.add(
        f"#control/{quote(path)}",
        "ControlAction",
        name=f"orchestrate {verb} {escaped(path)}",
        instrument={"@id": step},
        object={"@id": job},
    )
    graph.link("#run/snakemake", "object", control)
    graph.link(_statement(graph, tree, contents, made.path), "about", job)


def _tool(graph: Graph, statement: Statement) -> str:
    verb = statement.verb
    tool = graph.add(
        f"#verb/{verb}",
        "SoftwareApplication",
        name=f"toolnoise {verb}",
        description=STEPS[verb].says,
        softwareVersion=statement.versions.get("toolnoise", "unknown"),
        url={"@id": README},
    )
    graph.link(WORKFLOW, "hasPart", tool)
    return tool


def _step(graph: Graph, statement: Statement) -> str:
    verb, rule = statement.verb, steps.rule(statement.verb, statement.parameters)
    # Steps of one verb have the same position.
    position = str(list(STEPS).index(verb) + 1)
    step = graph.add(
        f"#step/{quote(rule)}", "HowToStep", name=rule, position=position, workExample={"@id": f"#verb/{verb}"}
    )
    graph.link(WORKFLOW, "step", step)
    return step


def _example(graph: Graph, whole: str, way: str, artifact: Artifact) -> str:
    """Link a file that a tool or the workflow read or wrote as an example of the parameter for its role."""
    role = artifact.role or artifact.kind
    scope = whole.removeprefix("#verb/")
    parameter = graph.add(f"#parameter/{scope}/{way}/{quote(role)}", "FormalParameter", name=role)
    graph.type_parameter(parameter, "File")
    graph.link(whole, way, parameter)
    file = graph.known(artifact)
    graph.link(file, "exampleOfWork", parameter)
    return file


def _value(graph: Graph, scope: str, name: str, value: Any, parameter: str = "") -> str:
    """The entity of a named value; all users of the value share it."""
    text = json.dumps(value)
    key = quote(text) if len(text) <= 64 else hashlib.sha256(text.encode()).hexdigest()
    entity = graph.add(f"#value/{scope}/{quote(name, safe='')}/{key}", "PropertyValue", name=name, value=value)
    if parameter:
        kinds = {bool: "Boolean", int: "Integer", float: "Float", str: "Text"}
        graph.type_parameter(parameter, kinds[type(value)])
        graph.link(entity, "exampleOfWork", parameter)
    return entity


def _code(graph: Graph, verb: str, code: Sequence[Artifact]) -> str:
    """The entity of a job's program files; all jobs with the same files share it."""
    files = sorted(graph.known(artifact) for artifact in code)
    main = f"workflow/{STEPS[verb].module.replace('.', '/')}.py"
    entry = next((graph.known(artifact) for artifact in code if artifact.name == main), files[0])
    digest = hashlib.sha256("\n".join([entry, *files]).encode()).hexdigest()
    collection = graph.add(f"#code/{digest[:16]}", "Collection", name=f"code of {verb}", mainEntity={"@id": entry})
    graph.link(collection, "hasPart", *files)
    graph.link("./", "mentions", collection)
    return collection


def _environment(graph: Graph, tool: str, job: str, statement: Statement) -> None:
    """Add the environment variables, and one record of everything else known about machine and program."""
    observed = dict(statement.observed)
    variables = observed.pop("variables", {})
    for name, value in _leaves(variables if isinstance(variables, dict) else {}):
        parameter = graph.add(f"#parameter/environment/{quote(name)}", "FormalParameter", name=name)
        graph.link(tool, "environment", parameter)
        graph.link(job, "environment", _value(graph, "environment", name, value, parameter))
    known = {
        **observed,
        "program": {
            **statement.versions,
            **({"commit": statement.commit} if statement.commit else {}),
            **({"changes_sha256": statement.changes} if statement.changes not in (None, "", UNKNOWN) else {}),
        },
    }
    values = [_value(graph, "machine", name, value) for name, value in _leaves(known)]
    digest = hashlib.sha256("\n".join(values).encode()).hexdigest()
    machine = f"#machine/{digest[:16]}"
    graph.link(job, "environment", graph.add(machine, "PropertyValue", name="machine", value=references(values)))


def _statement(graph: Graph, tree: Tree, contents: Contents, path: str) -> str:
    """Add the statement behind a job's entities."""
    content = contents.statement(path)
    graph.add(TYPE, "CreativeWork", name="in-toto Statement", version="1")
    artifact = Artifact(tree.named(path), content.sha256, content.size)
    return graph.file(artifact, content, conformsTo={"@id": TYPE})


def _run(graph: Graph, stated: tuple[Stated, ...], agents: list[str]) -> None:
    """Add the workflow as a whole: from the inputs that no job made to the outputs that no job read."""
    statements = [made.statement for made in stated]
    read = {(needed.name, needed.sha256) for statement in statements for needed in statement.dependencies}
    run = graph.add(
        "#run/workflow",
        "CreateAction",
        name="run of the workflow",
        description=f"{len(stated)} jobs, from the first to the last; not necessarily in one session.",
        actionStatus="http://schema.org/CompletedActionStatus",
        instrument={"@id": WORKFLOW},
        **_times(statements),
    )
    engine = graph.add(
        "#run/snakemake",
        "OrganizeAction",
        name="run of Snakemake",
        instrument={"@id": SNAKEMAKE},
        result={"@id": run},
        **_times(statements),
    )
    graph.link("./", "mentions", run, engine)
    graph.link(run, "agent", *agents)
    graph.link(engine, "agent", *agents)
    for statement in statements:
        for needed in statement.dependencies:
            if needed.kind not in (INPUT, *PROGRAM, COMMIT):
                graph.link(run, "object", _example(graph, WORKFLOW, "input", needed))
        for output in statement.outputs:
            if statement.verb == steps.CONFIGURE:
                graph.link(run, "object", graph.known(output))
            elif (output.name, output.sha256) not in read:
                graph.link(run, "result", _example(graph, WORKFLOW, "output", output))


def _readme(graph: Graph, tree: Tree, owners: Credits) -> None:
    names = ", ".join(author.name for author in owners.authors)
    content = in_memory(
        f"""# {escaped(tree.name)}: a study of toolnoise

How much of a trained network is noise: {len(tree.statements)} jobs and their results. By {names}; {owners.licence}.

This is an RO-Crate. For each job, ro-crate-metadata.json lists the verb of toolnoise, the parameters, the files that it
read and wrote, with size and SHA-256, its code, and its machine. The workflow is {WORKFLOW}.
Every job's own statement is in results/{escaped(tree.name)}/{FOLDER}/, as an in-toto Statement.

A file whose id begins with #file/ is not in this crate: only its name, its size and its SHA-256 are.
""".encode()
    )
    graph.pack(README, "File", content, about={"@id": "./"})


def _times(statements: Sequence[Statement]) -> Entity:
    first, last = min(done.started for done in statements), max(done.finished for done in statements)
    moments = {"startTime": first, "endTime": last}
    return {name: f"{moment.isoformat(timespec='milliseconds')}+00:00" for name, moment in moments.items()}


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every single value with its dotted name; a list becomes JSON text, because JSON-LD lists have no order."""
    if isinstance(value, dict) and (value or not name):
        for key, below in value.items():
            yield from _leaves(below, f"{name}.{key}" if name else key)
    elif isinstance(value, (dict, list)) or value is None or (isinstance(value, float) and not math.isfinite(value)):
        yield name, json.dumps(value)
    else:
        yield name, value
