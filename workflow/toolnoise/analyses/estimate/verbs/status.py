"""`toolnoise status`: the progress of a study."""

import argparse

from toolnoise.commands.verb import AS_JSON, OF_THIS_FOLDER, STUDY, Verb, show


def _run(options: argparse.Namespace) -> None:
    from toolnoise.analyses.estimate import status
    from toolnoise.study import here

    file, study = here.loaded(options.study)
    status.require_here(file, study)
    now = status.status(study)
    show(status.as_json(now) if options.json else status.as_text(study, now))


VERB = Verb(
    group=STUDY,
    says="print the progress of a study",
    example="toolnoise status",
    run=_run,
    arguments=OF_THIS_FOLDER | AS_JSON,
)
