"""`toolnoise slim`: a study's results without their largest files."""

import argparse

from toolnoise.commands.verb import SHARE, Verb, option
from toolnoise.verify.arguments import RESULTS_OR_ARCHIVE


def _run(options: argparse.Namespace) -> None:
    from toolnoise.record import unpacked
    from toolnoise.verify.share import slimming

    with unpacked.opened(options.results) as (results,):
        copied, left_out = slimming.copy(results, options.out)
    print(f"{options.out}: {copied} files copied, {left_out} left out")


VERB = Verb(
    group=SHARE,
    says="copy a study's results without weights, dumps, data and notebooks; the audit knows these by their digests",
    example="toolnoise slim results/demo --out demo.tar.xz",
    run=_run,
    arguments={
        **RESULTS_OR_ARCHIVE,
        "--out": option("PLACE", "a new folder or archive (.tar, .tar.gz or .tar.xz)", required=True),
    },
)
