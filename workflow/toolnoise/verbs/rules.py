"""`toolnoise rules`: the rules of the workflow that no file spells out."""

import argparse

from toolnoise.commands.verb import STUDY, Verb, show


def _run(_options: argparse.Namespace) -> None:
    from toolnoise.commands import rules

    show(rules.as_text())


VERB = Verb(
    group=STUDY,
    says="print the rules of the workflow: what each job reads and writes, and its parameters",
    example="toolnoise rules",
    run=_run,
    arguments={},
)
