"""`toolnoise summary`: the results of a study."""

import argparse
from pathlib import Path

from toolnoise.commands.verb import AS_JSON, STUDY, Verb, flag, option, show


def _run(options: argparse.Namespace) -> None:
    from toolnoise.commands import summary
    from toolnoise.provenance import archive
    from toolnoise.study import grid, layout, study_files

    name = Path(layout.STUDY).name
    with archive.opened(options.study or study_files.to_read()) as (file,):
        kept = file / name if file.is_dir() else file
        study = grid.load(kept)
        if kept.name == name and kept.with_name("metrics").is_dir():
            # Its results lie beside it, wherever they were put; a file that somebody wrote may have that name, too.
            study = study.lying_at(kept.parent)
        if options.json:
            show(summary.as_json(study))
            return
        asked = [
            say(study) for say, wanted in ((summary.table, options.cells), (summary.claims, options.claims)) if wanted
        ]
        show("\n\n".join(asked) or summary.as_text(study))


VERB = Verb(
    group=STUDY,
    says="print what a study found, on one screen",
    example="toolnoise summary",
    run=_run,
    arguments={
        "--study": option(
            "PLACE", "a configuration, or a study's results folder or archive (the only study of this folder)"
        ),
        "--cells": flag("a table of its cells instead"),
        "--claims": flag("the verdicts on claims of papers, and of the study file, instead"),
        **AS_JSON,
    },
)
