"""`toolnoise run`: a study from its file to its summary."""

import argparse
import sys

from toolnoise.commands.verb import STUDY, Verb, option


def _run(options: argparse.Namespace) -> None:
    from toolnoise.commands import run

    sys.exit(run.run(options.profile, options.further))


VERB = Verb(
    group=STUDY,
    says="run a study with Snakemake and print its summary; further options are Snakemake's",
    example="toolnoise run my-study.yaml --cores 2",
    run=_run,
    arguments={
        "--profile": option(
            "NAME", "a profile of the workflow, such as slurm, or of your own (this machine, all cores)"
        )
    },
    usage="toolnoise run [STUDY] [--profile NAME] [OPTION OF SNAKEMAKE ...]",
)
