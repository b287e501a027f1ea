"""`toolnoise check`: whether a training program is reproducible."""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from toolnoise.commands.verb import AS_JSON, GAIN, Verb, show


def _run(options: argparse.Namespace) -> None:
    from toolnoise.checking import check, report, unmodified

    words = options.command[1:] if options.command[:1] == ["--"] else options.command
    wanted = unmodified.wanted(options.output, options.metric)
    command = check.command(words, options.sources, options.deterministic, options.limit, wanted)
    folder, kept = Path(tempfile.mkdtemp(prefix="toolnoise-check-")), True
    try:
        checked = check.check(command, folder)
        show(report.as_json(checked) if options.json else report.as_text(checked))
        sys.stdout.flush()
        kept = options.keep
    finally:
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
        "--limit": {"type": float, "metavar": "MINUTES", "help": "the longest time of a run (720)"},
        "--keep": {"action": "store_true", "help": "keep outcomes and logs and print their folder"},
        **AS_JSON,
        "COMMAND": {
            "nargs": argparse.REMAINDER,
            "help": "the program after --, such as: -- python train.py --seed {init} --data-seed {shuffle} --out {out}",
        },
    },
)
