"""`toolnoise import`: the results of another site, verified."""

import argparse

from toolnoise.commands.verb import SHARE, Verb, flag, option
from toolnoise.provenance.arguments import SIGNATURES_AND_ROOT, required_signers


def _run(options: argparse.Namespace) -> None:
    from toolnoise.provenance import importing
    from toolnoise.provenance.audit.rules import root

    age = root.age_check(options.not_before) if options.not_before else None
    places = options.archive, options.into, options.study
    with required_signers(options) as (signers, key):
        counts = importing.take(*places, other_code=options.other_code, signers=signers, key=key, age=age)
    print(f"imported {counts}" + (f"; {counts.others} were already here" if counts.others else ""))


VERB = Verb(
    group=SHARE,
    says="verify an archive from `toolnoise export` and add its runs to the study's results here",
    example="toolnoise import demo.tar.gz",
    run=_run,
    arguments={
        "ARCHIVE": {"help": "an archive from `toolnoise export`"},
        "--into": option("FOLDER", "the study's results folder here (results/<study>)"),
        "--study": option("FILE", "the study's configuration (study.json in that folder)"),
        "--other-code": flag("also accept results made by other code than the present one"),
        **SIGNATURES_AND_ROOT,
    },
)
