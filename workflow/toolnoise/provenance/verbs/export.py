"""`toolnoise export`: an archive of a study for another site."""

import argparse
from pathlib import Path

from toolnoise.base.errors import BadInput
from toolnoise.commands.verb import SHARE, Verb, flag, option


def _run(options: argparse.Namespace) -> None:
    from toolnoise.provenance import sharing
    from toolnoise.provenance.verbs import study_here
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
    here = study_here.of(study, root)
    counts = sharing.export(here, options.out, options.hardware, predictions=not options.no_predictions)
    print(f"exported {counts}" + (f"; {counts.others} more of the study are not made yet" if counts.others else ""))


VERB = Verb(
    group=SHARE,
    says="pack a study's runs, dumps, profiles and timings into an archive for another site",
    example="toolnoise export results/demo --out demo.tar.gz",
    run=_run,
    arguments={
        "STUDY": {"help": "a configuration, or a study's results folder"},
        "--out": option("FILE", "the archive: .tar, .tar.gz or .tar.xz", required=True),
        "--hardware": option("NAME", "export the results of these toolings only (all)", nargs="+"),
        "--no-predictions": flag("leave out dumps of predictions and of layers"),
    },
)
