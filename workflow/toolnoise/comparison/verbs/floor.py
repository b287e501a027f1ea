"""`toolnoise floor`: the SD over seeds to expect from the late checkpoints of one run; exit code 1 if it cannot say."""

import argparse
import sys

from toolnoise.commands.verb import AS_JSON, GAIN, Verb, option, show


def _run(options: argparse.Namespace) -> None:
    from toolnoise.comparison import floor

    values, rates = floor.history(options.history, options.metric, options.rate)
    try:
        expected = floor.expected(floor.learnt(options.task, options.metric), floor.tail(values, rates))
    except floor.Cannot as reason:
        show({"cannot": str(reason)} if options.json else f"cannot say: {reason}")
        sys.exit(1)
    show(expected.as_json() if options.json else expected.as_text(options.metric, options.task))


VERB = Verb(
    group=GAIN,
    says="expect an SD over seeds from the late checkpoints of one run, or say why they do not show it",
    example="toolnoise floor history.csv --metric test_accuracy --task images",
    run=_run,
    arguments={
        "HISTORY": {"help": "CSV with a checkpoint in each row, from the first to the last"},
        "--metric": option("COLUMN", "an accuracy, an error rate or a loss on test data", required=True),
        "--task": option("KIND", "what is learnt; images (classification) is known", required=True),
        "--rate": option(
            "SHARE",
            "without a column learning_rate: that of all these checkpoints, as a share of the largest in training",
            type=float,
        ),
        **AS_JSON,
    },
)
