"""`toolnoise compare`: whether one method is better than another, by their predictions or metrics."""

import argparse

from toolnoise.base.errors import BadInput
from toolnoise.commands.verb import AS_JSON, GAIN, Verb, flag, option, show
from toolnoise.comparison.tables.arguments import COMPARING, direction

ARMS = "two or more arms: each a name in ARMS, or each an --arm"
MOST_LINES = 30  # without --all
PRINTING = {
    "all": flag(f"print everything, not {MOST_LINES} lines"),
    "markdown": flag("print the numbers as a table in Markdown"),
    "latex": flag("print the numbers as a table in LaTeX"),
    "json": AS_JSON["--json"],
}


def _run(options: argparse.Namespace) -> None:
    from toolnoise.api.compare import compare
    from toolnoise.comparison import comparison_text

    given = options.arm or [[path] for path in options.arms]
    if options.arm and options.arms:
        raise BadInput("command line", "ARMS", "found both ARMS and --arm", ARMS)
    asked = {name.removeprefix("--").replace("-", "_") for name in VERB.arguments if name.startswith("--")}
    wanted = {name: getattr(options, name) for name in sorted(asked - {"arm", "figure", *PRINTING})}
    wanted |= {name: direction(wanted[name]) for name in ("lower", "higher")}
    found = compare(*given, **wanted)
    if options.figure:
        if found.figure is None:
            raise BadInput("command line", "--figure", "is for tables, found without --metric", "leave it out")
        found.write_figure(options.figure)
    for form in filter(options.__dict__.get, ("markdown", "latex")):
        show("\n\n".join(map(getattr(comparison_text, form), found.tables)))
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
        **COMPARING,
        **{f"--{name}": says for name, says in PRINTING.items()},
    },
)
