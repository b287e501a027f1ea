"""The job of a run that shares its process, as its statement has it: of one run, whoever else is trained there."""

from toolnoise.analyses.replicas.study import sharing
from toolnoise.steps import reads
from toolnoise.steps.step import JobRecord, Needs, Step, Where, Work
from toolnoise.study.cells import Training

ROWS = {
    "train-replica": Step(
        "train_replicas",
        "train one run as its tooling trains several in one process",
        where=Where(
            Training,
            lambda study: reads.runs_of(study, sharing(study)),
            "grid",
            "model/dataset/hardware/variant on a tooling with replicas, and one of its seeds",
        ),
        parameters=lambda study, run: reads.spec(study, run.cell, run.seed),
        reads=reads.DATA,
        writes=reads.RUN,
        work=Work("toolnoise.analyses.replicas.train:train"),
        needs=Needs(
            tooling=lambda run: run.hardware,
            minutes=reads.training_minutes,
            cold="its process trains several runs",
        ),
        record=JobRecord("record", "runs of replicas", drawn=True),
    ),
}
