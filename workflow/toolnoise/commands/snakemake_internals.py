"""What the Snakefile asks of Snakemake beyond its documented language: all of it is here, and a test tries each.

Each function gets the object `workflow` that a Snakefile sees. Nothing is imported: the Snakefile reads this in every
job. How Snakemake's locks look is in `session`.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

# The versions that tests/commands/test_snakemake_internals.py was run with.
TRIED = ("9.27.1",)


def is_module(workflow: Any) -> bool:
    """Whether another workflow includes this one with `module`."""
    return not workflow.modifier.is_main_snakefile()


def is_main_process(workflow: Any) -> bool:
    """Whether this is the Snakemake that somebody started, and not one that it starts for a job."""
    return workflow.is_main_process


def is_dry_run(workflow: Any) -> bool:
    """Whether nothing will be made; known while the Snakefile is parsed, when `workflow.dryrun` is always false."""
    return workflow.output_settings.dryrun


def snakefile(workflow: Any) -> str:
    """The Snakefile that was started."""
    return workflow.main_snakefile


def given(workflow: Any) -> tuple[Sequence[str], Iterable[str]]:
    """The files of `--configfile`, and the words of `--config`."""
    return workflow.configfiles, workflow.config_settings.config_args or ()


def runs_here(workflow: Any) -> bool:
    """Whether jobs run on this machine, and not through a queue; known once the workflow starts."""
    return workflow.local_exec


def to_run(workflow: Any, rule: str) -> Iterator[Any]:
    """The wildcards of a rule's jobs that will run; known once the workflow starts."""
    return (job.wildcards for job in workflow.dag.needrun_jobs() if job.rule.name == rule)


def to_make(workflow: Any) -> list[str]:
    """The files that jobs which will run make; known once the workflow starts."""
    return [str(name) for job in workflow.dag.needrun_jobs() for name in job.output]


def do_not_limit_rate(workflow: Any) -> None:
    """Start jobs as soon as they are ready; to be called once the workflow starts.

    Without a queue there is no rate to limit. Snakemake 9.27 would look at all waiting jobs again every second, and
    once more a second for each job that has ended: a fourth of the demo's CPU time.
    """
    workflow.scheduler.job_rate_limiter = None
