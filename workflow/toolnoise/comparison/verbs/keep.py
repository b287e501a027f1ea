"""`toolnoise keep`: keep, drop or run again the last change of a loop; exit code 0, 1 or 3 (2: bad input)."""

import argparse
import sys

from toolnoise.commands.verb import AS_JSON, GAIN, Verb, flag, option, show
from toolnoise.comparison.verbs import arguments_of

CODES = {"keep": 0, "drop": 1, "run": 3}


def _run(options: argparse.Namespace) -> None:
    from toolnoise.api.decide import keep

    found = keep(**arguments_of(keep, options))
    show(found.to_dict() if options.json else found.text)
    sys.exit(CODES[found["answer"]])


VERB = Verb(
    group=GAIN,
    says="keep, drop or rerun the last change of a loop; exit code 0, 1 or 3",
    example="toolnoise keep results.tsv --metric val_loss --lower",
    run=_run,
    arguments={
        "TABLE": {
            "help": "the runs of the loop in the order in which they were made: a line each, with a column of changes "
            "(CSV, or results.tsv of an autoresearch loop), or a log with lines METRIC name=value"
        },
        "--metric": option("COLUMN", "the column of the metric, such as val_loss", required=True),
        "--lower": flag("lower is better"),
        "--higher": flag("higher is better"),
        "--by": option("COLUMN", "the column that says the change (known by name: change, commit, name and others)"),
        "--session": option(
            "none", "of times and speeds: none, if each run is a session (a machine, a day) of its own"
        ),
        "--strict": flag("run changes and the incumbent 32 times, for about a third of the false keeps"),
        **AS_JSON,
    },
)
