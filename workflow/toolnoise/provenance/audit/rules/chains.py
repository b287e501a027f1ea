"""Rules about chains: every artifact can be traced, digest by digest, to data and code from outside."""

import contextlib
from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from toolnoise.base.files import sha256
from toolnoise.datasets import sources
from toolnoise.datasets.sources import NOT_CHECKED
from toolnoise.provenance import repository
from toolnoise.provenance.audit import beside
from toolnoise.provenance.audit.evidence import Evidence, Found, each, shows_earlier_page
from toolnoise.provenance.audit.rules.code_origins import changed_since
from toolnoise.provenance.statements import CODE, COMMIT, INPUT, LOCK, PACKAGE, RESOURCE, SOURCE, Artifact, Statement
from toolnoise.steps import STEPS
from toolnoise.study import layout
from toolnoise.study.cells import Dataset, Training

# The kinds of dependency at which a chain may end.
ENDS = (SOURCE, PACKAGE)
REPOSITORY = (CODE, RESOURCE, LOCK, COMMIT)


@each
def inputs_are_what_was_made(evidence: Evidence, statement: Statement) -> Found:
    """Every input has the digest and the size in the statement of the job that made it."""
    for needed in () if shows_earlier_page(evidence, statement) else statement.inputs:
        made = evidence.output(needed.name)
        if made is None:
            yield statement.name, f"no statement made its input {needed.name}"
        elif (made.sha256, made.size) != (needed.sha256, needed.size):
            yield needed.name, f"differs from the file that {statement.name} was made from ({needed.sha256})"


@each
def inputs_are_the_jobs(evidence: Evidence, statement: Statement) -> Found:
    """Every job had the inputs that the study defines for it, with their roles and in their order."""
    # Other code may define others, so this asks nothing of a stale result.
    job = evidence.job(statement)
    stated = tuple((artifact.name, artifact.role) for artifact in statement.inputs)
    # Where the outcome cannot be made again, as of a report, the order does not matter.
    same = sorted if job and job.verb in STEPS and STEPS[job.verb].unrepeatable else tuple
    if job and same(stated) != same(job.inputs) and not changed_since(evidence, statement):
        other = sorted(set(stated) ^ set(job.inputs))
        which = f"differs in {other[0][0]} ({other[0][1]})" if other else "has them in another order"
        yield statement.name, f"was made from {len(stated)} files, the study's job {which}"


@each
def chains_end_in_sources(evidence: Evidence, statement: Statement) -> Found:
    """Every chain ends in declared data, in a package's file or in the repository; none breaks off."""
    name, verb = statement.name, statement.verb
    outside = verb in STEPS and STEPS[verb].outside
    for artifact in statement.dependencies:
        if artifact.kind not in (INPUT, *ENDS, *REPOSITORY):
            yield name, f"was made from {artifact.name}, of unknown kind {artifact.kind!r}"
        elif artifact.kind in ENDS and not (outside and (artifact.kind == SOURCE or STEPS[verb].packages)):
            yield name, f"a {verb} job cannot be made from a {artifact.kind}, such as {artifact.name}"
        elif artifact.kind != INPUT and evidence.tree.inside(artifact.name) is not None:
            yield name, f"calls {artifact.name}, a result, a {artifact.kind}"
    needed = verb in STEPS and any(not read.optional for read in STEPS[verb].reads.values())
    if needed and not statement.inputs:
        yield name, f"a {verb} job without inputs"


@each
def data_is_the_declared(evidence: Evidence, statement: Statement) -> Found:
    """Data sets come from the files that the study declares, with the published and the recorded digests."""
    job, name = evidence.job(statement), statement.name
    if job is None or job.verb not in STEPS or not STEPS[job.verb].outside:
        return
    if isinstance(job.place, Training):
        yield from _as_adopted(evidence, statement)
    if not isinstance(job.place, Dataset):
        return
    entry = job.parameters["entry"]
    declared, stated = sources.sources(entry), statement.made_of(SOURCE)
    if len(declared) != len(stated):
        yield name, f"comes from {len(stated)} files; the study declares {len(declared)}"
        return
    for source, file in zip(declared, stated, strict=True):
        if source["path"] != file.name and not source["path"].endswith(f"/{file.name}"):
            yield name, f"comes from {file.name}; the study declares {source['path']}"
        published = source.get("checksum", "").removeprefix("sha256:").lower()
        if source.get("checksum", "").startswith("sha256:") and published != file.sha256:
            yield name, f"comes from a {file.name} that differs from the published one"
    yield from _as_fetched(evidence, statement, stated)
    embedded, packages = sources.bundled(entry), statement.made_of(PACKAGE)
    uri = f"pkg:pypi/{embedded[0]}@{repository.versions(embedded[0]).get(embedded[0])}" if embedded else ""
    if STEPS[job.verb].packages and [file.name for file in packages] != ([embedded[1]] if embedded else []):
        yield name, f"comes from {', '.join(file.name for file in packages) or 'no package'}"
    for file in packages:
        if embedded and file.uri == uri and file.sha256 != sha256(repository.installed_file(*embedded)):
            yield name, f"comes from a {file.name} that differs from the one in {file.uri}"


def _as_adopted(evidence: Evidence, statement: Statement) -> Found:
    """The files that a run was adopted from, as far as they are beside the results."""
    for source in statement.made_of(SOURCE):
        where = beside.path(evidence.tree.root, source.name)
        if where and beside.same(where, source.sha256, source.size) is False:
            yield statement.name, f"was adopted from another {source.name} than the one here, which differs"


def chains_have_no_circle(evidence: Evidence) -> Found:
    """No artifact is made from itself, directly or through others."""
    jobs: TopologicalSorter[str] = TopologicalSorter()
    for stated in evidence.tree.statements:
        makers = (evidence.tree.producer(needed.name) for needed in stated.statement.inputs)
        jobs.add(stated.path, *(maker.path for maker in makers if maker))
    # Beside a circle, it still orders what does not follow from it.
    with contextlib.suppress(CycleError):
        jobs.prepare()
    ordered: set[str] = set()
    while ready := jobs.get_ready():
        ordered.update(ready)
        jobs.done(*ready)
    for stated in evidence.tree.statements:
        if stated.path not in ordered:
            yield stated.statement.name, "is made from itself, or from an artifact that is"


def _as_fetched(evidence: Evidence, statement: Statement, stated: Sequence[Artifact]) -> Found:
    """The prepared data and the record of fetching name the files that were fetched."""
    if not stated:
        return
    dataset = statement.parameters["dataset"]
    record = layout.SOURCES.format(study=evidence.tree.study.name, dataset=dataset)
    pairs = zip(sources.sources(statement.parameters["entry"]), stated, strict=True)
    fetched = [_fetched(source, file) for source, file in pairs]
    if evidence.record(record) != {"dataset": dataset, "sources": fetched}:
        yield statement.name, f"comes from other files than {record} lists"


def _fetched(source: sources.Source, file: Artifact) -> dict[str, Any]:
    """A file's entry in the record of fetching."""
    known = {key: source[key] for key in ("url", "page", "checksum") if source.get(key) not in (None, NOT_CHECKED)}
    return {"path": str(Path(source["path"])), "bytes": file.size, "sha256": file.sha256, **known}
