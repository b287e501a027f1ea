"""The verbs that verify results (`audit`, `diff`, `rebuild`) or share them (`export`, `import`, `sign`, `crate`)."""

import argparse
import re
import secrets
import shlex
import subprocess
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolnoise.base.errors import BadInput, as_given
from toolnoise.base.printing import make_printable
from toolnoise.commands.verb import AS_JSON, MORE, VERIFY, flag, option, show, verb

if TYPE_CHECKING:
    from toolnoise.provenance.audit import Audit, Found
    from toolnoise.provenance.tree import Tree

SIGNED = {
    "--require-signature": option(
        "KEY", "require a signature of this public key on the root, the page's statement, which names all others"
    )
}


@verb(
    VERIFY,
    "toolnoise audit results/demo",
    {
        "RESULTS": {
            "nargs": "?",
            "default": "results",
            "help": "a results folder, the folder or archive of one study, or a file: what it rests on (results)",
        },
        "--strict": flag("report stale results, made by other code, as findings too"),
        "--sample": option("N", "make N jobs that need no training again, and compare every bit", type=int),
        **SIGNED,
        **AS_JSON,
        "--repair": flag(
            "have Snakemake make damaged and missing files again, and what follows from them, then audit once more"
        ),
    },
)
def audit(options: argparse.Namespace) -> None:
    """trace every result back to data, code, seed and machine; exit code 1 if there are findings"""
    from toolnoise.provenance import archive
    from toolnoise.provenance.audit import as_json, as_text

    if options.repair and archive.archive_of(options.results):
        raise BadInput("command line", "--repair", f"{options.results} is an archive", "a results folder")
    _require_sample(options.sample)
    with archive.opened_results(options.results) as (place,):
        audit = _examined(place, options)
        if options.repair and audit.findings:
            _repair(audit)
            audit = _examined(place, options)
        show((as_json if options.json else as_text)(audit, options.strict))
    sys.exit(0 if audit.is_clean(options.strict) else 1)


def _require_sample(count: int | None) -> None:
    """Refuse a sample of nothing, which would find nothing."""
    if count is not None and count < 1:
        raise BadInput("command line", "--sample", f"found {count}", "at least 1")


def _examined(place: Path, options: argparse.Namespace) -> "Audit":
    """The audit of the results in a folder; of a file, that of what it rests on."""
    from toolnoise.checks import audit_rules
    from toolnoise.provenance import audit, signing, tree

    asked = []
    if options.require_signature:
        why_unsigned = signing.signature_check(options.require_signature)
        asked.append(audit.rule(_signed, "signature", why_unsigned))
    if options.sample:
        asked.append(audit.rule(_made_again, "sample", options.sample))

    folder = None if place.is_dir() else tree.study_of(place)
    if folder is None:
        results = tree.load_results(place)
    else:
        part = tree.load_study(folder).behind(place.absolute().relative_to(folder).as_posix())
        results = tree.Results((part,))
    return audit.examine(results, lambda study: [*audit_rules.rules_of(study), *asked], audit_rules.counted)


def _signed(why_unsigned: Any, study: "Tree") -> "Found":
    """The root is signed with the required key."""
    if why := why_unsigned(study):
        yield study.named("index.html"), why


def _made_again(count: int, study: "Tree") -> "Found":
    """A sample of results that need no training, drawn anew each time, has the same bits if it is made again."""
    from toolnoise.checks import rebuild
    from toolnoise.checks.audit_rules import TRAINS

    # Statements of earlier versions have no command.
    stated = [statement for statement in study.statements if statement.command]
    cheap = [rebuild.Job(study, statement) for statement in stated if statement.verb not in TRAINS]
    for outcome in rebuild.made_again(rebuild.sample_jobs(cheap, count, secrets.randbits(32))):
        if outcome.verdict in (rebuild.DIFFERS, rebuild.LACKING):
            yield outcome.job.statement.name, f"{outcome.verdict}: {'; '.join(outcome.lines)}"


