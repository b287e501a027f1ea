"""`toolnoise gate`: whether new runs pass, for continuous integration; exit code 0, 1 if they fail, 2 for bad input."""

import argparse
import sys

from toolnoise.commands.verb import AS_JSON, GAIN, Verb, flag, option, show
from toolnoise.comparison.verbs import arguments_of


def _run(options: argparse.Namespace) -> None:
    from toolnoise.api.decide import gate

    found = gate(**arguments_of(gate, options))
    show(found.to_dict() if options.json else found.text)
    if not found.passed:
        sys.exit(1)


VERB = Verb(
    group=GAIN,
    says="pass or fail new runs in continuous integration; exit code 0 or 1 (2: bad input)",
    example="toolnoise gate --reference runs.csv --new run.csv --metric loss --one-sided --lower",
    run=_run,
    arguments={
        "--reference": option("CSV", "runs of the reference, one a line", required=True),
        "--new": option("CSV", "the new run, or runs, one a line", required=True),
        "--metric": option("COLUMN", "the column that is compared, such as loss", required=True),
        "--one-sided": flag("fail only where new runs are worse, not where they are better"),
        "--lower": flag("with --one-sided: lower is better"),
        "--higher": flag("with --one-sided: higher is better"),
        "--session": option(
            "none", "of times and speeds: none, if each run is a session (a machine, a day) of its own"
        ),
        "--level": option("SHARE", "the share of unchanged runs that fail (0.01)", type=float, default=0.01),
        **AS_JSON,
    },
)
