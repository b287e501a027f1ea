"""The command line: one verb for each rule, and what a person asks for by hand.

A rule's verb is a job (jobs.py), performed by the recorder, which states what came of it. Bad input ends in one line
and exit code 2.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from toolnoise.base.errors import BadInput, errors_in_one_line
from toolnoise.steps import CONFIGURE, STEPS
from toolnoise.study import grid as studies
from toolnoise.study.cells import MODES, Cell

MOST_PROCESSES = 256


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one verb."""
    with errors_in_one_line():
        options = _parser().parse_args(arguments)
        try:
            options.run(options)
            sys.stdout.flush()
        except BrokenPipeError:
            # Whoever read what was printed, such as `head`, has seen enough.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _perform(options: argparse.Namespace) -> None:
    from toolnoise.provenance.record import recorder

    recorder.run(options.verb, options)


def _synthesise(options: argparse.Namespace) -> None:
    from toolnoise.datasets import synthetic

    synthetic.write(options.format, options.examples, options.out)


def _summary(options: argparse.Namespace) -> None:
    from toolnoise.commands.summary import summarise

    print(summarise(studies.load(options.study)))


def _doctor(options: argparse.Namespace) -> None:
    from toolnoise.commands import doctor
    from toolnoise.study import config

    hardware = studies.load(options.study).config["hardware"] if options.study else config.registered("hardware")
    found = doctor.examine(hardware)
    _print(found if options.json else doctor.told(found))
    # Of a study every tooling is asked for, of the registry any.
    able = [not reason for reason in found["hardware"].values()]
    sys.exit(0 if (all if options.study else any)(able) else 1)


def _estimate(options: argparse.Namespace) -> None:
    from toolnoise.commands import estimate

    study = studies.load(options.study)
    if options.measure:
        estimate.measure(study, options.study)
    found = estimate.estimate(study)
    _print(estimate.as_json(found) if options.json else estimate.told(found, options.study))


def _status(options: argparse.Namespace) -> None:
    from toolnoise.commands import status

    study = studies.load(options.study)
    found = status.status(study)
    _print(status.as_json(found) if options.json else status.told(study, found))


def _diff(options: argparse.Namespace) -> None:
    from toolnoise.provenance.diff import diff, report

    found = diff.diff(options.a, options.b)
    _print(found if options.json else report.told(found))
    sys.stdout.flush()
    sys.exit(0 if found["equal"] else 1)


def _rebuild(options: argparse.Namespace) -> None:
    from toolnoise.provenance.rebuild import rebuild, sampling

    if not options.runs and options.sample is None:
        raise BadInput("command line", "RUNS", "nothing to rebuild", "runs or other files of results, or --sample N")
    jobs = sampling.of(options.runs or ["results"])
    if options.sample is not None:
        if options.sample < 1:
            raise BadInput("command line", "--sample", f"found {options.sample}", "at least 1")
        count = len(jobs)
        jobs = sampling.sample(jobs, options.sample, options.seed, rebuild.UNREPEATABLE)
        print(f"sampled {len(jobs)} of {count} jobs (seed {options.seed}): {sampling.kinds(jobs)}", flush=True)
    sys.exit(rebuild.report(rebuild.rebuild(jobs, options.keep)))


def _sign(options: argparse.Namespace) -> None:
    from toolnoise.provenance.record import signing

    signed, before = signing.sign(options.results, options.key)
    print(f"signed {signed} statements" + (f"; {before} had a signature by this key" if before else ""))


def _export(options: argparse.Namespace) -> None:
    from toolnoise.provenance.share import exporting

    told = exporting.export(options.study, options.out, options.hardware, predictions=not options.no_predictions)
    print(f"exported {told}" + (f"; {told.others} that the study asks for are not made yet" if told.others else ""))


