"""`toolnoise check`: whether a training program is reproducible."""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from toolnoise.base import command_words
from toolnoise.commands.verb import AS_JSON, GAIN, Verb, flag, option, show


def _run(options: argparse.Namespace) -> None:
    from toolnoise.checking import invariances, reproducibility, reproducibility_text, unmodified

    words = options.command[1:] if options.command[:1] == ["--"] else options.command
    resumes = bool(options.resume or options.resume_command or options.stop_at)
    wanted = unmodified.wanted(options.output, options.metric, options.checkpoint or _found(words, resumes))
    command = reproducibility.command(words, options.sources, options.deterministic, options.limit, wanted)
    worlds = invariances.worlds(options.world)
    command = command._replace(
        words=invariances.torchrun(command.words, worlds[0]) if worlds else command.words,
        ways=invariances.ways(command.words, options.vary, worlds, matrix=options.matrix),
        higher=command_words.words(options.higher, "--higher") if options.higher else [],
    )
    if resumes:
        resume = reproducibility.resuming(command.words, options.resume_command, options.stop_at)
        command = command._replace(resume=resume)
    folder, kept = Path(tempfile.mkdtemp(prefix="toolnoise-check-")), True
    try:
        checked = reproducibility.check(command, folder)
        show(reproducibility_text.as_json(checked) if options.json else reproducibility_text.as_text(checked))
        sys.stdout.flush()
        kept = options.keep
    finally:
        unmodified.forget(wanted)
        # What ended before its verdict leaves its logs.
        if kept:
            print(f"outcomes and logs are kept in {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    sys.exit(0 if checked.passed else 1)


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
        "--higher": option("WORDS", "words that raise its precision, such as --higher='--dtype float64'"),
        "--resume": flag("also stop the program twice, have it go on, and compare its end with that of a whole run"),
        "--resume-command": option("COMMAND", "the command that goes on (the same command)"),
        "--checkpoint": _again(
            "FILE", "a file or folder that it goes on from, removed before a run starts anew (as its text says)"
        ),
        "--stop-at": option(
            "REGEX", "stop it when it has printed this, such as 'epoch 2' (two saves, or half the time)"
        ),
        "--limit": option("MINUTES", "the longest time of a run (720)", type=float),
        "--keep": flag("keep outcomes and logs and print their folder"),
        **AS_JSON,
        "COMMAND": {
            "nargs": argparse.REMAINDER,
            "help": "the program after --, such as: -- python train.py --seed {init} --data-seed {shuffle} --out {out}",
        },
    },
)
