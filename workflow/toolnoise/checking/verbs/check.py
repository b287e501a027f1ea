"""`toolnoise check`: whether a training program is reproducible."""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from toolnoise.base import command_words
from toolnoise.commands.verb import AS_JSON, GAIN, Verb, show


def _run(options: argparse.Namespace) -> None:
    from toolnoise.checking import check, invariances, report, unmodified

    words = options.command[1:] if options.command[:1] == ["--"] else options.command
    wanted = unmodified.wanted(options.output, options.metric, options.checkpoint)
    command = check.command(words, options.sources, options.deterministic, options.limit, wanted)
    worlds = invariances.worlds(options.world)
    command = command._replace(
        words=invariances.torchrun(command.words, worlds[0]) if worlds else command.words,
        ways=invariances.ways(command.words, options.vary, worlds, matrix=options.matrix),
        higher=command_words.words(options.higher, "--higher") if options.higher else [],
    )
    if options.resume or options.resume_command or options.stop_at:
        command = command._replace(resume=check.resuming(command.words, options.resume_command, options.stop_at))
    folder, kept = Path(tempfile.mkdtemp(prefix="toolnoise-check-")), True
    try:
        checked = check.check(command, folder)
        show(report.as_json(checked) if options.json else report.as_text(checked))
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


VERB = Verb(
    group=GAIN,
    says="run a training program to see whether it is reproducible and uses its seeds; exit code 1 if not",
    example="toolnoise check -- python train.py --seed {init} --data-seed {shuffle} --out {out}",
    run=_run,
    arguments={
        "--sources": {
            "metavar": "NAMES",
            "help": "sources whose seeds the program separates, such as init,shuffle (those that COMMAND names, or "
            "all)",
        },
        "--deterministic": {
            "default": "",
            "metavar": "WORDS",
            "help": "words added to COMMAND to switch implementation noise off, such as --deterministic='--cudnn off'",
        },
        "--output": {
            "action": "append",
            "default": [],
            "metavar": "FILE",
            "help": "a file that the program writes and that is compared, such as model.pt; may be given again",
        },
        "--metric": {
            "action": "append",
            "default": [],
            "metavar": "REGEX",
            "help": "a number that the program prints and that is compared, such as 'accuracy ([0-9.]+)'; the last "
            "counts; may be given again",
        },
        "--vary": {
            "action": "append",
            "default": [],
            "metavar": "WAY",
            "help": "another way to run it that should change nothing, such as 'threads: OMP_NUM_THREADS=2' or "
            "'workers: --workers 4'; may be given again",
        },
        "--matrix": {"action": "store_true", "help": "the ways that are known of any program, or found in its text"},
        "--world": {"metavar": "NUMBERS", "help": "numbers of processes for torchrun, such as 1,2,4"},
        "--higher": {"metavar": "WORDS", "help": "words that raise its precision, such as --higher='--dtype float64'"},
        "--resume": {
            "action": "store_true",
            "help": "also stop the program twice, have it go on, and compare its end with that of a run that is not "
            "stopped",
        },
        "--resume-command": {"metavar": "COMMAND", "help": "the command that goes on (the same command)"},
        "--checkpoint": {
            "action": "append",
            "default": [],
            "metavar": "FILE",
            "help": "a file that the program goes on from; it is removed before a run starts anew; may be given again",
        },
        "--stop-at": {
            "metavar": "REGEX",
            "help": "stop it when it has printed this, such as 'epoch 2' (half the time)",
        },
        "--limit": {"type": float, "metavar": "MINUTES", "help": "the longest time of a run (720)"},
        "--keep": {"action": "store_true", "help": "keep outcomes and logs and print their folder"},
        **AS_JSON,
        "COMMAND": {
            "nargs": argparse.REMAINDER,
            "help": "the program after --, such as: -- python train.py --seed {init} --data-seed {shuffle} --out {out}",
        },
    },
)
