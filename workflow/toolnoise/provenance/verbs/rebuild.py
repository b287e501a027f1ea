"""`toolnoise rebuild`: results made again from their statements."""

import argparse
import sys

from toolnoise.base.errors import BadInput
from toolnoise.commands.verb import VERIFY, Verb, flag, option


def _run(options: argparse.Namespace) -> None:
    from toolnoise.provenance import archive
    from toolnoise.provenance.rebuild import rebuilding, sampling

    if not options.runs and options.sample is None:
        raise BadInput("command line", "RUNS", "nothing to rebuild", "runs or other files of results, or --sample N")
    with archive.opened(*(options.runs or ["results"])) as paths:
        jobs = sampling.of(paths)
        if options.sample is not None:
            if options.sample < 1:
                raise BadInput("command line", "--sample", f"found {options.sample}", "at least 1")
            count = len(jobs)
            jobs = sampling.sample(jobs, options.sample, options.seed, rebuilding.UNREPEATABLE)
            print(f"sampled {len(jobs)} of {count} jobs (seed {options.seed}): {sampling.kinds(jobs)}", flush=True)
        sys.exit(rebuilding.report(rebuilding.rebuild(jobs, options.keep)))


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
