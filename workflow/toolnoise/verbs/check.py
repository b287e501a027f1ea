"""`toolnoise check`: whether a training program is reproducible."""

import argparse
import sys
from typing import Any

from toolnoise.commands.verb import AS_JSON, GAIN, flag, option, show, verb

OPTIONS = ("sources", "deterministic", "output", "metric", "vary", "world", "higher", "without_draws")
OPTIONS += ("trace", "resume", "resume_command", "checkpoint", "stop_at", "limit", "keep")


def _again(metavar: str, about: str) -> dict[str, Any]:
    return option(metavar, f"{about}; may be given again", action="append", default=[])


@verb(
    GAIN,
    "toolnoise check --output model.pt --metric 'accuracy ([0-9.]+)' -- python train.py",
    {
        "--output": _again("FILE", "a file that the program writes and that is compared, such as model.pt"),
        "--metric": _again(
            "REGEX", "a number that it prints and that is compared, such as 'accuracy ([0-9.]+)'; the last counts"
        ),
        "--sources": option(
            "NAMES",
            "sources whose seeds the program separates, such as init,shuffle (those that COMMAND names, or all)",
        ),
        "--deterministic": option(
            "WORDS",
            "words added to COMMAND to switch implementation noise off, such as --deterministic='--cudnn off'",
            default="",
        ),
        "--vary": _again(
            "WAY",
            "another way to run it that should change nothing, such as 'threads: OMP_NUM_THREADS=2' or "
            "'workers: --workers 4'",
        ),
        "--world": option("NUMBERS", "numbers of processes for torchrun, such as 1,2,4"),
        "--higher": option("WORDS", "words that raise its precision, such as --higher='--dtype float64'", default=""),
        "--without-draws": option(
            "WORDS", "words that switch draws off, such as --without-draws='--dropout 0'", default=""
        ),
        "--trace": flag("if two runs differ, show the first operation that differs"),
        "--resume": flag("also stop and resume the program, and compare with a whole run"),
        "--resume-command": option("COMMAND", "the command that goes on (the same command)"),
        "--checkpoint": _again("FILE", "a file or folder that it goes on from, removed before a run starts anew"),
        "--stop-at": option(
            "REGEX", "stop it when it has printed this, such as 'epoch 2' (two saves, or half the time)"
        ),
        "--limit": option("MINUTES", "the longest time of a run (720)", type=float),
        "--keep": flag("keep outcomes and logs and print their folder"),
        **AS_JSON,
        "COMMAND": {
            "nargs": argparse.REMAINDER,
            "help": "the program after --, such as: -- python train.py --seed {init} --data-seed {shuffle}",
        },
    },
)
def check(options: argparse.Namespace) -> None:
    """run a training program: is it reproducible, does it use its seeds; exit code 1 if not"""
    from toolnoise.api.study import check

    words = options.command[1:] if options.command[:1] == ["--"] else options.command
    checked = check(words, **{name: getattr(options, name) for name in OPTIONS})
    show(checked.to_dict() if options.json else checked.text)
    sys.exit(0 if checked.passed else 1)
