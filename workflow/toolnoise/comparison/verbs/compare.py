"""`toolnoise compare`: whether one method is better than another, by their predictions or metrics."""

import argparse

from toolnoise.base.errors import BadInput
from toolnoise.commands.verb import AS_JSON, GAIN, Verb, flag, option, show
from toolnoise.comparison.tables.arguments import COMPARING


def _run(options: argparse.Namespace) -> None:
    from toolnoise.comparison import (
        compared_numbers,
        comparison,
        comparison_text,
        label_files,
        numbers,
        numbers_text,
        read_arms,
    )
    from toolnoise.comparison.tables import command

    given = options.arm or [[path] for path in options.arms]
    if options.metric and not (options.arm and options.arms):
        show(command.answer(options, given))
        return
    command.require_predictions(options, given)
    if (options.arm and options.arms) or len(given) < 2:
        what = "found both ARMS and --arm" if options.arm and options.arms else f"found {len(given)}"
        raise BadInput("command line", "ARMS", what, "two or more arms: each a name in ARMS, or each an --arm")
    assumption = "paired" if options.paired else "same start" if options.same_start else "independent"
    if kind := numbers.kind_of(given[0], values=options.values, losses=options.losses):
        if options.by_label:
            raise BadInput("command line", "--by-label", f"found {kind}", "many labels, of 0 and 1")
        measured = numbers.read_all(given, kind, options.labels)
        read_arms.require_possible(measured, options.paired, options.same_start)
        found = compared_numbers.compare_all(measured, assumption)
        show(numbers_text.as_json(found) if options.json else numbers_text.as_text(found))
        return
    labels = label_files.read(options.labels) if options.labels else read_arms.labels_of(given[0])
    if options.by_label and not labels.asked:
        what = f"found labels of {labels.source} that are not many, of 0 and 1, for each example"
        raise BadInput("command line", "--by-label", what, "examples x labels")
    arms = [read_arms.read(arm, labels) for arm in given]
    read_arms.require_comparable(arms, options.paired, options.same_start)
    judged, right = read_arms.right_or_wrong(arms, labels)
    compared = comparison.compare_all(judged, right, assumption, labels.asked if options.by_label else ())
    show(comparison_text.as_json(compared) if options.json else comparison_text.as_text(compared))


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
            "run; where labels are N x label, N x token or N x height x width, these axes in place of N; with "
            "--metric, one table with all methods, or a table for each",
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
        "--paired": flag("run s of every method has the same start and order"),
        "--same-start": flag("all runs of all methods start from the same weights"),
        **COMPARING,
        **AS_JSON,
    },
)
