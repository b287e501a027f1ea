"""`toolnoise check`: whether a training program is reproducible."""

import argparse
import sys
from typing import Any, NoReturn

from toolnoise.base.errors import BadInput
from toolnoise.commands.verb import AS_JSON, GAIN, Verb, flag, option, show

OF_A_MODEL = ("inputs", "batches", "python", "decode")
OF_A_PROGRAM = (
    *("sources", "deterministic", "output", "metric", "vary", "matrix", "world", "without_draws", "trace"),
    *("resume", "resume_command", "checkpoint", "stop_at", "command"),
)


def _run(options: argparse.Namespace) -> None:
    if options.model is not None:
        _run_model(options)
    given = [f"--{name}" for name in OF_A_MODEL if getattr(options, name) is not None]
    if given:
        raise BadInput("command line", given[0], "is for a model", "--model FILE")
    from toolnoise.api.check import check

    words = options.command[1:] if options.command[:1] == ["--"] else options.command
    asked = {name: getattr(options, name) for name in OF_A_PROGRAM if name != "command"}
    checked = check(words, **asked, higher=options.higher, limit=options.limit, keep=options.keep)
    show(checked.to_dict() if options.json else checked.text)
    sys.exit(0 if checked.passed else 1)


def _run_model(options: argparse.Namespace) -> NoReturn:
    """Check a model instead of a program."""
    from toolnoise.api.check import folder
    from toolnoise.checking import reproducibility
    from toolnoise.checking.models import batches

    given = [name for name in OF_A_PROGRAM if getattr(options, name)]
    if given:
        found = "a COMMAND" if given[0] == "command" else f"--{given[0].replace('_', '-')}"
        raise BadInput("command line", "--model", f"found {found} besides", f"--{', --'.join(OF_A_MODEL)}, --higher")
    task = batches.task(
        options.model,
        options.inputs,
        options.batches,
        options.python,
        options.higher,
        options.decode,
        reproducibility.seconds(options.limit),
    )
    with folder(keep=options.keep) as place:
        checked = batches.check(task, place)
        show(batches.as_json(checked) if options.json else batches.as_text(checked))
    sys.exit(0 if checked.passed else 1)


def _again(metavar: str, about: str) -> dict[str, Any]:
    return option(metavar, f"{about}; may be given again", action="append", default=[])


VERB = Verb(
    group=GAIN,
    says="run a training program to see whether it is reproducible and uses its seeds; exit code 1 if not",
    example="toolnoise check -- python train.py --seed {init} --data-seed {shuffle} --out {out}",
    run=_run,
    arguments={
        "--sources": option(
            "NAMES",
            "sources whose seeds the program separates, such as init,shuffle (those that COMMAND names, or all)",
        ),
        "--deterministic": option(
            "WORDS",
            "words added to COMMAND to switch implementation noise off, such as --deterministic='--cudnn off'",
            default="",
        ),
        "--output": _again("FILE", "a file that the program writes and that is compared, such as model.pt"),
        "--metric": _again(
            "REGEX", "a number that it prints and that is compared, such as 'accuracy ([0-9.]+)'; the last counts"
        ),
        "--vary": _again(
            "WAY",
            "another way to run it that should change nothing, such as 'threads: OMP_NUM_THREADS=2' or "
            "'workers: --workers 4'",
        ),
        "--matrix": flag("the ways that are known of any program, or found in its text"),
        "--world": option("NUMBERS", "numbers of processes for torchrun, such as 1,2,4"),
        "--higher": option("WORDS", "words that raise its precision, such as --higher='--dtype float64'", default=""),
        "--without-draws": option(
            "WORDS", "words that switch draws off, such as --without-draws='--dropout 0'", default=""
        ),
        "--trace": flag("if two runs differ, record more of them and show the first operation that differs"),
        "--resume": flag("also stop the program twice, have it go on, and compare its end with that of a whole run"),
        "--resume-command": option("COMMAND", "the command that goes on (the same command)"),
        "--checkpoint": _again(
            "FILE", "a file or folder that it goes on from, removed before a run starts anew (as its text says)"
        ),
        "--stop-at": option(
            "REGEX", "stop it when it has printed this, such as 'epoch 2' (two saves, or half the time)"
        ),
        "--model": option("FILE", "instead of a program, a model (.onnx, .keras, .pt2) in batches of several sizes"),
        "--inputs": option(
            "FILE", "the rows that the model is given, a .npy file, or an .npz file with all its inputs"
        ),
        "--batches": option("NUMBERS", "sizes of batches (1,2,3,4,7,8,16 and so on to 256)"),
        "--decode": option("NUMBER", "also append so many most likely tokens to each row of token ids", type=int),
        "--python": option("FILE", "the interpreter or virtual environment that has the model's framework (this one)"),
        "--limit": option("MINUTES", "the longest time of a run (720)", type=float),
        "--keep": flag("keep outcomes and logs and print their folder"),
        **AS_JSON,
        "COMMAND": {
            "nargs": argparse.REMAINDER,
            "help": "the program after --, such as: -- python train.py --seed {init} --data-seed {shuffle} --out {out}",
        },
    },
)
