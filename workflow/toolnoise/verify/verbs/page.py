"""`toolnoise page`: a study's page, to send or to publish."""

import argparse

from toolnoise.commands.verb import SHARE, Verb, option
from toolnoise.verify.arguments import ANONYMOUS, NO_CREDENTIAL, SIGNATURES, required_signers


def _run(options: argparse.Namespace) -> None:
    from toolnoise.record import unpacked
    from toolnoise.verify.page import publishing

    with unpacked.opened(options.results) as (results,), required_signers(options) as (signers, _):
        written, left_out = publishing.publish(results, options.out, options.anonymous, signers, options.no_credential)
    named = f"; left out, because they name somebody or are not there: {', '.join(left_out)}" if left_out else ""
    print(f"{options.out}/index.html: {written} files{named}")


VERB = Verb(
    group=SHARE,
    says="write a study's page into a folder to send or to publish; the workflow writes results/<study>/index.html",
    example="toolnoise page results/demo --out demo-page",
    run=_run,
    arguments={
        "RESULTS": {"help": "a study's results folder, such as results/demo, or its archive"},
        "--out": option("FOLDER", "a new folder", required=True),
        **ANONYMOUS,
        **NO_CREDENTIAL,
        **SIGNATURES,
    },
)
