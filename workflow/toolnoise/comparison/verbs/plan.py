"""`toolnoise plan`: the number of runs for a claim."""

import argparse

from toolnoise.commands.verb import AS_JSON, GAIN, Verb, option, show
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
        "--gain": option(
            "POINTS", "difference in mean accuracy to show, in percentage points, such as 0.3", type=float, nargs="+"
        ),
        "--ratio": option("FACTOR", "ratio of two SDs to show, such as 1.5", type=float, nargs="+"),
        "--margin": option("FACTOR", "show two SDs to be equal within this factor, such as 1.5", type=float, nargs="+"),
        "--runs": option("N", "runs per arm: print the effects that they can show", type=int, nargs="+"),
        "--pilot": option("CSV", "take the SD of a cell from a study's metrics/stability.csv"),
        **{f"--{name}": {} for name in Cell._fields},
        "--sd": option("POINTS", "SD of accuracy in percentage points, without a pilot", type=float),
        "--sd-runs": option("N", "number of runs behind --sd, for its interval", type=int),
        "--power": option("SHARE", "statistical power (0.8)", type=float, default=0.8),
        "--level": option("SHARE", "significance level (0.05)", type=float, default=0.05),
        "--figure": option("FILE", "draw power against runs: .svg, .png or .pdf"),
        **AS_JSON,
    },
)
