"""The command line: one verb per rule, and the verbs that people call by hand.

A rule's verb is a job (toolnoise.steps). The recorder runs it and writes its statement. Bad input ends in one line and
exit code 2. The help has the verbs for people first, in groups, and each verb's own help ends with an example.
"""

import argparse
import dataclasses
import functools
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolnoise.base.errors import BadInput, errors_in_one_line
from toolnoise.base.printing import OUTPUT, plainly
from toolnoise.commands import command_line
from toolnoise.commands.command_line import Verb
from toolnoise.study import layout
from toolnoise.study.cells import Cell

if TYPE_CHECKING:
    from toolnoise.study.study import Study

MOST_PROCESSES = 256


def main(arguments: Sequence[str] | None = None, started: str = "cold") -> None:
    """Run one verb; a job's statement says how its process started."""
    with plainly(), errors_in_one_line(), _closed_output():
        options = parsed(arguments)
        options.started, options.command_line = started, sys.argv[1:] if arguments is None else arguments
        options.run(options)


@contextmanager
def _closed_output() -> Iterator[None]:
    """End well if the reader of the output, such as `head`, has closed it; a full disk under it is reported once."""
    try:
        try:
            yield
        finally:
            # Not when the interpreter ends, where nobody could tell.
            sys.stdout.flush()
    except OSError as error:
        if error.filename != OUTPUT:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options of a command line; without a verb, print the help, or a script of completion, and end."""
    arguments = sys.argv[1:] if arguments is None else arguments
    parser, verbs = _parser(by_hand=bool(arguments) and arguments[0] in [verb.name for verb in BY_HAND])
    options, options.further = parser.parse_known_args(arguments)
    if options.further and options.verb not in [verb.name for verb in BY_HAND if verb.usage]:
        parser.error(f"unrecognized arguments: {' '.join(options.further)}")
    if not options.verb:
        if options.print_completion:
            print(command_line.completion(parser, verbs, options.print_completion))
        else:
            parser.print_help()
        sys.exit(0)
    return options


def _study(file: str) -> "Study":
    from toolnoise.study import grid

    return grid.load(file)


def _study_here(options: argparse.Namespace) -> "Study":
    """The study that the command line names, or that of this folder."""
    from toolnoise.study import here

    options.study = options.study or here.to_read("--study")
    return _study(options.study)


def _perform(options: argparse.Namespace) -> None:
    from toolnoise.steps import STEPS, asked
    from toolnoise.study import environments

    study = _study(options.study)
    place = asked(options.verb, study, options.study, vars(options))
    parameters = STEPS[options.verb].parameters(study, place)
    name = environments.of(parameters)
    if name and not environments.is_this(name):
        environments.require(name, parameters["spec"]["hardware"]["name"])
        # This process becomes the job's process in the other environment.
        program = environments.program(name, "toolnoise")
        os.execv(program, [str(program), *options.command_line])  # noqa: S606 (no shell is wanted)
    from toolnoise.base import log
    from toolnoise.record import recorder

    log.may_be_lost()
    with errors_in_one_line(f"{options.verb} {'/'.join(map(str, place))}".rstrip()):
        recorder.run(options.verb, options, parameters, options.started)


def _synthesise(options: argparse.Namespace) -> None:
    from toolnoise.datasets import synthetic

    synthetic.write(options.format, options.examples, options.out)


def _init(options: argparse.Namespace) -> None:
    from toolnoise.commands import init

    print(init.write(options.kind))


def _run(options: argparse.Namespace) -> None:
    from toolnoise.commands import run

    sys.exit(run.run(options.profile, options.further))


def _summary(options: argparse.Namespace) -> None:
    from toolnoise.commands import summary

    study, kept = _study_here(options), Path(options.study)
    if kept.name == Path(layout.STUDY).name and kept.with_name("metrics").is_dir():
        # Its results lie beside it, wherever they were put; a file that somebody wrote may have that name, too.
        study = dataclasses.replace(study, folder=str(kept.parent))
    _print(summary.as_json(study) if options.json else summary.as_text(study))


def _doctor(options: argparse.Namespace) -> None:
    from toolnoise.commands import doctor
    from toolnoise.study import config

    hardware = _study(options.study).config["hardware"] if options.study else _of_engines(config.registered("hardware"))
    found = doctor.examine(hardware)
    _print(found if options.json else doctor.as_text(found))
    # A study needs all its toolings; without a study one of the registry is enough.
    able = [not reason for reason in found["hardware"].values()]
    sys.exit(0 if (all if options.study else any)(able) else 1)


def _of_engines(hardware: dict[str, Any]) -> dict[str, Any]:
    """The toolings that need something installed: those for training programs have only what these need."""
    from toolnoise.study.programs import ENGINE

    return {name: entry for name, entry in hardware.items() if entry["engine"] != ENGINE}


def _estimate(options: argparse.Namespace) -> None:
    from toolnoise.commands import estimate

    study = _study_here(options)
    if options.measure:
        estimate.measure(study, options.study)
    found = estimate.estimate(study)
    _print(estimate.as_json(found) if options.json else estimate.as_text(found, options.study))


def _status(options: argparse.Namespace) -> None:
    from toolnoise.commands import status

    study = _study_here(options)
    status.require_here(options.study, study)
    found = status.status(study)
    _print(status.as_json(found) if options.json else status.as_text(study, found))


def _diff(options: argparse.Namespace) -> None:
    from toolnoise.verify.diff import diff, report

    found = diff.diff(options.a, options.b)
    _print(found if options.json else report.as_text(found))
    sys.stdout.flush()
    sys.exit(0 if found["equal"] else 1)


def _rebuild(options: argparse.Namespace) -> None:
    from toolnoise.verify.rebuild import rebuild, sampling

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
    from toolnoise.record import signing

    signed, before = signing.sign(options.results, options.key, root=options.root)
    print(f"signed {signed} statements" + (f"; {before} had a signature by this key" if before else ""))


def _export(options: argparse.Namespace) -> None:
    from toolnoise.record import anonymous
    from toolnoise.verify.share import anonymised, exporting

    def export(what: str | Path) -> None:
        counts = exporting.export(
            what,
            options.out,
            options.hardware,
            predictions=not options.no_predictions,
            signers=options.allowed_signers,
            no_credentials=options.no_credential,
        )
        print(f"exported {counts}" + (f"; {counts.others} more of the study are not made yet" if counts.others else ""))

    if options.anonymous and options.allowed_signers:
        raise BadInput("command line", "--allowed-signers", "it names people", "no --anonymous beside it")
    if options.anonymous:
        with anonymised.copied(exporting.results_of(Path(options.study))) as copy:
            export(copy.root)
        print(f"{options.out} is {anonymous.SAYS}")
    else:
        export(options.study)


def _slim(options: argparse.Namespace) -> None:
    from toolnoise.verify.share import slim

    copied, left_out = slim.copy(options.results, options.out, options.no_credential)
    print(f"{options.out}: {copied} files copied, {left_out} left out")


def _import(options: argparse.Namespace) -> None:
    from toolnoise.record import signing
    from toolnoise.verify.share import importing

    signers = signing.AllowedSigners(options.require_signatures) if options.require_signatures else None
    with signing.only(options.require_signature) if options.require_signature else nullcontext() as key:
        counts = importing.take(
            options.archive, options.into, options.study, other_code=options.other_code, signers=signers, key=key
        )
    print(f"imported {counts}" + (f"; {counts.others} were already here" if counts.others else ""))


def _audit(options: argparse.Namespace) -> None:
    from toolnoise.base import scratch
    from toolnoise.record import signing, tree
    from toolnoise.verify.audit import cache, examine, repair
    from toolnoise.verify.audit.rules import ROOT_SIGNED, RULES, SIGNED
    from toolnoise.verify.rebuild import recompute

    if options.processes is not None and not 1 <= options.processes <= MOST_PROCESSES:
        wanted = f"a number from 1 to {MOST_PROCESSES}"
        raise BadInput("command line", "--processes", f"found {options.processes}", wanted)
    asked = {
        SIGNED: options.require_signatures,
        ROOT_SIGNED: options.require_signature,
        recompute.RULE: options.recompute,
    }
    rules = (*RULES, *(rule for rule, wanted in asked.items() if wanted))
    signers = signing.AllowedSigners(options.require_signatures) if options.require_signatures else None

    def examined() -> examine.Audit:
        found = tree.load(options.results)
        with (
            signing.only(options.require_signature) if options.require_signature else nullcontext() as key,
            cache.opened(options.results, trusted=not options.strict) if options.cache else nullcontext() as known,
        ):
            given = {"rules": rules, "signers": signers, "key": key, "cache": known}
            return examine.examine(found, options.processes, **given, skew=options.clock_skew)

    if options.clean:
        for one in tree.load(options.results).trees:
            for path in scratch.clean(one.root) if one.study or one.statements else []:
                print(f"removed: {tree.shown(str(path))}", file=sys.stderr)
    found = examined()
    if options.repair and not found.is_clean(strict=False):
        repair.run(found)
        found = examined()
    if options.html:
        from toolnoise.verify.page import statements

        statements.write(options.html, found, options.strict, rules)
    _print((examine.as_json if options.json else examine.as_text)(found, options.strict, rules))
    sys.exit(0 if found.is_clean(options.strict) else 1)


def _crate(options: argparse.Namespace) -> None:
    from toolnoise.record import anonymous
    from toolnoise.verify import crate

    made = crate.export(
        Path(options.results), Path(options.out), options.embed, options.anonymous, options.no_credential
    )
    print(f"{options.out}: {made.jobs} jobs, {made.packed} files packed, {made.referenced} referenced only")
    if made.left_out:
        print(f"left out, because they name somebody: {', '.join(made.left_out)}")
    if options.anonymous:
        print(f"{options.out} is {anonymous.SAYS}")


def _page(options: argparse.Namespace) -> None:
    from toolnoise.comparison import cells
    from toolnoise.record import signing
    from toolnoise.verify.page import publishing

    signers = signing.AllowedSigners(options.require_signatures) if options.require_signatures else None
    written, left_out = publishing.publish(
        options.results, options.out, cells.compared, options.anonymous, signers, options.no_credential
    )
    named = f"; left out, because they name somebody or are not there: {', '.join(left_out)}" if left_out else ""
    print(f"{options.out}/index.html: {written} files{named}")


def _compare(options: argparse.Namespace) -> None:
    from toolnoise.comparison import arms, compare, comparison
    from toolnoise.dumps import prediction_files

    given = options.arm or [[one] for one in options.arms]
    if (options.arm and options.arms) or len(given) < 2:
        found = "found both ARMS and --arm" if options.arm and options.arms else f"found {len(given)}"
        raise BadInput("command line", "ARMS", found, "two or more arms: each a name in ARMS, or each an --arm")
    labels = prediction_files.read_labels(options.labels) if options.labels else arms.labels_of(given[0])
    found = [arms.read(one, labels) for one in given]
    arms.require_comparable(found, options.paired, options.same_start)
    judged, right = arms.right_or_wrong(found, labels)
    assumption = "paired" if options.paired else "same start" if options.same_start else "independent"
    compared = comparison.compare_all(judged, right, assumption)
    _print(compare.as_json(compared) if options.json else compare.as_text(compared))


def _check(options: argparse.Namespace) -> None:
    from toolnoise.checking import check
    from toolnoise.checking import verb as report

    words = options.command[1:] if options.command[:1] == ["--"] else options.command
    command = check.command(words, options.sources, options.deterministic, options.limit)
    folder = Path(tempfile.mkdtemp(prefix="toolnoise-check-"))
    try:
        found = check.check(command, folder)
        _print(report.as_json(found) if options.json else report.as_text(found))
        sys.stdout.flush()
    finally:
        if options.keep:
            print(f"outcomes and logs: {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    sys.exit(0 if found.passed else 1)


def _adopt(options: argparse.Namespace) -> None:
    from toolnoise.commands import adopt

    columns = adopt.Columns(options.arm_column, options.seed_column, tuple(options.metric or ()))
    print(adopt.adopt(options.found, options.name, options.labels, columns, values=options.values))


def _plan(options: argparse.Namespace) -> None:
    from toolnoise.comparison import sample_size

    wanted = {name: getattr(options, name) for name in Cell._fields}
    spread = sample_size.spread_of(options.pilot, wanted, options.sd, options.sd_runs)
    claims = (options.gain, options.ratio, options.margin)
    found = sample_size.plan(spread, *claims, options.runs, options.level, options.power)
    if options.figure:
        from toolnoise.comparison import power_curves

        power_curves.draw(found, options.figure)
    _print(sample_size.as_json(found) if options.json else sample_size.as_text(found))


def _print(found: object) -> None:
    print(found if isinstance(found, str) else json.dumps(found, indent=1))


@functools.cache
def _parser(by_hand: bool) -> tuple[argparse.ArgumentParser, Any]:
    """The parser; for a verb by hand without jobs: their table needs more packages, and `check` needs NumPy alone."""
    if by_hand:
        return command_line.parser(BY_HAND, {}, _perform)
    from toolnoise.steps import CONFIGURE, STEPS

    return command_line.parser(BY_HAND, {verb: step for verb, step in STEPS.items() if verb != CONFIGURE}, _perform)


BY_HAND = [
    Verb(
        "synthesise",
        _synthesise,
        "write a synthetic data set in an official format",
        ("format", "examples", "out"),
        "toolnoise synthesise --format cifar-10 --examples 1000 --out data",
    ),
    Verb(
        "init",
        _init,
        "write a commented study file for the training program or the Keras builder in this folder",
        ("KIND",),
        "toolnoise init command",
    ),
    Verb(
        "run",
        _run,
        "run a study with Snakemake and print its summary; further options are Snakemake's",
        ("profile?",),
        "toolnoise run my-study.yaml --cores 2",
        usage="toolnoise run [STUDY] [--profile NAME] [OPTION OF SNAKEMAKE ...]",
    ),
    Verb(
        "summary",
        _summary,
        "print a study's results, one line per cell",
        ("study?", "json?"),
        "toolnoise summary",
    ),
    Verb(
        "doctor",
        _doctor,
        "describe this machine and list the toolings that it can run",
        ("study?", "json?"),
        "toolnoise doctor --study my-study.yaml",
    ),
    Verb(
        "estimate",
        _estimate,
        "estimate a study's run time, cost and disk space",
        ("study?", "measure?", "json?"),
        "toolnoise estimate --study my-study.yaml --measure",
    ),
    Verb(
        "status",
        _status,
        "print the progress of a study",
        ("study?", "json?"),
        "toolnoise status",
    ),
    Verb(
        "rebuild",
        _rebuild,
        "make results again from their statements and compare every bit",
        ("RUNS", "sample?", "seed?", "keep?"),
        "toolnoise rebuild --sample 5",
    ),
    Verb(
        "diff",
        _diff,
        "print the differences between two runs, cells or results folders",
        ("A", "B", "json?"),
        "toolnoise diff results/demo/runs/smallcnn/digits/cpu/impl/1 results/demo/runs/smallcnn/digits/cpu/impl/2",
    ),
    Verb(
        "audit",
        _audit,
        "trace every result back to data, code, seed and machine; exit code 1 if there are findings",
        (
            *("RESULTS", "strict?", "recompute?", "require-signatures?", "require-signature?", "json?", "html?"),
            *("processes?", "clean?", "repair?", "cache?", "clock-skew?"),
        ),
        "toolnoise audit results/demo --html audit.html",
    ),
    Verb(
        "page",
        _page,
        "write a study's page into a folder to send or to publish; the workflow writes results/<study>/index.html",
        ("RESULTS", "out", "anonymous?", "no-credential?", "require-signatures?"),
        "toolnoise page results/demo --out demo-page",
    ),
    Verb(
        "sign",
        _sign,
        "sign every statement of a results folder, or the root alone, with an SSH key",
        ("RESULTS", "key", "root?"),
        "toolnoise sign results/demo --key ~/.ssh/id_ed25519 --root",
    ),
    Verb(
        "export",
        _export,
        "pack a study's runs, dumps, profiles and timings into an archive for another site",
        ("STUDY", "out", "hardware?", "no-predictions?", "allowed-signers?", "anonymous?", "no-credential?"),
        "toolnoise export results/demo --out demo.tar.gz",
    ),
    Verb(
        "import",
        _import,
        "verify an archive from `toolnoise export` and add its runs to the study's results here",
        ("ARCHIVE", "into?", "study?", "other-code?", "require-signatures?", "require-signature?"),
        "toolnoise import demo.tar.gz",
    ),
    Verb(
        "slim",
        _slim,
        "copy a study's results without weights, dumps, data and notebooks; the audit knows these by their digests",
        ("RESULTS", "out", "no-credential?"),
        "toolnoise slim results/demo --out demo-slim",
    ),
    Verb(
        "crate",
        _crate,
        "export a study as a Workflow Run RO-Crate",
        ("RESULTS", "out", "embed?", "anonymous?", "no-credential?"),
        "toolnoise crate results/demo --out demo-crate.zip",
    ),
    Verb(
        "compare",
        _compare,
        "compare the predictions of two or more methods, from a study or from anywhere",
        ("ARMS", "arm?", "labels?", "paired?", "same-start?", "json?"),
        "toolnoise compare a.npy b.npy --labels y.npy",
    ),
    Verb(
        "check",
        _check,
        "run a training program to see whether it is reproducible and uses its seeds; exit code 1 if not",
        ("sources?", "deterministic?", "limit?", "keep?", "json?", "COMMAND"),
        "toolnoise check -- python train.py --seed {init} --data-seed {shuffle} --out {out}",
    ),
    Verb(
        "adopt",
        _adopt,
        "make a study of runs that are already there, from any program",
        ("FOUND", "name", "labels?", "values?", "metric?", "arm-column?", "seed-column?"),
        "toolnoise adopt 'runs/{arm}/seed{seed}/preds.npy' --labels y.npy --name mine",
    ),
    Verb(
        "plan",
        _plan,
        "print the number of runs that a claim needs, or the effects that a number of runs can show",
        (
            *("gain?", "ratio?", "margin?", "runs?", "pilot?", "model?", "dataset?", "hardware?", "variant?", "sd?"),
            *("sd-runs?", "power?", "level?", "figure?", "json?"),
        ),
        "toolnoise plan --sd 0.3 --gain 0.3",
    ),
]


if __name__ == "__main__":
    main()
