"""The verb of a block: several runs of a cell are trained in one process, and each is stated as a job of its own."""

import argparse

from toolnoise.base import log
from toolnoise.base.errors import BadInput, errors_in_one_line
from toolnoise.base.spec import Spec
from toolnoise.commands import jobs
from toolnoise.commands.verb import Verb, option
from toolnoise.steps import STEPS, asked, outputs, planned
from toolnoise.study import grid

ROW = "train-replica"


def _run(options: argparse.Namespace) -> None:
    from toolnoise.analyses.replicas import train
    from toolnoise.record import recorder

    study, step = grid.load(options.study), STEPS[ROW]
    names = vars(options)
    runs = [asked(ROW, study, options.study, names | {"seed": seed}) for seed in options.seeds]
    given = [step.parameters(study, run) for run in runs]
    digests = options.planned or [planned(parameters) for parameters in given]
    if len(digests) != len(runs):
        raise BadInput("command line", "--planned", f"found {len(digests)}", f"one for each of {len(runs)} seeds")
    train.HERE.asked = [Spec.read(parameters["spec"]) for parameters in given]
    log.may_be_lost()
    for run, parameters, digest in zip(runs, given, digests, strict=True):
        written = {role: path for path, role in outputs(ROW, parameters, study.name)}
        job = argparse.Namespace(study=options.study, planned=digest, **step.given(study, run), **written)
        with errors_in_one_line(f"{ROW} {'/'.join(map(str, run))}"):
            recorder.run(ROW, job, parameters, options.started)


VERB = Verb(
    group=jobs.GROUP,
    says="train several runs of a cell in one process",
    example="toolnoise train-replicas --study study.yaml --model smallcnn --dataset digits"
    " --hardware cpu-jax-replicas --variant algo --seeds 1 2 3",
    run=_run,
    arguments={
        "--study": option("FILE", "a configuration, or the study.json among its results", required=True),
        **{f"--{name}": {"required": True} for name in ("model", "dataset", "hardware", "variant")},
        "--seeds": option("SEED", "of the runs", required=True, nargs="+", type=int),
        "--planned": option("SHA256", "refuse the jobs unless their parameters have these digests", nargs="+"),
    },
)
