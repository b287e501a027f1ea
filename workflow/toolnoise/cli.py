"""The command line: one verb per rule, and the verbs that people call by hand.

A rule's verb is a job (toolnoise.steps). The recorder runs it and writes its statement. Bad input ends in one line and
exit code 2. The help has the verbs for people first, in groups, and each verb's own help ends with an example.
"""

import argparse
import functools
import json
import os
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from toolnoise import __version__
from toolnoise.base.errors import BadInput, errors_in_one_line
from toolnoise.base.printing import plainly
from toolnoise.study.cells import MODES, Cell

if TYPE_CHECKING:
    from toolnoise.steps import Step
    from toolnoise.study.grid import Study

MOST_PROCESSES = 256


def main(arguments: Sequence[str] | None = None, started: str = "cold") -> None:
    """Run one verb; a job's statement says how its process started."""
    with plainly(), errors_in_one_line(), _closed_output():
        options = parsed(arguments)
        options.started, options.command_line = started, sys.argv[1:] if arguments is None else arguments
        options.run(options)


@contextmanager
def _closed_output() -> Iterator[None]:
    """End well if the reader of the output, such as `head`, has closed it; a full disk under it is told once."""
    try:
        try:
            yield
        finally:
            # Not when the interpreter ends, where nobody could tell.
            sys.stdout.flush()
    except OSError as error:
        if error.filename is not None:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options of a command line; without a verb, print the help, or a script of completion, and end."""
    arguments = sys.argv[1:] if arguments is None else arguments
    parser, verbs = _parser(by_hand=bool(arguments) and arguments[0] in [verb for verb, *_ in _BY_HAND])
    options, options.further = parser.parse_known_args(arguments)
    if options.further and options.verb != _PASSES_ON:
        parser.error(f"unrecognized arguments: {' '.join(options.further)}")
    if not options.verb:
        if options.print_completion:
            print(_completion(parser, verbs, options.print_completion))
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
    from toolnoise.provenance.record import recorder

    log.may_be_lost()
    with errors_in_one_line(f"{options.verb} {'/'.join(map(str, place))}"):
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

    study = _study_here(options)
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
    status.require_here(options.study)
    found = status.status(study)
    _print(status.as_json(found) if options.json else status.as_text(study, found))


def _diff(options: argparse.Namespace) -> None:
    from toolnoise.provenance.diff import diff, report

    found = diff.diff(options.a, options.b)
    _print(found if options.json else report.as_text(found))
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
    from toolnoise.provenance.record import anonymous
    from toolnoise.provenance.share import anonymised, exporting

    def export(what: str | Path) -> None:
        counts = exporting.export(what, options.out, options.hardware, predictions=not options.no_predictions)
        print(f"exported {counts}" + (f"; {counts.others} more of the study are not made yet" if counts.others else ""))

    if options.anonymous:
        with anonymised.copied(exporting.results_of(Path(options.study))) as copy:
            export(copy.root)
        print(f"{options.out} is {anonymous.SAYS}")
    else:
        export(options.study)


def _slim(options: argparse.Namespace) -> None:
    from toolnoise.provenance.share import slim

    copied, left_out = slim.copy(options.results, options.out)
    print(f"{options.out}: {copied} files copied, {left_out} left out")


def _import(options: argparse.Namespace) -> None:
    from toolnoise.provenance.record import signing
    from toolnoise.provenance.share import importing

    signers = signing.AllowedSigners(options.require_signatures) if options.require_signatures else None
    counts = importing.take(
        options.archive, options.into, options.study, other_code=options.other_code, signers=signers
    )
    print(f"imported {counts}" + (f"; {counts.others} were already here" if counts.others else ""))


def _audit(options: argparse.Namespace) -> None:
    from toolnoise.base import scratch
    from toolnoise.provenance.audit import cache, examine, repair
    from toolnoise.provenance.audit.rules import ROOT_SIGNED, RULES, SIGNED
    from toolnoise.provenance.rebuild import recompute
    from toolnoise.provenance.record import signing, tree

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
            return examine.examine(found, options.processes, rules=rules, signers=signers, key=key, cache=known)

    if options.clean:
        for one in tree.load(options.results).trees:
            for path in scratch.clean(one.root) if one.study or one.statements else []:
                print(f"removed: {tree.shown(str(path))}", file=sys.stderr)
    found = examined()
    if options.repair and not found.is_clean(strict=False):
        repair.run(found)
        found = examined()
    if options.html:
        from toolnoise.provenance.page import page

        page.write(options.html, found, options.strict, rules)
    _print((examine.as_json if options.json else examine.as_text)(found, options.strict, rules))
    sys.exit(0 if found.is_clean(options.strict) else 1)


def _crate(options: argparse.Namespace) -> None:
    from toolnoise.provenance import crate
    from toolnoise.provenance.record import anonymous

    made = crate.export(Path(options.results), Path(options.out), options.embed, options.anonymous)
    print(f"{options.out}: {made.jobs} jobs, {made.packed} files packed, {made.referenced} referenced only")
    if made.left_out:
        print(f"left out, because they name somebody: {', '.join(made.left_out)}")
    if options.anonymous:
        print(f"{options.out} is {anonymous.SAYS}")


def _page(options: argparse.Namespace) -> None:
    from toolnoise.pages import whole
    from toolnoise.provenance.record import signing

    signers = signing.AllowedSigners(options.require_signatures) if options.require_signatures else None
    written, left_out = whole.publish(options.results, options.out, options.anonymous, signers)
    named = f"; left out, because they name somebody or are not there: {', '.join(left_out)}" if left_out else ""
    print(f"{options.out}/index.html: {written} files{named}")


def _compare(options: argparse.Namespace) -> None:
    from toolnoise.commands import compare, comparison
    from toolnoise.dumps import arms, prediction_files

    given = options.arm or [[one] for one in options.arms]
    if (options.arm and options.arms) or len(given) < 2:
        found = "found both ARMS and --arm" if options.arm and options.arms else f"found {len(given)}"
        raise BadInput("command line", "ARMS", found, "two or more arms: each a name in ARMS, or each an --arm")
    source = options.labels or prediction_files.labels_of(given[0][0])
    labels = prediction_files.read_labels(source)
    found = [arms.read(one, labels, source) for one in given]
    arms.require_comparable(found, options.paired, options.same_start)
    assumption = "paired" if options.paired else "same start" if options.same_start else "independent"
    compared = comparison.compare_all(found, labels, assumption)
    _print(compare.as_json(compared) if options.json else compare.as_text(compared))


def _check(options: argparse.Namespace) -> None:
    from toolnoise.commands import check as report
    from toolnoise.outside import check

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
    from toolnoise.commands import sample_size

    wanted = {name: getattr(options, name) for name in Cell._fields}
    spread = sample_size.spread_of(options.pilot, wanted, options.sd, options.sd_runs)
    claims = (options.gain, options.ratio, options.margin)
    found = sample_size.plan(spread, *claims, options.runs, options.level, options.power)
    if options.figure:
        from toolnoise.commands import power_curves

        power_curves.draw(found, options.figure)
    _print(sample_size.as_json(found) if options.json else sample_size.as_text(found))


def _print(found: object) -> None:
    print(found if isinstance(found, str) else json.dumps(found, indent=1))


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        raise BadInput("command line", "", message, f"see {self.prog} --help")


@functools.cache
def _parser(by_hand: bool) -> tuple[argparse.ArgumentParser, Any]:
    """The parser of a command line, and its action that has a parser for each verb.

    For a verb by hand, jobs are left out: their table needs more packages, and `check` needs NumPy alone.
    """
    raw, steps = argparse.RawDescriptionHelpFormatter, {} if by_hand else _jobs()
    parser = _Parser(
        "toolnoise",
        usage="toolnoise VERB ...",
        description="Measure the noise of training deep networks.",
        epilog=_verbs_in_groups(steps),
        formatter_class=raw,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"toolnoise {__version__}")
    parser.add_argument("--print-completion", choices=SHELLS, help="print the completion script for a shell")
    # The epilog has the verbs, in groups.
    verbs = parser.add_subparsers(dest="verb", prog="toolnoise", help=argparse.SUPPRESS)
    jobs = [
        (
            *(verb, _perform, step.says),
            ("study", *places, *step.reads, *step.writes, *step.aside, "planned?"),
            _example_of_job(verb, places),
        )
        for verb, step in steps.items()
        for places in [[name.replace("_", "-") for name in step.place._fields]]
    ]
    for verb, run, text, names, example in [*jobs, *_BY_HAND]:
        one = verbs.add_parser(
            verb, help=text, description=text, epilog=f"example:\n  {example}", formatter_class=raw, allow_abbrev=False
        )
        one.set_defaults(run=run)
        if verb == _PASSES_ON:
            one.usage = "toolnoise run [STUDY] [--profile NAME] [OPTION OF SNAKEMAKE ...]"
        for name in names:
            # A question mark: optional.
            argument = name.removesuffix("?")
            about = _ARGUMENTS.get((verb, argument), _ARGUMENTS.get(argument, {}))
            step = steps.get(verb)
            if step and argument in step.several:
                optional = argument in step.reads and step.reads[argument].optional
                about = {"nargs": "*" if optional else "+", **about}
            # Capitals: positional.
            if argument.isupper():
                one.add_argument(argument.lower(), metavar=argument, **about)
            else:
                one.add_argument(f"--{argument}", **{"required": argument == name, **about})
    return parser, verbs


def _jobs() -> "dict[str, Step]":
    """The verbs of jobs."""
    from toolnoise.steps import CONFIGURE, STEPS

    return {verb: step for verb, step in STEPS.items() if verb != CONFIGURE}


def _verbs_in_groups(steps: "dict[str, Step]") -> str:
    says = {verb: step.says for verb, step in steps.items()} | {verb: text for verb, _, text, *_ in _BY_HAND}
    lines = []
    for title, verbs in (_GROUPS | {"jobs, which Snakemake runs": steps}).items():
        lines += ["", f"{title}:"]
        for verb in verbs:
            lines.append(textwrap.fill(says[verb], 80, initial_indent=f"  {verb:<20}", subsequent_indent=f"{'':22}"))
    return "\n".join([*lines[1:], "", "`toolnoise VERB --help` explains a verb and shows an example."])


def _example_of_job(verb: str, places: Sequence[str]) -> str:
    study = " ".join(["--study results/demo/study.json", *(f"--{name} {_PLACES[name]}" for name in places)])
    return f"toolnoise {verb} {study} ...\n  (`snakemake --printshellcmds` prints the files, too)"


def _completion(parser: argparse.ArgumentParser, verbs: Any, shell: str) -> str:
    import shtab

    # shtab leaves out what has no help.
    verbs.help = "what to do"
    for one in verbs.choices.values():
        for action in one._actions:
            if action.nargs != 0 and action.type is None and action.choices is None:
                action.complete = shtab.FILE
    return shtab.complete(parser, shell)


SHELLS = ("bash", "zsh", "fish")
# The verb whose other options are another program's.
_PASSES_ON = "run"
# Places of the demo, for examples.
_PLACES = {
    "model": "smallcnn",
    "dataset": "digits",
    "hardware": "cpu",
    "other-hardware": "cpu-eigen",
    "variant": "algo_impl",
    "seed": "1",
    "mode": "default",
    "repeat": "1",
    "kind": "stability",
    "figure": "table2",
}
_GROUPS = {
    "is a gain real, is a training reproducible?": ("compare", "plan", "check"),
    "before, during and after a study": ("init", "adopt", "doctor", "estimate", "run", "status", "summary"),
    "verify results": ("audit", "diff", "rebuild", "sign"),
    "share results": ("page", "export", "import", "slim", "crate"),
    "try data formats": ("synthesise",),
}

_BY_HAND = [
    (
        "synthesise",
        _synthesise,
        "write a synthetic data set in an official format",
        ("format", "examples", "out"),
        "toolnoise synthesise --format cifar-10 --examples 1000 --out data",
    ),
    (
        "init",
        _init,
        "write a commented study file for the training program or the Keras builder in this folder",
        ("KIND",),
        "toolnoise init command",
    ),
    (
        "run",
        _run,
        "run a study with Snakemake and print its summary; further options are Snakemake's",
        ("profile?",),
        "toolnoise run my-study.yaml --cores 2",
    ),
    (
        "summary",
        _summary,
        "print a study's results, one line per cell",
        ("study?", "json?"),
        "toolnoise summary",
    ),
    (
        "doctor",
        _doctor,
        "describe this machine and list the toolings that it can run",
        ("study?", "json?"),
        "toolnoise doctor --study my-study.yaml",
    ),
    (
        "estimate",
        _estimate,
        "estimate a study's run time, cost and disk space",
        ("study?", "measure?", "json?"),
        "toolnoise estimate --study my-study.yaml --measure",
    ),
    (
        "status",
        _status,
        "print the progress of a study",
        ("study?", "json?"),
        "toolnoise status",
    ),
    (
        "rebuild",
        _rebuild,
        "make results again from their statements and compare every bit",
        ("RUNS", "sample?", "seed?", "keep?"),
        "toolnoise rebuild --sample 5",
    ),
    (
        "diff",
        _diff,
        "print the differences between two runs, cells or results folders",
        ("A", "B", "json?"),
        "toolnoise diff results/demo/runs/smallcnn/digits/cpu/impl/1 results/demo/runs/smallcnn/digits/cpu/impl/2",
    ),
    (
        "audit",
        _audit,
        "trace every result back to data, code, seed and machine; exit code 1 if there are findings",
        (
            *("RESULTS", "strict?", "recompute?", "require-signatures?", "require-signature?", "json?", "html?"),
            *("processes?", "clean?", "repair?", "cache?"),
        ),
        "toolnoise audit results/demo --html audit.html",
    ),
    (
        "page",
        _page,
        "write a study's page into a folder to send or to publish; the workflow writes results/<study>/index.html",
        ("RESULTS", "out", "anonymous?", "require-signatures?"),
        "toolnoise page results/demo --out demo-page",
    ),
    (
        "sign",
        _sign,
        "sign every statement of a results folder with an SSH key",
        ("RESULTS", "key"),
        "toolnoise sign results/demo --key ~/.ssh/id_ed25519",
    ),
    (
        "export",
        _export,
        "pack a study's runs, dumps, profiles and timings into an archive for another site",
        ("STUDY", "out", "hardware?", "no-predictions?", "anonymous?"),
        "toolnoise export results/demo --out demo.tar.gz",
    ),
    (
        "import",
        _import,
        "verify an archive from `toolnoise export` and add its runs to the study's results here",
        ("ARCHIVE", "into?", "study?", "other-code?", "require-signatures?"),
        "toolnoise import demo.tar.gz",
    ),
    (
        "slim",
        _slim,
        "copy a study's results without weights, dumps, data and notebooks; the audit knows these by their digests",
        ("RESULTS", "out"),
        "toolnoise slim results/demo --out demo-slim",
    ),
    (
        "crate",
        _crate,
        "export a study as a Workflow Run RO-Crate",
        ("RESULTS", "out", "embed?", "anonymous?"),
        "toolnoise crate results/demo --out demo-crate.zip",
    ),
    (
        "compare",
        _compare,
        "compare the predictions of two or more methods, from a study or from anywhere",
        ("ARMS", "arm?", "labels?", "paired?", "same-start?", "json?"),
        "toolnoise compare a.npy b.npy --labels y.npy",
    ),
    (
        "check",
        _check,
        "run a training program to see whether it is reproducible and uses its seeds; exit code 1 if not",
        ("sources?", "deterministic?", "limit?", "keep?", "json?", "COMMAND"),
        "toolnoise check -- python train.py --seed {init} --data-seed {shuffle} --out {out}",
    ),
    (
        "adopt",
        _adopt,
        "make a study of runs that are already there, from any program",
        ("FOUND", "name", "labels?", "values?", "metric?", "arm-column?", "seed-column?"),
        "toolnoise adopt 'runs/{arm}/seed{seed}/preds.npy' --labels y.npy --name mine",
    ),
    (
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

# Arguments by name, or by verb and name.
_ARGUMENTS: dict[str | tuple[str, str], dict[str, Any]] = {
    "study": {"help": "a configuration, or the study.json among its results", "metavar": "FILE"},
    **{
        (verb, "study"): {
            "help": "a configuration, or the study.json among its results (the only study of this folder)",
            "metavar": "FILE",
        }
        for verb in ("summary", "estimate", "status")
    },
    "profile": {
        "metavar": "NAME",
        "help": "a profile of the workflow, such as slurm, or of your own (this machine, all cores)",
    },
    "seed": {"type": int},
    "checkpoint": {"help": "checkpoint of an interrupted run, to resume from; deleted when the run ends"},
    "planned": {"metavar": "SHA256", "help": "refuse the job unless its parameters have this digest"},
    "A": {"help": "a run, a cell, a study's results or a results folder"},
    "B": {"help": "another of the same kind"},
    "ARMS": {
        "nargs": "*",
        "help": "A, then each method to replace it: predicted classes or scores, .npy, .npz or CSV, of shape N, "
        "run x N, N x class or run x N x class; or a folder or a quoted pattern ('a/*.npy') of one file a run",
    },
    ("adopt", "FOUND"): {
        "help": "a CSV with a run in each row (columns file, arm, seed), or a quoted pattern with {arm} and {seed}"
    },
    ("adopt", "name"): {"metavar": "NAME", "help": "the study's name: writes NAME.yaml and adopted/NAME"},
    ("adopt", "labels"): {"metavar": "FILE", "help": "the labels of all runs, unless the CSV has a column `labels`"},
    ("adopt", "values"): {"action": "store_true", "help": "predictions are numbers (regression), not classes"},
    ("adopt", "metric"): {
        "action": "append",
        "metavar": "COLUMN",
        "help": "take this number from the CSV instead of predictions; repeat for each",
    },
    "arm-column": {"default": "arm", "metavar": "COLUMN", "help": "the column that names a run's arm (arm)"},
    "seed-column": {"default": "seed", "metavar": "COLUMN", "help": "the column with a run's seed (seed)"},
    "arm": {
        "action": "append",
        "nargs": "+",
        "metavar": "FILE",
        "help": "instead of ARMS, once per method: a file, or one file a run (--arm a/*.npy --arm b/*.npy)",
    },
    "labels": {"help": "the N labels, .npy, .npz or CSV; may be left out if A is a study's dump", "metavar": "FILE"},
    "paired": {"action": "store_true", "help": "run s of every method has the same start and order"},
    "same-start": {"action": "store_true", "help": "all runs of all methods start from the same weights"},
    "RUNS": {"nargs": "*", "help": "runs, other result files, or folders of them"},
    "sample": {"type": int, "metavar": "N", "help": "rebuild N random jobs of RUNS, or of results"},
    ("rebuild", "seed"): {"type": int, "default": 0, "metavar": "K", "help": "seed of the sample (0)"},
    "COMMAND": {
        "nargs": argparse.REMAINDER,
        "help": "the program after --, such as: -- python train.py --seed {init} --data-seed {shuffle} --out {out}",
    },
    "sources": {
        "metavar": "NAMES",
        "help": "sources whose seeds the program separates, such as init,shuffle (those that COMMAND names, or all)",
    },
    "deterministic": {
        "default": "",
        "metavar": "WORDS",
        "help": "words added to COMMAND to switch implementation noise off, such as --deterministic='--cudnn off'",
    },
    "limit": {"type": float, "metavar": "MINUTES", "help": "the longest time of a run (none)"},
    ("check", "keep"): {"action": "store_true", "help": "keep outcomes and logs and print their folder"},
    "keep": {"action": "store_true", "help": "keep the rebuilt files and print their folder"},
    "RESULTS": {"nargs": "?", "default": "results", "help": "a results folder, or one study's folder in it (results)"},
    "strict": {
        "action": "store_true",
        "help": "report stale results, made by other code, as findings too",
    },
    "clean": {"action": "store_true", "help": "first remove the scratch files that killed jobs have left"},
    "repair": {
        "action": "store_true",
        "help": "have Snakemake make damaged and missing files again, and what follows from them, then audit once more",
    },
    "cache": {
        "action": "store_true",
        "help": "do not read files again whose inode, size and times are as in an earlier audit with --cache; with "
        "--strict, read all",
    },
    "processes": {"type": int, "metavar": "N", "help": "parallel readers (one per core)"},
    "html": {"metavar": "FILE", "help": "also write a page that links every result to its data"},
    "key": {"help": "a private SSH key, or the public key of one in ssh-agent", "metavar": "PATH"},
    "require-signatures": {
        "metavar": "ALLOWED_SIGNERS",
        "help": "reject statements that none of these people signed; a file as in ssh-keygen(1)",
    },
    "require-signature": {
        "metavar": "KEY",
        "help": "require a signature of this public key on the root, the page's statement, which names all others",
    },
    "recompute": {
        "action": "store_true",
        "help": "make all results but the trained runs again from their statements, and compare every bit",
    },
    "KIND": {"nargs": "?", "help": "command, builder or adopted (what is found in this folder)"},
    ("page", "RESULTS"): {"help": "a study's results folder, such as results/demo"},
    ("page", "out"): {"metavar": "FOLDER", "help": "a new folder"},
    "anonymous": {"action": "store_true", "help": "leave out host names, users and paths, for double-blind review"},
    "STUDY": {"help": "a configuration, or a study's results folder"},
    ("export", "out"): {"metavar": "FILE", "help": "the archive: .tar, .tar.gz or .tar.xz"},
    ("export", "hardware"): {
        "nargs": "+",
        "metavar": "NAME",
        "help": "export the results of these toolings only (all)",
    },
    "no-predictions": {"action": "store_true", "help": "leave out dumps of predictions and of layers"},
    "ARCHIVE": {"help": "an archive from `toolnoise export`"},
    "into": {"metavar": "FOLDER", "help": "the study's results folder here (results/<study>)"},
    ("import", "study"): {"metavar": "FILE", "help": "the study's configuration (study.json in that folder)"},
    "other-code": {"action": "store_true", "help": "also accept results made by other code than the present one"},
    "json": {"action": "store_true", "help": "print JSON"},
    "measure": {"action": "store_true", "help": "benchmark untimed cells first, on this machine"},
    "mode": {"choices": list(MODES)},
    "repeat": {"type": int},
    "threads": {
        "type": int,
        "default": 1,
        "required": False,
        "help": "threads for decoding images (1)",
        "metavar": "N",
    },
    "format": {"help": "cifar-10, cifar-100, mnist, celeba, imagenet or image-folder"},
    "examples": {"type": int, "help": "number of training examples; the test set has a fifth as many", "metavar": "N"},
    "records": {"metavar": "JSON"},
    "other-records": {"metavar": "RUN_JSON"},
    "other-hardware": {"help": "the other tooling", "metavar": "NAME"},
    "exchanged": {
        "metavar": "NPY",
        "help": "predictions of these runs on the other tooling; needs its index beside it",
    },
    "other-exchanged": {
        "metavar": "NPY",
        "help": "predictions of the other's runs on the first tooling; needs its index beside it",
    },
    "metrics": {"metavar": "CSV"},
    "remedied": {"metavar": "NPY", "help": "the cell's dump under remedies, if it has one; needs its index beside it"},
    "single": {"metavar": "NPY", "help": "the dump of the runs to compare with, if any; needs its index beside it"},
    "read": {
        "action": "append",
        "nargs": "+",
        "metavar": ("KIND", "CSV"),
        "help": "metric files of one kind for the figure; repeat for each kind",
    },
    ("render", "out"): {"metavar": "FILE", "help": "the notebook's outputs: one path per format"},
    "shows": {"metavar": "FILE", "help": "metric files, figures and tables to show"},
    ("crate", "RESULTS"): {"help": "a study's results folder, such as results/demo"},
    ("crate", "out"): {"help": "a new folder, or a .zip file", "metavar": "FOLDER_OR_ZIP"},
    "embed": {"action": "store_true", "help": "pack large files, too"},
    "gain": {
        "type": float,
        "nargs": "+",
        "metavar": "POINTS",
        "help": "difference in mean accuracy to show, in percentage points, such as 0.3",
    },
    "ratio": {"type": float, "nargs": "+", "metavar": "FACTOR", "help": "ratio of two SDs to show, such as 1.5"},
    "margin": {
        "type": float,
        "nargs": "+",
        "metavar": "FACTOR",
        "help": "show two SDs to be equal within this factor, such as 1.5",
    },
    ("plan", "runs"): {
        "type": int,
        "nargs": "+",
        "metavar": "N",
        "help": "runs per arm: print the effects that they can show",
    },
    "pilot": {"metavar": "CSV", "help": "take the SD of a cell from a study's metrics/stability.csv"},
    "sd": {"type": float, "metavar": "POINTS", "help": "SD of accuracy in percentage points, without a pilot"},
    "sd-runs": {"type": int, "metavar": "N", "help": "number of runs behind --sd, for its interval"},
    "power": {"type": float, "default": 0.8, "metavar": "SHARE", "help": "statistical power (0.8)"},
    "level": {"type": float, "default": 0.05, "metavar": "SHARE", "help": "significance level (0.05)"},
    ("plan", "figure"): {"metavar": "FILE", "help": "draw power against runs: .svg, .png or .pdf"},
}


if __name__ == "__main__":
    main()