def _import(options: argparse.Namespace) -> None:
    from toolnoise.provenance.record import signing
    from toolnoise.provenance.share import importing

    signers = signing.AllowedSigners(options.require_signatures) if options.require_signatures else None
    told = importing.take(options.archive, options.into, options.study, other_code=options.other_code, signers=signers)
    print(f"imported {told}" + (f"; {told.others} were here before" if told.others else ""))


def _audit(options: argparse.Namespace) -> None:
    from toolnoise.provenance.audit import examine
    from toolnoise.provenance.audit.rules import RULES, SIGNED
    from toolnoise.provenance.record import signing, tree

    if options.processes is not None and not 1 <= options.processes <= MOST_PROCESSES:
        wanted = f"a number from 1 to {MOST_PROCESSES}"
        raise BadInput("command line", "--processes", f"found {options.processes}", wanted)
    rules, signers = RULES, None
    if options.require_signatures:
        rules, signers = (*RULES, SIGNED), signing.AllowedSigners(options.require_signatures)
    found = examine.examine(tree.load(options.results), options.processes, rules=rules, signers=signers)
    if options.html:
        from toolnoise.provenance.page import page

        page.write(options.html, found, options.strict, rules)
    _print((examine.as_json if options.json else examine.told)(found, options.strict, rules))
    sys.exit(0 if found.is_clean(options.strict) else 1)


def _crate(options: argparse.Namespace) -> None:
    from toolnoise.provenance import crate

    made = crate.export(Path(options.results), Path(options.out), options.embed)
    print(f"{options.out}: {made.jobs} jobs, {made.packed} files in it, {made.told} told of")


def _compare(options: argparse.Namespace) -> None:
    from toolnoise.commands import compare
    from toolnoise.dumps import prediction_files

    source = options.labels or prediction_files.labels_of(options.a)
    labels = prediction_files.read_labels(source)
    a, b = (prediction_files.read(path, labels, source) for path in (options.a, options.b))
    prediction_files.require_same_classes(a, b)
    found = compare.compare(a, b, labels)
    _print(compare.as_json(found) if options.json else compare.told(found))


def _plan(options: argparse.Namespace) -> None:
    from toolnoise.commands import sample_size

    wanted = {name: getattr(options, name) for name in Cell._fields}
    spread = sample_size.spread_of(options.pilot, wanted, options.sd, options.sd_runs)
    claims = (options.gain, options.ratio, options.margin)
    found = sample_size.plan(spread, *claims, options.runs, options.level, options.power)
    if options.figure:
        from toolnoise.commands import power_curves

        power_curves.draw(found, options.figure)
    _print(sample_size.as_json(found) if options.json else sample_size.told(found))


def _print(found: object) -> None:
    print(found if isinstance(found, str) else json.dumps(found, indent=1))


class _Parser(argparse.ArgumentParser):
    """An argument parser that complains in one line."""

    def error(self, message: str) -> NoReturn:
        raise BadInput("command line", "", message, f"see {self.prog} --help")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser("toolnoise", description="Measure the noise of training deep networks.", allow_abbrev=False)
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    jobs = [
        (verb, _perform, step.says, ("study", *places, *step.reads, *step.writes, *step.aside, "planned?"))
        for verb, step in STEPS.items()
        if verb != CONFIGURE
        for places in [[name.replace("_", "-") for name in step.place._fields]]
    ]
    for verb, run, says, names in [*jobs, *_BY_HAND]:
        one = verbs.add_parser(verb, help=says, description=says, allow_abbrev=False)
        one.set_defaults(run=run)
        for name in names:
            # A question mark: it may be left out.
            argument = name.removesuffix("?")
            about = _ARGUMENTS.get((verb, argument), _ARGUMENTS.get(argument, {}))
            step = STEPS.get(verb)
            if step and argument in step.several:
                optional = argument in step.reads and step.reads[argument].optional
                about = {"nargs": "*" if optional else "+", **about}
            # In capitals: it is named by its place.
            if argument.isupper():
                one.add_argument(argument.lower(), metavar=argument, **about)
            else:
                one.add_argument(f"--{argument}", **{"required": argument == name, **about})
    return parser


