"""`compare`, `plan`, `gate` and `keep`: is a gain real, what does one need, do new runs pass, which change to keep?

`gate` and `keep` say their verdict by their exit code, 2 is bad input: `gate` ends with 0 or, if runs fail, with 1.
"""

import argparse
import inspect
import sys
from collections.abc import Callable, Iterable
from typing import Any

from toolnoise.base.errors import BadArgument
from toolnoise.commands.verb import AS_JSON, GAIN, flag, option, show, verb
from toolnoise.comparison.known_names import HIGHER, LOWER

ARMS = "two or more arms: each a name in ARMS, or each an --arm"
MOST_LINES = 30  # without --all
# What the arms are, and the function that compares them.
FUNCTIONS = {"metrics": "compare_runs", "predictions": "compare_predictions", "questions": "compare_questions"}
FUNCTIONS |= dict.fromkeys(("values", "losses"), "compare_values")
PRINTING = {
    "all": flag(f"print everything, not {MOST_LINES} lines"),
    "markdown": flag("print the numbers as a table in Markdown"),
    "latex": flag("print the numbers as a table in LaTeX"),
    "json": AS_JSON["--json"],
}


def _some(names: Iterable[str]) -> str:
    """The first of the names that are known, as the help has them."""
    return f"{', '.join(list(names)[:2])} ..."


# Of tables, of `plan` too.
READING = {
    "--metric": option(
        "NAME",
        "compare these columns of tables of runs, or scores of evaluation logs",
        nargs="+",
    ),
    "--by": option("COLUMN", "of tables: the column that names a run's arm, such as model"),
    "--seed": option("COLUMN", "of tables: the column of seeds; arms with equal seeds are paired"),
    "--session": option(
        "COLUMN",
        "of tables: the column of sessions, such as the host, or none (for times)",
    ),
    "--last": flag("of tables with several steps a run: use the last step"),
    "--best": flag("of tables with several steps a run: use the best step"),
    "--lower": option("NAME", f"lower is better, in these metrics or in all (known: {_some(LOWER)})", nargs="*"),
    "--higher": option("NAME", f"higher is better, in these metrics or in all (known: {_some(HIGHER)})", nargs="*"),
}


def direction(names: list[str] | None) -> bool | list[str]:
    """--lower or --higher as programs say it: True for all metrics, which here are no names."""
    return names or names is not None


ARGUMENTS = {
    "ARMS": {
        "nargs": "*",
        "help": "the baseline, then each method to replace it: predictions (.npy, .npz, CSV; an axis of runs may "
        "come first), a folder or a quoted pattern of one file a run, an evaluation log, or tables of runs",
    },
    "--arm": option(
        "FILE",
        "in place of ARMS, once per method: one file a run (--arm a/* --arm b/*)",
        action="append",
        nargs="+",
    ),
    "--labels": option("FILE", "the labels, .npy, .npz or CSV; not needed if the baseline has them"),
    "--values": flag("numbers of a regression; the true ones are --labels"),
    "--losses": flag("negative log-likelihoods of tokens, NaN for padding; no labels"),
    "--correct": flag("answers of a language model: id, correct (or pred and target), seed, sample"),
    "--cluster": option("FIELD", "questions that agree in this field count as one draw"),
    "--paired": flag("run s of every method has the same start and order"),
    **READING,
    "--against": option("ARM", "of tables: the baseline (the first arm), or previous: the arm before"),
    **{f"--{name}": says for name, says in PRINTING.items()},
}
ASKED = [
    name.removeprefix("--").replace("-", "_")
    for name in ARGUMENTS
    if name.startswith("--") and name.removeprefix("--") not in {"arm", *PRINTING}
]


@verb(GAIN, "toolnoise compare a.npy b.npy --labels y.npy", ARGUMENTS)
def compare(options: argparse.Namespace) -> None:
    """compare methods by predictions or metrics of their runs"""
    from toolnoise.api import compare
    from toolnoise.comparison import comparison_text
    from toolnoise.comparison.arms import kind_asked
    from toolnoise.comparison.sniff import sniff

    given = options.arm or [[path] for path in options.arms]
    if options.arm and options.arms:
        raise BadArgument("ARMS", "found both ARMS and --arm", ARMS)
    numbers_are = kind_asked(values=options.values, losses=options.losses)
    kind = sniff(given, options.metric or (), numbers_are, correct=options.correct, cluster=options.cluster)
    function = getattr(compare, FUNCTIONS[kind])
    # What the arms are decides which options there are.
    known = {*inspect.signature(function).parameters, {"questions": "correct", "values": "values"}.get(kind)}
    wanted = {name: getattr(options, name) for name in ASKED}
    for name, value in wanted.items():
        if name not in known and value not in (None, False):
            of_tables = f"--{name}".replace("_", "-") in {*READING, "--against"}
            raise BadArgument(name, f"is not for {kind}", "leave it out" + ", or metric, too" * of_tables)
    wanted |= {name: direction(wanted[name]) for name in ("lower", "higher")}
    if kind == "questions" and len(options.metric or ()) > 1:
        raise BadArgument("metric", f"found {len(options.metric)}", "one with logs of language models")
    if kind == "questions":
        wanted["metric"] = next(iter(options.metric or ()), None)
    found = function(*given, **{name: value for name, value in wanted.items() if name in known - {"correct", "values"}})
    for form in filter(options.__dict__.get, ("markdown", "latex")):
        show("\n\n".join(map(getattr(comparison_text, form), found.printed)))
        return
    show(found.to_dict() if options.json else found.text if options.all else _on_a_screen(found.text))


def _on_a_screen(text: str) -> str:
    """The first lines of a text."""
    lines = text.splitlines()
    if len(lines) <= MOST_LINES:
        return text
    return "\n".join([*lines[: MOST_LINES - 1], f"[{len(lines) - MOST_LINES + 1} more lines: --all]"])


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
