"""`toolnoise crate`: a study as a research object."""

import argparse
from pathlib import Path

from toolnoise.commands.verb import SHARE, Verb, flag, option
from toolnoise.verify.arguments import OF_ONE_STUDY


def _run(options: argparse.Namespace) -> None:
    from toolnoise.verify import crate

    made = crate.export(Path(options.results), Path(options.out), options.embed)
    print(f"{options.out}: {made.jobs} jobs, {made.packed} files packed, {made.referenced} referenced only")


VERB = Verb(
    group=SHARE,
    says="export a study as a Workflow Run RO-Crate",
    example="toolnoise crate results/demo --out demo-crate.zip",
    run=_run,
    arguments={
        **OF_ONE_STUDY,
        "--out": option("FOLDER_OR_ZIP", "a new folder, or a .zip file", required=True),
        "--embed": flag("pack large files, too"),
    },
)
