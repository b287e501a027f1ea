"""Export: a study's results from all or some toolings as one archive; every byte is checked against its statement."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from toolnoise import steps
from toolnoise.base import files
from toolnoise.base.errors import BadInput
from toolnoise.base.progress import progress
from toolnoise.provenance import sharing, statements, tree
from toolnoise.provenance.archive import Member
from toolnoise.provenance.sharing import Counts
from toolnoise.provenance.signing import AllowedSigners
from toolnoise.provenance.statements import Artifact
from toolnoise.provenance.tree import Tree
from toolnoise.steps import Job
from toolnoise.study import grid as studies
from toolnoise.study import layout
from toolnoise.study.study import Study


def export(
    what: str | Path,
    out: str | Path,
    hardware: list[str] | None = None,
    *,
    predictions: bool = True,
    signers: str | Path | None = None,
) -> Counts:
    """Write the archive of a study, given by its configuration or its results folder, and a list of those who sign."""
    listed = _listed(signers) if signers else None
    here, study = _loaded(Path(what))
    for name in hardware or ():
        if name not in study.config["hardware"]:
            allowed = f"allowed: {', '.join(study.config['hardware'])}"
            raise BadInput("command line", "--hardware", f"no {name!r} in the study", allowed)
    jobs = list(steps.jobs(study))
    wanted = [job for job in jobs if sharing.travels(job) and (predictions or job.verb not in sharing.DUMPS)]
    if hardware is not None:
        wanted = [job for job in wanted if job.parameters["spec"]["hardware"]["name"] in hardware]
    finished = {job.outputs[0][0]: (job, content) for job in wanted if (content := _as_expected(here, job)) is not None}
    if not finished:
        raise BadInput(what, "", "has nothing to export", "a study with finished runs")
    owed: dict[str, Artifact] = {}
    for name, (_, content) in finished.items():
        owed |= {output.name: output for output in statements.parse(content, name).outputs}
    contents = {sharing.statement_name(job): content for job, content in finished.values()}
    read = {name for job, _ in finished.values() for name, _ in job.inputs}
    for job in jobs:
        if job.verb in sharing.STATED and job.outputs[0][0] in read and (content := _as_expected(here, job)):
            contents[sharing.statement_name(job)] = content
    if here.top:
        # It has the digests of the others: with a signature on it, it vouches for them elsewhere, too.
        contents[here.named(here.top.path)] = files.read_plain(here.root / here.top.path, statements.WANTED)
    with progress("exporting", sum(output.size or 0 for output in owed.values()), "B") as shown:
        sharing.pack(out, _members(here, contents, listed, owed, shown.update))
    missing = sum(job.needed for job in wanted) - sum(job.needed for job, _ in finished.values())
    return Counts(Counter(job.verb for job, _ in finished.values()), missing)


def _loaded(what: Path) -> tuple[Tree, Study]:
    study = studies.load(what / tree.STUDY_FILE if what.is_dir() else what)
    root = what if what.is_dir() else Path(study.path(layout.STUDY)).parent
    if not root.is_dir():
        raise BadInput(root, "", "no such folder", "the results of the study")
    return tree.load_study(root.absolute()), study


def _as_expected(here: Tree, job: Job) -> bytes | None:
    """The bytes of a job's statement; None if there is none, or if it belongs to another form of the study."""
    stated = here.producer(job.outputs[0][0])
    if stated is None or sharing.difference(stated.statement, job):
        return None
    path = here.root / stated.path
    content = files.read_plain(path, statements.WANTED)
    if statements.parse(content, path) != stated.statement:
        raise BadInput(path, "", "changed while it was read", "results that nothing writes to during the export")
    if any(output.size is None for output in stated.statement.outputs):
        raise BadInput(path, "subject", "lacks sizes", statements.WANTED)
    if len(content) > sharing.largest_statement(job):
        raise BadInput(path, "", f"has {len(content)} bytes", f"statements of at most {sharing.largest_statement(job)}")
    return content


def _listed(path: str | Path) -> bytes:
    """The bytes of a list of allowed signers."""
    AllowedSigners(path)
    content = Path(path).read_bytes()
    if len(content) > sharing.LARGEST_LIST:
        raise BadInput(path, "", f"has {len(content)} bytes", f"a list of at most {sharing.LARGEST_LIST}")
    return content


def _members(
    here: Tree,
    contents: dict[str, bytes],
    listed: bytes | None,
    owed: dict[str, Artifact],
    done: Callable[[int], object],
) -> Iterator[Member]:
    # Statements first: from them the reader knows which files may follow, and their sizes.
    for name, content in sorted(contents.items()):
        yield Member(name, len(content), iter([content]))
    if listed is not None:
        yield Member(sharing.SIGNERS, len(listed), iter([listed]))
    for name, output in sorted(owed.items()):
        size = output.size or 0
        yield Member(name, size, sharing.unchanged(_place(here, name), output.sha256, size, done))


def _place(here: Tree, name: str) -> Path:
    return here.root / str(here.inside(name))
