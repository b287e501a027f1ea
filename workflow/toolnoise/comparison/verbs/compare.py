"""`toolnoise compare`: whether one method is better than another, by their predictions or metrics."""

import argparse
import inspect
from collections.abc import Iterable

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
