"""`toolnoise summary`: the results of a study."""

import argparse
import dataclasses
from pathlib import Path

from toolnoise.commands.verb import AS_JSON, OF_THIS_FOLDER, STUDY, Verb, show


def _run(options: argparse.Namespace) -> None:
    from toolnoise.commands import summary
    from toolnoise.study import here, layout

    file, study = here.loaded(options.study)
    kept = Path(file)
    if kept.name == Path(layout.STUDY).name and kept.with_name("metrics").is_dir():
        # Its results lie beside it, wherever they were put; a file that somebody wrote may have that name, too.
        study = dataclasses.replace(study, folder=str(kept.parent))
    show(summary.as_json(study) if options.json else summary.as_text(study))


VERB = Verb(
    group=STUDY,
    says="print a study's results, one line per cell",
    example="toolnoise summary",
    run=_run,
    arguments=OF_THIS_FOLDER | AS_JSON,
)
