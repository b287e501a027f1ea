"""`toolnoise check`: whether a training program is reproducible."""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
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
    from toolnoise.checking import reproducibility, reproducibility_text, unmodified, ways

    words = options.command[1:] if options.command[:1] == ["--"] else options.command
    resumes = bool(options.resume or options.resume_command or options.stop_at)
    wanted = unmodified.wanted(options.output, options.metric, options.checkpoint or _found(words, resumes))
    command = reproducibility.command(words, options.sources, options.deterministic, options.limit, wanted)
    worlds = ways.worlds(options.world)
    command = command._replace(
        words=ways.torchrun(command.words, worlds[0]) if worlds else command.words,
        asked=ways.asked(
            command.words, options.vary, worlds, options.higher, options.without_draws, matrix=options.matrix
        ),
        trace=options.trace,
    )
    if resumes:
        resume = reproducibility.resuming(command.words, options.resume_command, options.stop_at)
        command = command._replace(resume=resume)
    with _folder(options) as folder:
        try:
            checked = reproducibility.check(command, folder)
            show(reproducibility_text.as_json(checked) if options.json else reproducibility_text.as_text(checked))
        finally:
            unmodified.forget(wanted)
    sys.exit(0 if checked.passed else 1)


def _run_model(options: argparse.Namespace) -> NoReturn:
    """Check a model instead of a program."""
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
    with _folder(options) as folder:
        checked = batches.check(task, folder)
        show(batches.as_json(checked) if options.json else batches.as_text(checked))
    sys.exit(0 if checked.passed else 1)


@contextmanager
def _folder(options: argparse.Namespace) -> Iterator[Path]:
    """A folder for what runs leave. What ends before its verdict leaves its logs."""
    folder, kept = Path(tempfile.mkdtemp(prefix="toolnoise-check-")), True
    try:
        yield folder
        sys.stdout.flush()
        kept = options.keep
    finally:
        if kept:
            print(f"outcomes and logs are kept in {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _found(words: list[str], resumes: bool) -> list[str]:
    """Where the program's framework leaves checkpoints, which is said; only a run that is resumed needs to know."""
    from toolnoise.checking import program_text, saves

    found = saves.places(program_text.sources(words, Path())) if resumes else []
    if found:
        print(f"its checkpoints, as its text says: {', '.join(found)} (--checkpoint)", file=sys.stderr)
    return found


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
            "WORDS",
            "words that switch draws off, such as --without-draws='--dropout 0'",
            default="",
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
