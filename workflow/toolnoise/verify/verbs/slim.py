"""`toolnoise slim`: a study's results without their largest files."""

import argparse

from toolnoise.commands.verb import NO_CREDENTIAL, RESULTS, SHARE, Verb


def _run(options: argparse.Namespace) -> None:
    from toolnoise.verify.share import slim

    copied, left_out = slim.copy(options.results, options.out, options.no_credential)
    print(f"{options.out}: {copied} files copied, {left_out} left out")


VERB = Verb(
    group=SHARE,
    says="copy a study's results without weights, dumps, data and notebooks; the audit knows these by their digests",
    example="toolnoise slim results/demo --out demo-slim",
    run=_run,
    arguments={**RESULTS, "--out": {"required": True}, **NO_CREDENTIAL},
)
