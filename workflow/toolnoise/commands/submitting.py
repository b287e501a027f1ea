"""Whether jobs can be handed to a cluster from this machine; the Snakefile asks before the first is."""

import shutil

from toolnoise.base.errors import BadInput

# The program that each executor plugin of Snakemake hands jobs to.
PROGRAMS = {"slurm": "sbatch"}


def require_submitting(executor: str) -> None:
    """Refuse a machine on which the program is absent that an executor hands jobs to."""
    program = PROGRAMS.get(executor)
    if program and not shutil.which(program):
        wanted = "a login node of the cluster; without --profile, jobs run on this machine"
        raise BadInput(f"--executor {executor}", "", f"no program {program} on the PATH", wanted)
