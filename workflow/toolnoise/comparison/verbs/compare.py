"""`toolnoise compare`: whether one method is better than another, by their predictions or metrics."""

import argparse
import inspect

from toolnoise.base.errors import BadArgument
from toolnoise.commands.verb import AS_JSON, GAIN, Verb, flag, option, show
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

# Of tables, of `plan` too.
READING = {
    "--metric": option(
        "NAME",
        "read tables with a line a run, of your own or exported by a logger, and these columns; of logs of a language "
        "model the score",
        nargs="+",
    ),
    "--by": option("COLUMN", "of tables: the column that names a run's arm, such as model"),
    "--seed": option("COLUMN", "of tables: the column of seeds; runs of different arms with equal seeds are pairs"),
    "--session": option(
        "COLUMN",
        "of tables: the column of sessions, such as the machine or the day: runs of an arm in one are averaged. Times "
        "and speeds need it (host, date and such are known), or none if each run is a session of its own",
    ),
    "--last": flag("of tables with several steps a run: the last step counts"),
    "--best": flag("of tables with several steps a run: the best step counts"),
    "--lower": option(
        "NAME", f"of tables: lower is better, in all metrics or in these; known by name: {', '.join(LOWER)}", nargs="*"
    ),
    "--higher": option(
        "NAME",
        f"of tables: higher is better, in all metrics or in these; known by name: {', '.join(HIGHER)}",
        nargs="*",
    ),
}


def direction(names: list[str] | None) -> bool | list[str]:
    """--lower or --higher as programs say it: True for all metrics, which here are no names."""
    return names or names is not None


def _run(options: argparse.Namespace) -> None:
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
            of_tables = f"--{name}".replace("_", "-") in {*READING, "--against", "--all-pairs"}
            raise BadArgument(name, f"is not for {kind}", "leave it out" + ", or metric, too" * of_tables)
    wanted |= {name: direction(wanted[name]) for name in ("lower", "higher")}
    if kind == "questions" and len(options.metric or ()) > 1:
        raise BadArgument("metric", f"found {len(options.metric)}", "one with logs of language models")
    if kind == "questions":
        wanted["metric"] = next(iter(options.metric or ()), None)
    found = function(*given, **{name: value for name, value in wanted.items() if name in known - {"correct", "values"}})
    if options.figure:
        found.write_figure(options.figure)
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


VERB = Verb(
    group=GAIN,
    says="compare predictions or metrics of two or more methods, from a study or from anywhere",
    example="toolnoise compare a.npy b.npy --labels y.npy",
    run=_run,
    arguments={
        "ARMS": {
            "nargs": "*",
            "help": "A, then each method to replace it: predicted classes or scores, .npy, .npz or CSV, of shape N, "
            "run x N, N x class or run x N x class; or a folder or a quoted pattern ('a/*.npy') of one file a "
            "run; where labels are N x label, N x token or N x height x width, these axes in place of N; or logs of "
            "lm-evaluation-harness or Inspect (.jsonl, .eval, .json); with --metric, one table with all methods (CSV "
            "or JSON lines), or a CSV for each",
        },
        "--arm": option(
            "FILE",
            "instead of ARMS, once per method: a file, or one file a run (--arm a/*.npy --arm b/*.npy)",
            action="append",
            nargs="+",
        ),
        "--labels": option(
            "FILE", "the N labels, .npy, .npz or CSV; may be left out if A is a study's dump, or has labels itself"
        ),
        "--values": flag("numbers that a regression predicts, with the true ones in --labels: N, or N x column"),
        "--losses": flag("each token's negative log-likelihood, N x token with NaN for padding, or token; no labels"),
        "--by-label": flag("many labels, N x label: also compare each, with p-values adjusted by Holm"),
        "--correct": flag(
            "CSV or JSON lines of a language model's answers: id, correct (or pred and target), seed, sample"
        ),
        "--cluster": option("FIELD", "questions alike in this column, field of the document or metadata are one draw"),
        "--paired": flag("run s of every method has the same start and order"),
        "--same-start": flag("all runs of all methods start from the same weights"),
        **READING,
        "--against": option(
            "ARM", "of tables: compare all others with this arm (the first), or, by previous, each with the one before"
        ),
        "--all-pairs": flag("of tables: compare every two arms"),
        "--figure": option("FILE", "draw the differences with their intervals: .svg, .png or .pdf"),
        **{f"--{name}": says for name, says in PRINTING.items()},
    },
)
ASKED = [
    name.removeprefix("--").replace("-", "_")
    for name in VERB.arguments
    if name.startswith("--") and name.removeprefix("--") not in {"arm", "figure", *PRINTING}
]
