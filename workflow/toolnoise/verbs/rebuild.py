"""`toolnoise rebuild`: results made again from their statements."""

import argparse
import sys
from collections import Counter
from typing import TYPE_CHECKING

from toolnoise.base.errors import BadInput
from toolnoise.commands.verb import VERIFY, Verb, flag, option

if TYPE_CHECKING:
    from toolnoise.provenance import rebuild
    from toolnoise.provenance.statements import Statement


def _run(options: argparse.Namespace) -> None:
    from toolnoise.provenance import archive, rebuild

    if not options.runs and options.sample is None:
        raise BadInput("command line", "RUNS", "nothing to rebuild", "runs or other files of results, or --sample N")
    if options.sample is not None and options.sample < 1:
        raise BadInput("command line", "--sample", f"found {options.sample}", "at least 1")
    with archive.opened(*(options.runs or ["results"])) as paths:
        jobs = rebuild.jobs_of(paths)
        if options.sample is not None:
            count, jobs = len(jobs), rebuild.sampled(jobs, options.sample, options.seed)
            kinds = ", ".join(f"{number} {kind}" for kind, number in Counter(job.kind for job in jobs).items())
            print(f"sampled {len(jobs)} of {count} jobs (seed {options.seed}): {kinds}", flush=True)
        sys.exit(rebuild.report(rebuild.made_again(jobs, job_facts(), keep=options.keep)))


def job_facts() -> "rebuild.JobFacts":
    """What a rebuild asks those who know what jobs do."""
    from toolnoise.datasets import fetching
    from toolnoise.measures import two_runs
    from toolnoise.provenance.rebuild import JobFacts
    from toolnoise.study import environments

    return JobFacts(
        _why_not,
        digest=lambda path: fetching.verified({"path": str(path)})["sha256"],
        parting=two_runs.where_parted,
        used=(environments.FOLDER,),
    )


def _why_not(statement: "Statement") -> str:
    """Why a job cannot be done again on this machine, or on any; empty if it can."""
    from toolnoise.base.spec import Spec
    from toolnoise.engines import serving

    if statement.parameters.get("spec") is None:
        return ""
    try:
        spec = Spec.read(statement.parameters["spec"])
        if spec.varies("impl") and spec.hardware.impl_noise == "native":
            return f"the implementation noise of {spec.hardware.name} is native, so it cannot be replayed"
        absent = serving.why_not(spec.hardware.json)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        what = f"its parameters are not those of a {statement.verb} job ({type(error).__name__}: {error})"
        raise BadInput(statement.name, "", what) from None
    return f"this machine cannot run {spec.hardware.name}: {absent}" if absent else ""


VERB = Verb(
    group=VERIFY,
    says="make results again from their statements and compare every bit",
    example="toolnoise rebuild --sample 5",
    run=_run,
    arguments={
        "RUNS": {"nargs": "*", "help": "runs, other result files, or folders or archives of them"},
        "--sample": option("N", "rebuild N random jobs of RUNS, or of results", type=int),
        "--seed": option("K", "seed of the sample (0)", type=int, default=0),
        "--keep": flag("keep the rebuilt files and print their folder"),
    },
)