_BY_HAND = [
    ("synthesise", _synthesise, "write a synthetic data set in an official format", ("format", "examples", "out")),
    ("summary", _summary, "print a study's results", ("study",)),
    ("doctor", _doctor, "print what this machine is and which toolings it can serve", ("study?", "json?")),
    ("estimate", _estimate, "print what a study will cost", ("study", "measure?", "json?")),
    ("status", _status, "print where a study stands", ("study", "json?")),
    (
        "rebuild",
        _rebuild,
        "make artifacts again from their statements and compare every bit",
        ("RUNS", "sample?", "seed?", "keep?"),
    ),
    ("diff", _diff, "print what separates two runs, cells or results", ("A", "B", "json?")),
    (
        "audit",
        _audit,
        "verify every result back to data, code, seed and machine; exit code 1 if something is found",
        ("RESULTS", "strict?", "require-signatures?", "json?", "html?", "processes?"),
    ),
    ("sign", _sign, "sign every statement of a results folder with an SSH key", ("RESULTS", "key")),
    (
        "export",
        _export,
        "write what a study's toolings made into an archive that can be imported elsewhere",
        ("STUDY", "out", "hardware?", "no-predictions?"),
    ),
    (
        "import",
        _import,
        "verify an archive of runs and put them among the results of their study here",
        ("ARCHIVE", "into?", "study?", "other-code?", "require-signatures?"),
    ),
    ("crate", _crate, "export a study as a Workflow Run RO-Crate", ("RESULTS", "out", "embed?")),
    (
        "compare",
        _compare,
        "print what separates the runs in two files of predictions, from a study or from anywhere",
        ("A", "B", "labels?", "json?"),
    ),
    (
        "plan",
        _plan,
        "print how many runs a claim needs, or what some runs can show",
        (
            *("gain?", "ratio?", "margin?", "runs?", "pilot?", "model?", "dataset?", "hardware?", "variant?", "sd?"),
            *("sd-runs?", "power?", "level?", "figure?", "json?"),
        ),
    ),
]

