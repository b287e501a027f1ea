"""`toolnoise plan`: the number of runs for a claim."""

import argparse

from toolnoise.base.errors import BadInput
from toolnoise.commands.verb import AS_JSON, GAIN, Verb, flag, option, show
from toolnoise.comparison.tables import arguments
from toolnoise.comparison.tables.directions import directed, require_directions
from toolnoise.comparison.tables.sessions import require_own_sessions
from toolnoise.study.cells import Cell

# What only a sequential plan has, and what only another has.
SEQUENTIAL = ("looks", "every", "most", "paired", "spending", "futility", "out")
FIXED = ("ratio", "margin", "runs", "pilot", "sd_runs", "figure", "by", "seed", "last", "best", "arm", *Cell._fields)


def _run(options: argparse.Namespace) -> None:
    from toolnoise.api.plan import plan

    for name in FIXED if options.sequential else SEQUENTIAL:
        if getattr(options, name):
            how = "with" if options.sequential else "without"
            raise BadInput("command line", f"--{name.replace('_', '-')}", f"given {how} --sequential", "one of the two")
    if options.sequential:
        _plan_looks(options)
        return
    names = ("gain", "ratio", "margin", "runs", "sd", "sd_runs", "pilot", "arm", *Cell._fields, "level", "power")
    of_tables = tuple(name.removeprefix("--") for name in arguments.READING)
    wanted = {name: getattr(options, name) for name in (*names, *of_tables)}
    found = plan(**wanted | {name: arguments.direction(wanted[name]) for name in ("lower", "higher")})
    if options.figure:
        found.write_figure(options.figure)
    show(found.to_dict() if options.json else found.text)


def _plan_looks(options: argparse.Namespace) -> None:
    from toolnoise.comparison.sequential import planning

    if not options.out:
        raise BadInput("command line", "--out", "found nothing", "a file for the plan, which --peek then reads")
    if len(options.metric or ()) > 1:
        raise BadInput("command line", "--metric", f"found {len(options.metric)}", "one with --sequential")
    asked = arguments.of(options.metric or ("accuracy",), lower=options.lower, higher=options.higher)
    (metric,) = metrics = directed(asked)
    require_directions(metrics)
    require_own_sessions(metric.name, options.session)
    planned = planning.make(
        options.sd,
        options.gain,
        options.looks,
        options.every,
        options.most,
        metric=options.metric[0] if options.metric else None,
        lower=metric.lower,
        paired=options.paired,
        rule=options.spending or planning.USUAL_SPENDING,
        futility=options.futility,
        level=options.level,
        power=options.power,
    )
    planning.write(planned, options.out)
    text = planning.as_text(planned, options.out)
    show(planning.as_json(planned) if options.json else f"{metric.better}.\n{text}" if options.metric else text)


VERB = Verb(
    group=GAIN,
    says="print the number of runs that a claim needs, or the effects that a number of runs can show",
    example="toolnoise plan --sd 0.3 --gain 0.3",
    run=_run,
    arguments={
        "--gain": option(
            "POINTS",
            "difference in mean accuracy to show, in percentage points, such as 0.3, or in the unit of --metric",
            type=float,
            nargs="+",
        ),
        "--ratio": option("FACTOR", "ratio of two SDs to show, such as 1.5", type=float, nargs="+"),
        "--margin": option("FACTOR", "show two SDs to be equal within this factor, such as 1.5", type=float, nargs="+"),
        "--runs": option("N", "runs per arm: print the effects that they can show", type=int, nargs="+"),
        "--pilot": option(
            "CSV", "take the SD of a cell from a study's metrics/stability.csv, or of runs from tables", nargs="+"
        ),
        **arguments.READING,
        "--arm": option("NAME", "of tables: the arm that gives the SD, or two, which may share seeds", nargs="+"),
        **{f"--{name}": {} for name in Cell._fields},
        "--sd": option("POINTS", "SD of accuracy in percentage points, without a pilot", type=float),
        "--sd-runs": option("N", "number of runs behind --sd, for its interval", type=int),
        "--power": option("SHARE", "statistical power (0.8)", type=float, default=0.8),
        "--level": option("SHARE", "significance level (0.05)", type=float, default=0.05),
        "--figure": option("FILE", "draw power against runs: .svg, .png or .pdf"),
        "--sequential": flag(
            "plan looks at the runs as they come in, for `compare --peek`; --gain and --sd are needed"
        ),
        "--out": option("FILE", "with --sequential: write the plan, before the first run"),
        "--looks": option("K", "with --sequential: so many looks (5)", type=int),
        "--every": option("N", "with --sequential: a look after every N runs of each arm", type=int),
        "--most": option("N", "with --sequential: the most runs of each arm (as many as --power takes)", type=int),
        "--paired": flag("with --sequential: runs are pairs, and --sd is the SD of their differences"),
        "--spending": {"choices": ("obrien-fleming", "pocock"), "help": "with --sequential: how the level is spent"},
        "--futility": flag("with --sequential: also stop if less than 10 %% chance is left"),
        **AS_JSON,
    },
)
