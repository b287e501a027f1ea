"""`toolnoise estimate`: the cost of a study."""

import argparse

from toolnoise.commands.verb import AS_JSON, OF_THIS_FOLDER, STUDY, Verb, option, show


def _run(options: argparse.Namespace) -> None:
    from toolnoise.analyses.estimate import costs, within
    from toolnoise.study import here

    file, study = here.loaded(options.study)
    seconds = within.seconds_of(options.within) if options.within else 0
    if options.measure:
        costs.measure(study, file)
    if options.within:
        found = within.fitting(within.groups_of(study), seconds, options.gpus)
        show(within.as_json(found) if options.json else within.as_text(found, seconds, options.gpus))
        return
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
        "--within": option("TIME", "the part of the study that fits into a time, such as 90m, 8h or 2d"),
        "--gpus": option("N", "with --within: GPUs, or runs at once on CPUs (1)", type=int, default=1),
        **AS_JSON,
    },
)