# What an argument is, in every verb or in one.
_ARGUMENTS: dict[str | tuple[str, str], dict[str, Any]] = {
    "study": {"help": "a configuration, or the study.json kept with its results", "metavar": "FILE"},
    "seed": {"type": int},
    "checkpoint": {"help": "where an interrupted run is kept and goes on from; it goes when the run ends"},
    "planned": {"metavar": "SHA256", "help": "refuse the job if its parameters have another digest than planned"},
    "A": {"help": "a run, a cell, a study's results, or a results folder"},
    "B": {"help": "another one"},
    ("compare", "A"): {"help": "predicted classes or scores, .npy or CSV: N, run x N, N x class or run x N x class"},
    ("compare", "B"): {"help": "the same of what may take its place"},
    "labels": {"help": "the N labels, .npy or CSV; a study's own if A is its dump", "metavar": "FILE"},
    "RUNS": {"nargs": "*", "help": "runs, other files of results, or folders of them"},
    "sample": {"type": int, "metavar": "N", "help": "so many jobs at random, of those in RUNS or in results"},
    ("rebuild", "seed"): {"type": int, "default": 0, "metavar": "K", "help": "another sample for another number (0)"},
    "keep": {"action": "store_true", "help": "keep what is made, and say where"},
    "RESULTS": {"nargs": "?", "default": "results", "help": "a results folder, or one study's folder in it (results)"},
    "strict": {
        "action": "store_true",
        "help": "complain of stale results too: those that other code made",
    },
    "processes": {"type": int, "metavar": "N", "help": "that read at once (as many as there are cores)"},
    "html": {"metavar": "FILE", "help": "also write a page that leads from every result down to its data"},
    "key": {"help": "an SSH key: a private one, or a public one whose private one ssh-agent has", "metavar": "PATH"},
    "require-signatures": {
        "metavar": "ALLOWED_SIGNERS",
        "help": "complain of statements that none of these people signed; a file as ssh-keygen(1) describes it",
    },
    "STUDY": {"help": "a configuration, or the folder of a study's results"},
    ("export", "out"): {"metavar": "FILE", "help": "a name that ends in .tar, .tar.gz or .tar.xz"},
    ("export", "hardware"): {"nargs": "+", "metavar": "NAME", "help": "what these toolings made (all)"},
    "no-predictions": {"action": "store_true", "help": "without dumps of predictions and of layers"},
    "ARCHIVE": {"help": "what toolnoise export wrote"},
    "into": {"metavar": "FOLDER", "help": "of the study's results here (results/<study>)"},
    ("import", "study"): {"metavar": "FILE", "help": "the study as a configuration (the study.json of that folder)"},
    "other-code": {"action": "store_true", "help": "take also what other code made than the one here"},
    "json": {"action": "store_true", "help": "for programs"},
    "measure": {"action": "store_true", "help": "first time some steps of what nobody timed, on this machine"},
    "mode": {"choices": list(MODES)},
    "repeat": {"type": int},
    "threads": {"type": int, "default": 1, "required": False, "help": "that decode images (1)", "metavar": "N"},
    "format": {"help": "cifar-10, cifar-100, celeba, imagenet or image-folder"},
    "examples": {"type": int, "help": "training examples; a fifth as many are for testing", "metavar": "N"},
    "records": {"metavar": "JSON"},
    "other-records": {"metavar": "RUN_JSON"},
    "other-hardware": {"help": "the other tooling", "metavar": "NAME"},
    "exchanged": {"metavar": "NPY", "help": "these runs as predicted on the other tooling, the index beside it"},
    "other-exchanged": {"metavar": "NPY", "help": "the other's runs as predicted on the first, the index beside it"},
    "metrics": {"metavar": "CSV"},
    "remedied": {"metavar": "NPY", "help": "the cell's dump under remedies, its index beside it, if it has one"},
    "single": {"metavar": "NPY", "help": "the dump of other runs that it is held against, its index beside it, if any"},
    "read": {
        "action": "append",
        "nargs": "+",
        "metavar": ("KIND", "CSV"),
        "help": "metric files of a kind that the figure reads; once for each kind",
    },
    ("render", "out"): {"metavar": "FILE", "help": "what the notebook writes: a path in each format"},
    "shows": {"metavar": "FILE", "help": "the metric files, figures and tables that the page shows"},
    ("crate", "RESULTS"): {"help": "a study's results, such as results/demo"},
    ("crate", "out"): {"help": "a folder that is not there yet, or a .zip file", "metavar": "FOLDER_OR_ZIP"},
    "embed": {"action": "store_true", "help": "pack large files too"},
    "gain": {"type": float, "nargs": "+", "metavar": "POINTS", "help": "a difference of mean accuracy to be shown"},
    "ratio": {"type": float, "nargs": "+", "metavar": "FACTOR", "help": "a ratio of two SDs to be shown"},
    "margin": {
        "type": float,
        "nargs": "+",
        "metavar": "FACTOR",
        "help": "a factor within which two SDs are to be shown to be equal",
    },
    ("plan", "runs"): {"type": int, "nargs": "+", "metavar": "N", "help": "runs per arm: what can they show?"},
    "pilot": {"metavar": "CSV", "help": "metrics/stability.csv of a study, which has the SD of a cell"},
    "sd": {"type": float, "metavar": "POINTS", "help": "the SD of accuracy, where there is no pilot"},
    "sd-runs": {"type": int, "metavar": "N", "help": "runs that --sd was taken from, for its interval"},
    "power": {"type": float, "default": 0.8, "metavar": "SHARE", "help": "of studies that show it (0.8)"},
    "level": {"type": float, "default": 0.05, "metavar": "SHARE", "help": "of false alarms (0.05)"},
    ("plan", "figure"): {"metavar": "FILE", "help": "draw power against runs, as .svg, .png or .pdf"},
}


if __name__ == "__main__":
    main()
