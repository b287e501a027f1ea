"""`toolnoise crate`: a study as a research object."""

import argparse
import re
from pathlib import Path

from toolnoise.base.errors import BadInput
from toolnoise.commands.verb import MORE, Verb, flag, option


def _run(options: argparse.Namespace) -> None:
    from toolnoise.provenance import archive, crate

    if options.licence and not re.fullmatch(r"[A-Za-z0-9.+-]+", options.licence):
        wanted = "an SPDX identifier, such as CC-BY-4.0"
        raise BadInput("command line", "--licence", f"found {options.licence!r}", wanted)
    with archive.opened(options.results) as (results,):
        jobs, packed, referenced = crate.export(results, Path(options.out), options.embed, options.licence)
    print(f"{options.out}: {jobs} jobs, {packed} files packed, {referenced} referenced only")


VERB = Verb(
    group=MORE,
    says="export a study as a Workflow Run RO-Crate",
    example="toolnoise crate results/demo --out demo-crate.zip --licence CC-BY-4.0",
    run=_run,
    arguments={
        "RESULTS": {"help": "the results folder of one study, or its archive"},
        "--out": option("FOLDER_OR_ZIP", "a new folder, or a .zip file", required=True),
        "--embed": flag("pack large files, too"),
        "--licence": option("SPDX", "the licence of the results, such as CC-BY-4.0 (none is stated)"),
    },
)
