"""The command line: one verb for each rule, and what a person asks for by hand.

A rule's verb is a job (jobs.py), performed by the recorder, which states what came of it. Bad input ends in one line
and exit code 2.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from toolnoise import study as studies
from toolnoise.errors import BadInput, told_in_one_line
from toolnoise.jobs import JOBS
from toolnoise.study import MODES


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one verb."""
    with told_in_one_line():
        options = _parser().parse_args(arguments)
        try:
            options.run(options)
            sys.stdout.flush()
        except BrokenPipeError:
            # Whoever read what was printed, such as `head`, has seen enough.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _perform(options: argparse.Namespace) -> None:
    from toolnoise.provenance import recording

    recording.run(options.verb, options)


def _synthesise(options: argparse.Namespace) -> None:
    from toolnoise.datasets import synthetic

    synthetic.write(options.format, options.examples, options.out)


def _summary(options: argparse.Namespace) -> None:
    from toolnoise.summary import summarise

    print(summarise(studies.load(options.study)))


def _doctor(options: argparse.Namespace) -> None:
    from toolnoise import config, doctor

    hardware = studies.load(options.study).config["hardware"] if options.study else config.registered("hardware")
    found = doctor.examine(hardware)
    _print(found if options.json else doctor.told(found))
    # Of a study every tooling is asked for, of the registry any.
    able = [not reason for reason in found["hardware"].values()]
    sys.exit(0 if (all if options.study else any)(able) else 1)


def _estimate(options: argparse.Namespace) -> None:
    from toolnoise import estimate

    study = studies.load(options.study)
    if options.measure:
        estimate.measure(study, options.study)
    found = estimate.estimate(study)
    _print(estimate.as_json(found) if options.json else estimate.told(found, options.study))


def _status(options: argparse.Namespace) -> None:
    from toolnoise import status

    study = studies.load(options.study)
    found = status.status(study)
    _print(status.as_json(found) if options.json else status.told(study, found))


def _plan(options: argparse.Namespace) -> None:
    from toolnoise import planning

    wanted = {name: getattr(options, name) for name in studies.Cell._fields}
    spread = planning.spread_of(options.pilot, wanted, options.sd, options.sd_runs)
    claims = (options.gain, options.ratio, options.margin)
    found = planning.plan(spread, *claims, options.runs, options.level, options.power)
    if options.figure:
        from toolnoise import power_curves

        power_curves.draw(found, options.figure)
    _print(planning.as_json(found) if options.json else planning.told(found))


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
        (verb, _perform, job.says, (*job.options, *job.reads, *job.writes, *job.aside)) for verb, job in JOBS.items()
    ]
    for verb, run, says, names in [*jobs, *_BY_HAND]:
        one = verbs.add_parser(verb, help=says, description=says, allow_abbrev=False)
        one.set_defaults(run=run)
        for name in names:
            # A question mark: it may be left out.
            argument = name.removesuffix("?")
            about = _ARGUMENTS.get((verb, argument), _ARGUMENTS.get(argument, {}))
            one.add_argument(f"--{argument}", **{"required": argument == name, **about})
    return parser


_BY_HAND = [
    ("synthesise", _synthesise, "write a synthetic data set in an official format", ("format", "examples", "out")),
    ("summary", _summary, "print a study's results", ("study",)),
    ("doctor", _doctor, "print what this machine is and which toolings it can serve", ("study?", "json?")),
    ("estimate", _estimate, "print what a study will cost", ("study", "measure?", "json?")),
    ("status", _status, "print where a study stands", ("study", "json?")),
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
    "json": {"action": "store_true", "help": "for programs"},
    "measure": {"action": "store_true", "help": "first time some steps of what nobody timed, on this machine"},
    "mode": {"choices": list(MODES)},
    "repeat": {"type": int},
    "threads": {"type": int, "default": 1, "required": False, "help": "that decode images (1)", "metavar": "N"},
    "format": {"help": "cifar-10, cifar-100, celeba, imagenet or image-folder"},
    "examples": {"type": int, "help": "training examples; a fifth as many are for testing", "metavar": "N"},
    "kind": {"choices": ["stability", "cross_tooling", "counts", "overhead", "kernels"]},
    "records": {"nargs": "+", "metavar": "JSON"},
    "other-records": {"nargs": "+", "metavar": "RUN_JSON"},
    "metrics": {"nargs": "+", "metavar": "CSV"},
    "read": {
        "action": "append",
        "nargs": "+",
        "metavar": ("KIND", "CSV"),
        "help": "metric files of a kind that the figure reads; once for each kind",
    },
    ("render", "out"): {"nargs": "+", "metavar": "FILE", "help": "what the notebook writes: a path in each format"},
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
    "shows": {"nargs": "+", "metavar": "FILE", "help": "the metric files, figures and tables that the page shows"},
}


if __name__ == "__main__":
    main()
