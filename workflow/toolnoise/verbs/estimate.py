"""`toolnoise estimate`: the cost of a study."""

import argparse

from toolnoise.commands.verb import AS_JSON, OF_THIS_FOLDER, STUDY, Verb, show


def _run(options: argparse.Namespace) -> None:
    from toolnoise.estimate import costs
    from toolnoise.study import study_files

    file, study = study_files.loaded(options.study)
    if options.measure:
        costs.measure(study, file)
    cost = costs.estimate(study)
    show(costs.as_json(cost) if options.json else costs.as_text(cost, file))


VERB = Verb(
    group=STUDY,
    says="estimate a study's run time, cost and disk space",
    example="toolnoise estimate --study my-study.yaml --measure",
    run=_run,
    arguments={
        **OF_THIS_FOLDER,
        "--measure": {"action": "store_true", "help": "benchmark untimed cells first, on this machine"},
        **AS_JSON,
    },
)
