"""Rules about files: each has a statement, none is missing, none has changed, and all are plain files.

The list of what a slim copy does not have can hide nothing.
"""

from toolnoise.provenance import left_out
from toolnoise.provenance.audit.evidence import Evidence, Found, each
from toolnoise.provenance.audit.rules.code_origins import changed_since
from toolnoise.provenance.statements import Statement, path_for
from toolnoise.provenance.tree import CHECKPOINTS
from toolnoise.study import layout
from toolnoise.study.cells import Shown


def statements_can_be_read(evidence: Evidence) -> Found:
    """Every file under statements/ is a statement in the recorder's format."""
    for path, error in evidence.tree.unreadable.items():
        yield evidence.tree.named(path), str(error)


def every_file_is_stated(evidence: Evidence) -> Found:
    """Every file is an output of exactly one statement."""
    tree = evidence.tree
    for path in tree.artifacts:
        makers = tree.producers.get(path, ())
        if len(makers) != 1:
            several = ", ".join(maker.path for maker in makers[:3])
            what = f"is an output of {len(makers)} statements: {several}" if makers else "has no statement"
            yield tree.named(path), what


@each
def every_output_is_there(evidence: Evidence, statement: Statement) -> Found:
    """Every file in a statement exists, or is left out of a slim copy with the digest in its statement."""
    for output in statement.outputs:
        path = evidence.tree.inside(output.name)
        if path is None:
            yield output.name, f"lies outside the study {evidence.tree.name!r}, whose statement names it"
        elif evidence.tree.lacks(path):
            yield output.name, "is stated but missing"
        elif evidence.tree.left_out.get(path, output.sha256) != output.sha256:
            yield output.name, f"is left out with the SHA-256 {evidence.tree.left_out[path]}; stated: {output.sha256}"


@each
def digests_match(evidence: Evidence, statement: Statement) -> Found:
    """Every file has the size and the SHA-256 in its statement."""
    for output in statement.outputs:
        path = evidence.tree.inside(output.name)
        if path not in evidence.tree.files:
            continue
        size, hashed = evidence.tree.files[path], evidence.hashed.get(path)
        if size != output.size:
            yield output.name, f"has {size} bytes; stated: {output.size}"
        elif hashed is None or hashed.why:
            yield output.name, f"cannot be read ({hashed.why if hashed else 'it is not hashed'})"
        elif hashed.sha256 != output.sha256:
            yield output.name, f"its SHA-256 is {hashed.sha256}; stated: {output.sha256}"
        elif hashed.size != size:
            yield output.name, "changed while the audit ran"


def only_plain_files(evidence: Evidence) -> Found:
    """There are no symbolic links, scratch files or unreadable folders."""
    tree = evidence.tree
    for path, what in tree.strange.items():
        yield tree.named(path), f"is {what}" if not what.startswith(("gone", "cannot")) else what
    for path in tree.files:
        if any(part.startswith(".") for part in path.split("/")):
            left = "left by an interrupted job (`toolnoise audit --clean` removes that), or put there"
            yield tree.named(path), f"is hidden: {left}"


def nothing_else_is_there(evidence: Evidence) -> Found:
    """The study names every file and every statement."""
    tree = evidence.tree
    if tree.study is None:
        return
    named = {name for job in evidence.jobs.values() for name, _ in job.outputs}
    for path in tree.artifacts:
        if tree.named(path) not in named:
            yield tree.named(path), "is not part of the study"
    study = tree.study
    unfinished = {path for cell in study.cells for path in study.runs(layout.CHECKPOINT, cell)}
    for path in tree.files:
        if path.startswith(f"{CHECKPOINTS}/") and tree.named(path) not in unfinished:
            yield tree.named(path), "is not a checkpoint of one of the study's runs"
    for stated in tree.statements:
        if evidence.job(stated.statement) is None:
            yield stated.statement.name, f"states a {stated.statement.verb} job that is not part of the study"


def no_checkpoint_is_left(evidence: Evidence) -> Found:
    """No checkpoint lies beside a finished run: if the run were made again, training would start from it."""
    tree, study = evidence.tree, evidence.tree.study
    for cell in study.cells if study else ():
        for kept, record in zip(study.runs(layout.CHECKPOINT, cell), study.runs(layout.RECORD, cell), strict=True):
            if tree.inside(kept) in tree.files and tree.inside(record) in tree.files:
                yield kept, f"lies beside the finished run {record}: remove it"


def study_is_complete(evidence: Evidence) -> Found:
    """The study can be read, and every file that it names exists, or is left out of a slim copy."""
    tree = evidence.tree
    if tree.study is None:
        yield tree.named("study.json"), tree.why
        return
    shown = _shown(evidence)
    for job in evidence.jobs.values():
        for name, _ in job.outputs:
            unknown = isinstance(job.place, Shown) and shown is not None and name not in shown
            if job.needed and tree.lacks(tree.inside(name)) and not unknown:
                yield name, "is missing"


def _shown(evidence: Evidence) -> set[str] | None:
    """What a stale page shows. The code that wrote it may not have had each kind of figure that there is now."""
    page = evidence.tree.producer(evidence.tree.study.path(layout.PAGE))
    if page is None or not changed_since(evidence, page.statement):
        return None
    return {figure.name for figure in page.statement.inputs}


def only_what_slim_leaves_out_is(evidence: Evidence) -> Found:
    """What is left out is what slim copies leave out; if its list has a statement, it is the root's and fits."""
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


def statements_lie_in_place(evidence: Evidence) -> Found:
    """Every statement lies at the path that follows from its first output."""
    for stated in evidence.tree.statements:
        lies, expected = evidence.tree.named(stated.path), path_for(stated.statement.name).as_posix()
        if lies != expected:
            yield stated.statement.name, f"its statement lies at {lies}; expected: {expected}"
