"""`toolnoise plan`: the number of runs for a claim."""

import argparse

from toolnoise.commands.verb import AS_JSON, GAIN, Verb, show
from toolnoise.study.cells import Cell


def _run(options: argparse.Namespace) -> None:
    from toolnoise.comparison import sample_size

    wanted = {name: getattr(options, name) for name in Cell._fields}
    spread = sample_size.spread_of(options.pilot, wanted, options.sd, options.sd_runs)
    claims = (options.gain, options.ratio, options.margin)
    planned = sample_size.plan(spread, *claims, options.runs, options.level, options.power)
    if options.figure:
        from toolnoise.comparison import power_curves

        power_curves.draw(planned, options.figure)
    show(sample_size.as_json(planned) if options.json else sample_size.as_text(planned))


VERB = Verb(
    group=GAIN,
    says="print the number of runs that a claim needs, or the effects that a number of runs can show",
    example="toolnoise plan --sd 0.3 --gain 0.3",
    run=_run,
    arguments={
        "--gain": {
            "type": float,
            "nargs": "+",
            "metavar": "POINTS",
            "help": "difference in mean accuracy to show, in percentage points, such as 0.3",
        },
        "--ratio": {"type": float, "nargs": "+", "metavar": "FACTOR", "help": "ratio of two SDs to show, such as 1.5"},
        "--margin": {
            "type": float,
            "nargs": "+",
            "metavar": "FACTOR",
            "help": "show two SDs to be equal within this factor, such as 1.5",
        },
        "--runs": {
            "type": int,
            "nargs": "+",
            "metavar": "N",
            "help": "runs per arm: print the effects that they can show",
        },
        "--pilot": {"metavar": "CSV", "help": "take the SD of a cell from a study's metrics/stability.csv"},
        **{f"--{name}": {} for name in Cell._fields},
        "--sd": {"type": float, "metavar": "POINTS", "help": "SD of accuracy in percentage points, without a pilot"},
        "--sd-runs": {"type": int, "metavar": "N", "help": "number of runs behind --sd, for its interval"},
        "--power": {"type": float, "default": 0.8, "metavar": "SHARE", "help": "statistical power (0.8)"},
        "--level": {"type": float, "default": 0.05, "metavar": "SHARE", "help": "significance level (0.05)"},
        "--figure": {"metavar": "FILE", "help": "draw power against runs: .svg, .png or .pdf"},
        **AS_JSON,
    },
)