def _repair(audit: "Audit") -> None:
    """Have Snakemake make damaged and missing files again, and what follows from them.

    It does not see damage, since it compares times: it is told which files to make again.
    """
    from toolnoise.base import program, scratch
    from toolnoise.provenance.audit import damaged
    from toolnoise.provenance.tree import RESULTS, STUDY_FILE

    for study in audit.studies:
        for path in scratch.clean(study.root):
            print(f"removed: {make_printable(str(path))}", file=sys.stderr)
    for folder, targets in damaged(audit).items():
        root = folder.resolve()
        if root.parent.name != RESULTS:
            raise BadInput(folder, "", "cannot be repaired where it lies", "results of a study in results/")
        where = ["--snakefile", str(program.path_of_snakefile()), "--directory", str(root.parent.parent)]
        given = ["--configfile", str(root / STUDY_FILE), "--cores", "all", "--rerun-incomplete"]
        # The default target makes everything that follows from these files; the files are added in case it lacks them.
        command = program.python_command("snakemake", *where, *given, "--forcerun", *targets, "--", "all", *targets)
        print(f"running: {make_printable(shlex.join(command))}", file=sys.stderr, flush=True)
        # Its output goes to standard error, as the audit's own remarks do.
        subprocess.run(command, stdout=sys.stderr, check=False)


@verb(
    VERIFY,
    "toolnoise diff results/demo ../elsewhere/results/demo",
    {
        "A": {"help": "a run, a cell, a study's results or archive, or a results folder"},
        "B": {"help": "another of the same kind"},
        **AS_JSON,
    },
)
def diff(options: argparse.Namespace) -> None:
    """print the differences between two runs, cells or folders"""
    from toolnoise.provenance import archive, diff

    with archive.opened_results(options.a, options.b) as pair:
        found = compared(*pair)
    show(found if options.json else diff.as_text(found))
    sys.stdout.flush()
    sys.exit(0 if found["equal"] else 1)


def compared(path_a: str | Path, path_b: str | Path) -> dict[str, Any]:
    """All differences between A and B, as a JSON-like value whose `equal` is the verdict."""
    from toolnoise.measures import two_runs
    from toolnoise.provenance import diff

    (kind, a), (other, b) = two_runs.kind_of(path_a), two_runs.kind_of(path_b)
    if kind != other:
        raise BadInput(path_b, "", f"a {other}, and {path_a} is a {kind}", two_runs.WANTED)
    if kind == two_runs.RUN:
        found = two_runs.compare_runs(a, b, diff.made_from)
    elif kind == two_runs.CELL:
        found = two_runs.compare_cells(a, b, diff.made_from)
        found["made_from"] = diff.merge_differences(run["made_from"] for run in found["runs"])
    else:
        found = diff.compare_results(a, b, partial(two_runs.compare_cells_of, made_from=diff.made_from))
    return {"kind": kind, "a": as_given(path_a), "b": as_given(path_b), **found}


@verb(
    VERIFY,
    "toolnoise rebuild --sample 5",
    {
        "RUNS": {"nargs": "*", "help": "runs, other result files, or folders or archives of them"},
        "--sample": option("N", "rebuild N random jobs of RUNS, or of results", type=int),
        "--seed": option("K", "seed of the sample (0)", type=int, default=0),
    },
)
def rebuild(options: argparse.Namespace) -> None:
    """make results again from their statements and compare every bit"""
    from toolnoise.checks import rebuild
    from toolnoise.provenance import archive

    if not options.runs and options.sample is None:
        raise BadInput("command line", "RUNS", "nothing to rebuild", "runs or other files of results, or --sample N")
    _require_sample(options.sample)
    with archive.opened_results(*(options.runs or ["results"])) as paths:
        jobs = rebuild.jobs_of(paths)
        if options.sample is not None:
            count, jobs = len(jobs), rebuild.sample_jobs(jobs, options.sample, options.seed)
            kinds = ", ".join(f"{number} {kind}" for kind, number in Counter(job.kind for job in jobs).items())
            print(f"sampled {len(jobs)} of {count} jobs (seed {options.seed}): {kinds}", flush=True)
        sys.exit(rebuild.report_outcomes(rebuild.made_again(jobs)))


