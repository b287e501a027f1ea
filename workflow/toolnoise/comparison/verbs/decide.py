"""`toolnoise plan`, `gate` and `keep`: what a gain needs, whether new runs pass, and which change of a loop to keep.

`gate` and `keep` say their verdict by their exit code, 2 is bad input: `gate` ends with 0 or, if runs fail, with 1.
"""

import argparse
import inspect
import sys
from collections.abc import Callable
from typing import Any

from toolnoise.commands.verb import AS_JSON, GAIN, flag, option, show, verb
from toolnoise.comparison.verbs.compare import READING, direction

KEEP_CODES = {"keep": 0, "drop": 1, "run": 3}
OWN_SESSIONS = option("none", "of times and speeds: none, if each run is a session (a machine, a day) of its own")


def _found(function: Callable[..., Any], options: argparse.Namespace, **said: Any) -> Any:
    """What a function of the API finds, whose arguments have the names of the options; it is printed."""
    found = function(**{name: getattr(options, name) for name in inspect.signature(function).parameters} | said)
    show(found.to_dict() if options.json else found.text)
    return found


@verb(
    GAIN,
    "toolnoise plan --sd 0.3 --gain 0.3",
    {
        "--gain": option(
            "POINTS",
            "difference in means to show, in percentage points or the unit of --metric",
            type=float,
            nargs="+",
        ),
        "--pilot": option(
            "CSV", "take the SD of a cell from a study's metrics/stability.csv, or of runs from tables", nargs="+"
        ),
        **READING,
        "--arm": option(
            "NAME",
            "the arm of a table that gives the SD, or two; of a study, a cell such as mlp/digits/cpu/algo",
            nargs="+",
        ),
        "--sd": option("POINTS", "SD of accuracy in percentage points, without a pilot", type=float),
        "--sd-runs": option("N", "number of runs behind --sd, for its interval", type=int),
        "--power": option("SHARE", "statistical power (0.8)", type=float, default=0.8),
        "--level": option("SHARE", "significance level (0.05)", type=float, default=0.05),
        **AS_JSON,
    },
)
def plan(options: argparse.Namespace) -> None:
    """print the number of runs that a gain needs"""
    from toolnoise.api.decide import plan

    _found(plan, options, lower=direction(options.lower), higher=direction(options.higher))


@verb(
    GAIN,
    "toolnoise gate --reference runs.csv --new run.csv --metric loss --one-sided --lower",
    {
        "--reference": option("CSV", "runs of the reference, one a line", required=True),
        "--new": option("CSV", "the new run, or runs, one a line", required=True),
        "--metric": option("COLUMN", "the column that is compared, such as loss", required=True),
        "--one-sided": flag("fail only where new runs are worse, not where they are better"),
        "--lower": flag("with --one-sided: lower is better"),
        "--higher": flag("with --one-sided: higher is better"),
        "--session": OWN_SESSIONS,
        "--level": option("SHARE", "the share of unchanged runs that fail (0.01)", type=float, default=0.01),
        **AS_JSON,
    },
)
def gate(options: argparse.Namespace) -> None:
    """pass or fail new runs in continuous integration; exit code 0 or 1 (2: bad input)"""
    from toolnoise.api.decide import gate

    if not _found(gate, options).passed:
        sys.exit(1)


@verb(
    GAIN,
    "toolnoise keep results.tsv --metric val_loss --lower",
    {
        "TABLE": {
            "help": "the runs of the loop in the order in which they were made: a line each, with a column of changes "
            "(CSV, or results.tsv of an autoresearch loop), or a log with lines METRIC name=value"
        },
        "--metric": option("COLUMN", "the column of the metric, such as val_loss", required=True),
        "--lower": flag("lower is better"),
        "--higher": flag("higher is better"),
        "--by": option("COLUMN", "the column that says the change (known by name: change, commit, name and others)"),
        "--session": OWN_SESSIONS,
        "--strict": flag("run changes and the incumbent 32 times, for about a third of the false keeps"),
        **AS_JSON,
    },
)
def keep(options: argparse.Namespace) -> None:
    """keep, drop or rerun the last change of a loop; exit code 0, 1 or 3"""
    from toolnoise.api.decide import keep

    sys.exit(KEEP_CODES[_found(keep, options)["answer"]])
