"""`toolnoise check`: whether a training program is reproducible."""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from toolnoise.commands.verb import AS_JSON, GAIN, Verb, flag, option, show


def _run(options: argparse.Namespace) -> None:
    from toolnoise.checking import reproducibility, reproducibility_text

    words = options.command[1:] if options.command[:1] == ["--"] else options.command
    command = reproducibility.command(words, options.sources, options.deterministic, options.limit)
    folder = Path(tempfile.mkdtemp(prefix="toolnoise-check-"))
    try:
        checked = reproducibility.check(command, folder)
        show(reproducibility_text.as_json(checked) if options.json else reproducibility_text.as_text(checked))
        sys.stdout.flush()
    finally:
        if options.keep:
            print(f"outcomes and logs: {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    sys.exit(0 if checked.passed else 1)


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
        "--limit": option("MINUTES", "the longest time of a run (none)", type=float),
        "--keep": flag("keep outcomes and logs and print their folder"),
        **AS_JSON,
        "COMMAND": {
            "nargs": argparse.REMAINDER,
            "help": "the program after --, such as: -- python train.py --seed {init} --data-seed {shuffle} --out {out}",
        },
    },
)
