"""`toolnoise import`: the results of another site, verified."""

import argparse
from pathlib import Path

from toolnoise.base.errors import BadInput
from toolnoise.commands.demands import DEMANDS, demanded
from toolnoise.commands.verb import MORE, Verb, flag, option


def _run(options: argparse.Namespace) -> None:
    from toolnoise.provenance import archive, sharing
    from toolnoise.study import grid
    from toolnoise.verbs.export import study_here

    study = grid.load(options.study) if options.study else None
    into = Path(options.into or Path("results", study.name if study else archive.study_in(options.archive)))
    if not into.is_dir():
        raise BadInput(into, "", "no such folder", "the folder of the study's results, with its data prepared")
    here = study_here(study or grid.load(into / "study.json"), into)
    with demanded(options) as demands:
        counts = sharing.take(options.archive, here, other_code=options.other_code, demands=demands)
    print(f"imported {counts}" + (f"; {counts.others} were already here" if counts.others else ""))


VERB = Verb(
    group=MORE,
    says="verify an exported archive and add its runs to the study's results",
    example="toolnoise import demo.tar.gz",
    run=_run,
    arguments={
        "ARCHIVE": {"help": "an archive from `toolnoise export`"},
        "--into": option("FOLDER", "the study's results folder here (results/<study>)"),
        "--study": option("FILE", "the study's configuration (study.json in that folder)"),
        "--other-code": flag("also accept results made by other code than the present one"),
        **DEMANDS,
    },
)
