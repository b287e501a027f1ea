"""`toolnoise check`: whether a training program is reproducible."""

import argparse
import sys
from typing import Any

from toolnoise.commands.verb import AS_JSON, GAIN, Verb, flag, option, show

OPTIONS = ("sources", "deterministic", "output", "metric", "vary", "world", "higher", "without_draws")
OPTIONS += ("trace", "resume", "resume_command", "checkpoint", "stop_at", "limit", "keep")


def _run(options: argparse.Namespace) -> None:
    from toolnoise.api.check import check

    words = options.command[1:] if options.command[:1] == ["--"] else options.command
    checked = check(words, **{name: getattr(options, name) for name in OPTIONS})
    show(checked.to_dict() if options.json else checked.text)
    sys.exit(0 if checked.passed else 1)


def _again(metavar: str, about: str) -> dict[str, Any]:
    return option(metavar, f"{about}; may be given again", action="append", default=[])


VERB = Verb(
    group=GAIN,
    says="run a training program: is it reproducible, does it use its seeds; exit code 1 if not",
    example="toolnoise check -- python train.py --seed {init} --data-seed {shuffle} --out {out}",
    run=_run,
    arguments={
        "--sources": option(
            "NAMES",
            "sources with seeds of their own, such as init,shuffle (those in COMMAND, or all)",
        ),
        "--deterministic": option(
            "WORDS",
            "words that switch implementation noise off, such as --deterministic='--cudnn off'",
            default="",
        ),
        "--output": _again("FILE", "compare this file that the program writes, such as model.pt"),
        "--metric": _again("REGEX", "compare the last number that it prints so, such as 'accuracy ([0-9.]+)'"),
        "--vary": _again(
            "WAY",
            "a variation that should change nothing, such as 'workers: --workers 4'",
        ),
        "--world": option("NUMBERS", "numbers of processes for torchrun, such as 1,2,4"),
        "--higher": option("WORDS", "words that raise its precision, such as --higher='--dtype float64'", default=""),
        "--without-draws": option(
            "WORDS", "words that switch draws off, such as --without-draws='--dropout 0'", default=""
        ),
        "--trace": flag("if two runs differ, show the first operation that differs"),
        "--resume": flag("also stop and resume the program, and compare with a whole run"),
        "--resume-command": option("COMMAND", "the command that resumes (COMMAND)"),
        "--checkpoint": _again("FILE", "what it resumes from, removed before a new run (as its text says)"),
        "--stop-at": option("REGEX", "stop when it prints this, such as 'epoch 2' (two saves, or half the time)"),
        "--limit": option("MINUTES", "the longest time of a run (720)", type=float),
        "--keep": flag("keep outcomes and logs and print their folder"),
        **AS_JSON,
        "COMMAND": {
            "nargs": argparse.REMAINDER,
            "help": "the program, after --; {init}, {shuffle}, ... stand for seeds, {out} for a folder",
        },
    },
)
