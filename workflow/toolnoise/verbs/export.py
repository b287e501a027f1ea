"""`toolnoise export`: an archive of a study for another site."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from toolnoise.base.errors import BadInput
from toolnoise.commands.verb import MORE, Verb, flag, option

if TYPE_CHECKING:
    from toolnoise.provenance.sharing import StudyHere
    from toolnoise.study.study import Study


def _run(options: argparse.Namespace) -> None:
    from toolnoise.provenance import sharing
    from toolnoise.study import grid, layout

    what = Path(options.study)
    study = grid.load(what / "study.json" if what.is_dir() else what)
    root = what if what.is_dir() else Path(study.path(layout.STUDY)).parent
    if not root.is_dir():
        raise BadInput(root, "", "no such folder", "the results of the study")
    for name in options.hardware or ():
        if name not in study.config["hardware"]:
            allowed = f"allowed: {', '.join(study.config['hardware'])}"
            raise BadInput("command line", "--hardware", f"no {name!r} in the study", allowed)
    counts = sharing.export(
        study_here(study, root), options.out, options.hardware, predictions=not options.no_predictions
    )
    print(f"exported {counts}" + (f"; {counts.others} more of the study are not made yet" if counts.others else ""))


def study_here(study: "Study", root: Path) -> "StudyHere":
    """What `export` and `import` ask a study whose results are in the folder `root`."""
    from toolnoise.checks.expected_jobs import ExpectedJob, expected_jobs
    from toolnoise.provenance.sharing import StudyHere
    from toolnoise.provenance.statements import path_for
    from toolnoise.study import job_code, layout
    from toolnoise.study.cells import Pair

    def records(job: ExpectedJob) -> list[str]:
        return study.runs(layout.RECORD, job.place.cells[0] if isinstance(job.place, Pair) else job.place)

    jobs = {path_for(job.outputs[0]).as_posix(): job for job in expected_jobs(study)}
    return StudyHere(study.name, root, jobs, records, job_code.digests_of_sources)


VERB = Verb(
    group=MORE,
    says="pack a study's runs and dumps into an archive for another site",
    example="toolnoise export results/demo --out demo.tar.gz",
    run=_run,
    arguments={
        "STUDY": {"help": "a configuration, or a study's results folder"},
        "--out": option("FILE", "the archive: .tar, .tar.gz or .tar.xz", required=True),
        "--hardware": option("NAME", "export the results of these toolings only (all)", nargs="+"),
        "--no-predictions": flag("leave out dumps of predictions and of layers"),
    },
)
