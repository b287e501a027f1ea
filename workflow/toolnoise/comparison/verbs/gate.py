"""`toolnoise gate`: whether new runs pass, for continuous integration; exit code 0, 1 if they fail, 2 for bad input."""

import argparse
import math
import sys

from toolnoise.base.errors import BadInput
from toolnoise.commands.verb import AS_JSON, GAIN, Verb, flag, option, show
from toolnoise.comparison.tables.arguments import Asked
from toolnoise.comparison.tables.directions import Metric, directed, require_directions
from toolnoise.comparison.tables.sessions import require_own_sessions

PRESETS = ("mlperf", "record")


def _run(options: argparse.Namespace) -> None:
    from toolnoise.comparison import regression_gate

    _require_fitting(options)
    require_own_sessions(options.metric, options.session)
    new = regression_gate.read_runs_of_metric(options.new, options.metric)
    if options.preset == "record":
        gated = regression_gate.record(new, options.metric, options.target)
    else:
        reference = regression_gate.read_runs_of_metric(options.reference, options.metric)
        if options.preset == "mlperf":
            gated = regression_gate.mlperf(reference, new, options.metric)
        else:
            level = regression_gate.LEVEL if options.level is None else options.level
            better = _direction(options) if options.one_sided else None
            worse = None if better is None else "higher" if better.lower else "lower"
            gated = regression_gate.consistent(reference, new, options.metric, level=level, worse=worse)
            if better:
                gated = gated._replace(line=f"{gated.line}; {better.better}")
    show(gated.numbers | {"verdict": gated.line} if options.json else gated.line)
    if not gated.passes:
        sys.exit(1)


def _direction(options: argparse.Namespace) -> Metric:
    """Which way the metric is better, as the user or its name says."""
    lower, higher = (() if given else None for given in (options.lower, options.higher))
    (metric,) = metrics = directed(Asked((options.metric,), lower=lower, higher=higher))
    require_directions(metrics)
    return metric


def _require_fitting(options: argparse.Namespace) -> None:
    """Refuse options that the rule does not have, and its own that are not given."""
    preset, line = options.preset, "command line"
    if (options.reference is None) != (preset == "record"):
        what, allowed = ("found one", "none with --preset record") if options.reference else ("found nothing", "a CSV")
        raise BadInput(line, "--reference", what, allowed)
    if (options.target is None) == (preset == "record"):
        allowed = "a loss, such as 3.28" if preset == "record" else "only with --preset record"
        raise BadInput(line, "--target", "found nothing" if options.target is None else "found one", allowed)
    if options.target is not None and not math.isfinite(options.target):
        raise BadInput(line, "--target", f"found {options.target}", "a number")
    for name in ("level", "lower", "higher", "one_sided") if preset else ():
        if getattr(options, name):
            raise BadInput(line, f"--{name.replace('_', '-')}", f"found --preset {preset}, too", "one of them")
    for name in ("lower", "higher"):
        if getattr(options, name) and not options.one_sided:
            raise BadInput(line, f"--{name}", "found no --one-sided", "both: without, better runs fail, too")
    if options.level is not None and not 0 < options.level < 1:
        raise BadInput(line, "--level", f"found {options.level:g}", "a share between 0 and 1, such as 0.01")


VERB = Verb(
    group=GAIN,
    says="pass or fail new runs in continuous integration: exit code 0 or 1 (2: bad input)",
    example="toolnoise gate --reference runs.csv --new run.csv --metric loss --one-sided --lower",
    run=_run,
    arguments={
        "--reference": option("CSV", "runs of the reference, one a line"),
        "--new": option("CSV", "the new run, or runs, one a line", required=True),
        "--metric": option("COLUMN", "the column that is compared, such as loss", required=True),
        "--one-sided": flag("fail only where new runs are worse, not where they are better"),
        "--lower": flag("with --one-sided: lower is better"),
        "--higher": flag("with --one-sided: higher is better"),
        "--session": option(
            "none", "of times and speeds: none, if each run is a session (a machine, a day) of its own"
        ),
        "--level": option("SHARE", "the share of unchanged runs that fail (0.01)", type=float),
        "--preset": {
            "choices": PRESETS,
            "help": "instead: MLPerf Training's rule for epochs to converge, or the speedrun's for a record (the mean "
            "loss is below --target at p < 0.01)",
        },
        "--target": option("LOSS", "with --preset record: the target", type=float),
        **AS_JSON,
    },
)
