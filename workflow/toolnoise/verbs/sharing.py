"""Results for others: `toolnoise export` and `import`, `sign`, and `crate`, a study as a research object."""

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from toolnoise.base.errors import BadInput
from toolnoise.commands.verb import MORE, Verb, flag, option
from toolnoise.verbs.audit import DEMANDS, demanded

if TYPE_CHECKING:
    from toolnoise.provenance.sharing import StudyHere
    from toolnoise.study.study import Study


def _export(options: argparse.Namespace) -> None:
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


def _import(options: argparse.Namespace) -> None:
    from toolnoise.provenance import archive, sharing
    from toolnoise.study import grid

    study = grid.load(options.study) if options.study else None
    into = Path(options.into or Path("results", study.name if study else archive.study_in(options.archive)))
    if not into.is_dir():
        raise BadInput(into, "", "no such folder", "the folder of the study's results, with its data prepared")
    here = study_here(study or grid.load(into / "study.json"), into)
    with demanded(options) as demands:
        counts = sharing.take(options.archive, here, other_code=options.other_code, demands=demands)
    print(f"imported {counts}" + (f"; {counts.others} were already here" if counts.others else ""))


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


def _sign(options: argparse.Namespace) -> None:
    from toolnoise.provenance import signing

    for root in signing.sign(options.results, options.key):
        print(f"signed {root}")


def _crate(options: argparse.Namespace) -> None:
    from toolnoise.provenance import archive, crate

    if options.licence and not re.fullmatch(r"[A-Za-z0-9.+-]+", options.licence):
        wanted = "an SPDX identifier, such as CC-BY-4.0"
        raise BadInput("command line", "--licence", f"found {options.licence!r}", wanted)
    with archive.opened(options.results) as (results,):
        jobs, packed, referenced = crate.export(results, Path(options.out), options.embed, options.licence)
    print(f"{options.out}: {jobs} jobs, {packed} files packed, {referenced} referenced only")


EXPORT = Verb(
    group=MORE,
    says="pack a study's runs and dumps into an archive for another site",
    example="toolnoise export results/demo --out demo.tar.gz",
    run=_export,
    arguments={
        "STUDY": {"help": "a configuration, or a study's results folder"},
        "--out": option("FILE", "the archive: .tar, .tar.gz or .tar.xz", required=True),
        "--hardware": option("NAME", "export the results of these toolings only (all)", nargs="+"),
        "--no-predictions": flag("leave out dumps of predictions and of layers"),
    },
)
IMPORT = Verb(
    group=MORE,
    says="verify an exported archive and add its runs to the study's results",
    example="toolnoise import demo.tar.gz",
    run=_import,
    arguments={
        "ARCHIVE": {"help": "an archive from `toolnoise export`"},
        "--into": option("FOLDER", "the study's results folder here (results/<study>)"),
        "--study": option("FILE", "the study's configuration (study.json in that folder)"),
        "--other-code": flag("also accept results made by other code than the present one"),
        **DEMANDS,
    },
)
SIGN = Verb(
    group=MORE,
    says="sign the root of a study's results with an SSH key",
    example="toolnoise sign results/demo --key ~/.ssh/id_ed25519",
    run=_sign,
    arguments={
        "RESULTS": {"nargs": "?", "default": "results", "help": "a results folder, or that of one study (results)"},
        "--key": option("PATH", "a private SSH key, or the public key of one in ssh-agent", required=True),
    },
)
CRATE = Verb(
    group=MORE,
    says="export a study as a Workflow Run RO-Crate",
    example="toolnoise crate results/demo --out demo-crate.zip --licence CC-BY-4.0",
    run=_crate,
    arguments={
        "RESULTS": {"help": "the results folder of one study, or its archive"},
        "--out": option("FOLDER_OR_ZIP", "a new folder, or a .zip file", required=True),
        "--embed": flag("pack large files, too"),
        "--licence": option("SPDX", "the licence of the results, such as CC-BY-4.0 (none is stated)"),
    },
)
