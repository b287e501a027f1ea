"""`toolnoise plan`: the number of runs for a claim."""

import argparse

from toolnoise.commands.verb import AS_JSON, GAIN, Verb, option, show
from toolnoise.comparison.verbs import arguments_of
from toolnoise.comparison.verbs.compare import READING, direction


def _run(options: argparse.Namespace) -> None:
    from toolnoise.api.decide import plan

    wanted = arguments_of(plan, options)
    found = plan(**wanted | {name: direction(wanted[name]) for name in ("lower", "higher")})
    show(found.to_dict() if options.json else found.text)


VERB = Verb(
    group=GAIN,
    says="print the number of runs that a gain needs; or the gains that a number of runs can show",
    example="toolnoise plan --sd 0.3 --gain 0.3",
    run=_run,
    arguments={
        "--gain": option(
            "POINTS",
            "difference in means to show, in percentage points or the unit of --metric",
            type=float,
            nargs="+",
        ),
        "--runs": option("N", "runs per arm: print the gains that they can show", type=int, nargs="+"),
        "--pilot": option(
            "CSV", "take the SD of a cell from a study's metrics/stability.csv, or of runs from tables", nargs="+"
        ),
        **READING,
        "--arm": option("NAME", "of tables: the arm that gives the SD, or two arms", nargs="+"),
        **{f"--{name}": {} for name in ("model", "dataset", "hardware", "variant")},
        "--sd": option("POINTS", "SD of accuracy in percentage points, without a pilot", type=float),
        "--sd-runs": option("N", "number of runs behind --sd, for its interval", type=int),
        "--power": option("SHARE", "statistical power (0.8)", type=float, default=0.8),
        "--level": option("SHARE", "significance level (0.05)", type=float, default=0.05),
        **AS_JSON,
    },
)
