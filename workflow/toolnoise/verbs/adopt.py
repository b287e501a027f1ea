"""`toolnoise adopt`: a study of existing runs."""

import argparse

from toolnoise.commands.verb import MORE, Verb, flag, option


def _run(options: argparse.Namespace) -> None:
    from toolnoise.comparison import arms
    from toolnoise.programs import existing_runs

    asked = arms.kind_asked(values=options.values, losses=options.losses)
    columns = existing_runs.Columns(options.arm_column, options.seed_column, tuple(options.metric or ()))
    print(existing_runs.adopt(options.found, options.name, options.labels, columns, asked))


VERB = Verb(
    group=MORE,
    says="make a study of existing runs, from any program",
    example="toolnoise adopt 'runs/{arm}/seed{seed}/preds.npy' --labels y.npy --name mine",
    run=_run,
    arguments={
        "FOUND": {
            "help": "a CSV with a run in each row (columns file, arm, seed), or a quoted pattern with {arm} and {seed}"
        },
        "--name": option("NAME", "the study's name: writes NAME.yaml and adopted/NAME", required=True),
        "--labels": option("FILE", "the labels of all runs, unless the CSV has a column `labels`"),
        "--values": flag("predictions are numbers (regression), not classes: N, or N x column"),
        "--losses": flag("files have each token's negative log-likelihood, N x token or token; no labels"),
        "--metric": option(
            "COLUMN", "take this number from the CSV instead of predictions; repeat for each", action="append"
        ),
        "--arm-column": option("COLUMN", "the column that names a run's arm (arm)", default="arm"),
        "--seed-column": option("COLUMN", "the column with a run's seed (seed)", default="seed"),
    },
)