@verb(
    MORE,
    "toolnoise export results/demo --out demo.tar.gz",
    {
        "STUDY": {"help": "a configuration, or a study's results folder"},
        "--out": option("FILE", "the archive: .tar, .tar.gz or .tar.xz", required=True),
        "--hardware": option("NAME", "export the results of these toolings only (all)", nargs="+"),
        "--no-predictions": flag("leave out dumps of predictions and of layers"),
    },
)
def export(options: argparse.Namespace) -> None:
    """pack a study's runs and dumps into an archive for another site"""
    from toolnoise.checks import sharing
    from toolnoise.study import grid, layout

    what = Path(options.study)
    study = grid.load_study(what / "study.json" if what.is_dir() else what)
    root = what if what.is_dir() else Path(study.path(layout.STUDY)).parent
    if not root.is_dir():
        raise BadInput(root, "", "no such folder", "the results of the study")
    for name in options.hardware or ():
        if name not in study.config["hardware"]:
            allowed = f"allowed: {', '.join(study.config['hardware'])}"
            raise BadInput("command line", "--hardware", f"no {name!r} in the study", allowed)
    counts = sharing.export_archive(study, root, options.out, options.hardware, predictions=not options.no_predictions)
    print(f"exported {counts}" + (f"; {counts.others} more of the study are not made yet" if counts.others else ""))


@verb(
    MORE,
    "toolnoise import demo.tar.gz",
    {
        "ARCHIVE": {"help": "an archive from `toolnoise export`"},
        "--into": option("FOLDER", "the study's results folder here (results/<study>)"),
        "--study": option("FILE", "the study's configuration (study.json in that folder)"),
        "--other-code": flag("also accept results made by other code than the present one"),
        **SIGNED,
    },
)
def import_(options: argparse.Namespace) -> None:
    """verify an exported archive and add its runs to the study's results"""
    from toolnoise.checks import sharing
    from toolnoise.provenance import archive, signing
    from toolnoise.study import grid

    study = grid.load_study(options.study) if options.study else None
    into = Path(options.into or Path("results", study.name if study else archive.study_in(options.archive)))
    if not into.is_dir():
        raise BadInput(into, "", "no such folder", "the folder of the study's results, with its data prepared")
    study = study or grid.load_study(into / "study.json")
    signed = signing.signature_check(options.require_signature) if options.require_signature else None
    counts = sharing.import_archive(options.archive, study, into, other_code=options.other_code, why_unsigned=signed)
    print(f"imported {counts}" + (f"; {counts.others} were already here" if counts.others else ""))


@verb(
    MORE,
    "toolnoise sign results/demo --key ~/.ssh/id_ed25519",
    {
        "RESULTS": {"nargs": "?", "default": "results", "help": "a results folder, or that of one study (results)"},
        "--key": option("PATH", "a private SSH key, or the public key of one in ssh-agent", required=True),
    },
)
def sign(options: argparse.Namespace) -> None:
    """sign the root of a study's results with an SSH key"""
    from toolnoise.provenance import signing

    for root in signing.sign(options.results, options.key):
        print(f"signed {root}")


@verb(
    MORE,
    "toolnoise crate results/demo --out demo-crate.zip --licence CC-BY-4.0",
    {
        "RESULTS": {"help": "the results folder of one study, or its archive"},
        "--out": option("FOLDER_OR_ZIP", "a new folder, or a .zip file", required=True),
        "--embed": flag("pack large files, too"),
        "--licence": option("SPDX", "the licence of the results, such as CC-BY-4.0 (none is stated)"),
    },
)
def crate(options: argparse.Namespace) -> None:
    """export a study as a Workflow Run RO-Crate"""
    from toolnoise.provenance import archive, crate

    if options.licence and not re.fullmatch(r"[A-Za-z0-9.+-]+", options.licence):
        wanted = "an SPDX identifier, such as CC-BY-4.0"
        raise BadInput("command line", "--licence", f"found {options.licence!r}", wanted)
    with archive.opened_results(options.results) as (results,):
        jobs, packed, referenced = crate.export(results, Path(options.out), options.embed, options.licence)
    print(f"{options.out}: {jobs} jobs, {packed} files packed, {referenced} referenced only")
