"""`toolnoise compare`: whether one method is better than another, by their predictions."""

import argparse

from toolnoise.base.errors import BadInput
from toolnoise.commands.verb import AS_JSON, GAIN, Verb, flag, option, show


def _run(options: argparse.Namespace) -> None:
    from toolnoise.comparison import comparison, comparison_text, label_files, read_arms

    given = options.arm or [[path] for path in options.arms]
    if (options.arm and options.arms) or len(given) < 2:
        what = "found both ARMS and --arm" if options.arm and options.arms else f"found {len(given)}"
        raise BadInput("command line", "ARMS", what, "two or more arms: each a name in ARMS, or each an --arm")
    labels = label_files.read(options.labels) if options.labels else read_arms.labels_of(given[0])
    arms = [read_arms.read(arm, labels) for arm in given]
    read_arms.require_comparable(arms, options.paired, options.same_start)
    judged, right = read_arms.right_or_wrong(arms, labels)
    assumption = "paired" if options.paired else "same start" if options.same_start else "independent"
    compared = comparison.compare_all(judged, right, assumption)
    show(comparison_text.as_json(compared) if options.json else comparison_text.as_text(compared))


VERB = Verb(
    group=GAIN,
    says="compare the predictions of two or more methods, from a study or from anywhere",
    example="toolnoise compare a.npy b.npy --labels y.npy",
    run=_run,
    arguments={
        "ARMS": {
            "nargs": "*",
            "help": "A, then each method to replace it: predicted classes or scores, .npy, .npz or CSV, of shape N, "
            "run x N, N x class or run x N x class; or a folder or a quoted pattern ('a/*.npy') of one file a run",
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
        "--paired": flag("run s of every method has the same start and order"),
        "--same-start": flag("all runs of all methods start from the same weights"),
        **AS_JSON,
    },
)
