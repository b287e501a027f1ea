"""Repair: the command that makes damaged and missing files again, and what follows from them.

The audit's findings say which files. Snakemake does not see damage: it compares times, not bytes. So it is told to make
the first file of each such job again. It removes a job's old outputs just before it starts the job, and nothing else.
"""

import shlex
import subprocess
import sys

from toolnoise.base import program
from toolnoise.base.errors import BadInput
from toolnoise.base.printing import escaped
from toolnoise.provenance import tree
from toolnoise.provenance.audit.evidence import Evidence
from toolnoise.provenance.audit.examine import Audit
from toolnoise.provenance.statements import path_for
from toolnoise.steps import CONFIGURE

# What other findings follow from: these say which file is damaged, missing, or without its statement.
RULES = (
    "statements-can-be-read",
    "every-file-is-stated",
    "every-output-is-there",
    "statements-lie-in-place",
    "digests-match",
    "only-plain-files",
    "study-is-complete",
    "statements-are-the-roots",
    "collected-are-their-parts",
)


def commands(audit: Audit) -> list[list[str]]:
    """For each study with such findings, the command that makes its files again."""
    return [_command(evidence, targets) for evidence in audit.evidence if (targets := _targets(evidence, audit))]


def run(audit: Audit) -> None:
    """Print these commands and run them."""
    for command in commands(audit):
        print(f"running: {escaped(shlex.join(command))}", file=sys.stderr, flush=True)
        # What it says goes where the audit's own remarks go.
        subprocess.run(command, stdout=sys.stderr, check=False)


def _targets(evidence: Evidence, audit: Audit) -> list[str]:
    """The last file of each job that must be performed again; all of its files are made then."""
    wanted = {finding.artifact for finding in audit.findings if finding.rule in RULES}
    return [
        job.outputs[-1][0]
        for first, job in evidence.jobs.items()
        if job.verb != CONFIGURE and wanted & {path_for(first).as_posix(), *(name for name, _ in job.outputs)}
    ]


def _command(evidence: Evidence, targets: list[str]) -> list[str]:
    root, study = evidence.tree.root.resolve(), evidence.tree.study
    if root.parent.name != tree.RESULTS or root.name != evidence.tree.name or study is None:
        wanted = f"results of a study in results/{evidence.tree.name}"
        raise BadInput(evidence.tree.root, "", "cannot be repaired where it lies", wanted)
    where = ["--snakefile", str(program.snakefile()), "--directory", str(root.parent.parent)]
    given = ["--configfile", str(root / tree.STUDY_FILE), "--cores", "all", "--rerun-incomplete"]
    # The default target, for what follows from these files; and they, in case it does not need them.
    return program.python("snakemake", *where, *given, "--forcerun", *targets, "--", "all", *targets)
