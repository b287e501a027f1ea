"""`toolnoise diff`: what differs between two results, and where it began."""

import argparse
import sys

from toolnoise.commands.verb import AS_JSON, VERIFY, Verb, show


def _run(options: argparse.Namespace) -> None:
    from toolnoise.provenance import archive
    from toolnoise.provenance.diff import diff_text, two_results

    with archive.opened(options.a, options.b) as pair:
        differences = two_results.diff(*pair)
    show(differences if options.json else diff_text.as_text(differences))
    sys.stdout.flush()
    sys.exit(0 if differences["equal"] else 1)


VERB = Verb(
    group=VERIFY,
    says="print the differences between two runs, cells or results folders",
    example="toolnoise diff results/demo ../elsewhere/results/demo",
    run=_run,
    arguments={
        "A": {"help": "a run, a cell, a study's results or archive, or a results folder"},
        "B": {"help": "another of the same kind"},
        **AS_JSON,
    },
)
