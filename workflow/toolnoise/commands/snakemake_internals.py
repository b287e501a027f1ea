"""Everything that the Snakefile reads of Snakemake beyond its documented language; a test tries each function.

Each function gets the object `workflow` that a Snakefile sees, and reads named attributes of it. Nothing is set, and
little is imported: the Snakefile imports this in every job. pyproject.toml names the versions of Snakemake that fit.
"""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from toolnoise.base.errors import BadInput

# While the Snakefile is parsed


def is_module(workflow: Any) -> bool:
    """Whether another workflow includes this one with `module`."""
    return not workflow.modifier.is_main_snakefile()


def is_main_process(workflow: Any) -> bool:
    """Whether this is the Snakemake process that a user started, and not one for a single job."""
    return workflow.is_main_process


def is_dry_run(workflow: Any) -> bool:
    """Whether nothing will be made; `workflow.dryrun` is always false while the Snakefile is parsed."""
    return workflow.output_settings.dryrun


def snakefile_in_use(workflow: Any) -> str:
    """The path of the main Snakefile."""
    return workflow.main_snakefile


def configuration_given(workflow: Any) -> tuple[Sequence[str], Iterable[str]]:
    """The files of `--configfile`, and the words of `--config`."""
    return workflow.configfiles, workflow.config_settings.config_args or ()


# Once the workflow starts


def runs_here(workflow: Any) -> bool:
    """Whether jobs run on this machine, and not through a queue; known once the workflow starts."""
    return workflow.local_exec


def require_submitting(workflow: Any) -> None:
    """Refuse a machine without `sbatch` if Slurm runs the jobs; known once the workflow starts."""
    if workflow.executor_plugin.name == "slurm" and not shutil.which("sbatch"):
        wanted = "a login node of the cluster; without --profile, jobs run on this machine"
        raise BadInput("--executor slurm", "", "no program sbatch on the PATH", wanted)


def to_run(workflow: Any, rule: str) -> Iterator[Any]:
    """The wildcards of a rule's jobs that will run; known once the workflow starts."""
    return (job.wildcards for job in workflow.dag.needrun_jobs() if job.rule.name == rule)
