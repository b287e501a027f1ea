"""`toolnoise sign`: a signature on the root."""

import argparse

from toolnoise.commands.verb import MORE, Verb, option


def _run(options: argparse.Namespace) -> None:
    from toolnoise.provenance import signing

    for root in signing.sign(options.results, options.key):
        print(f"signed {root}")


VERB = Verb(
    group=MORE,
    says="sign the root of a study's results with an SSH key",
    example="toolnoise sign results/demo --key ~/.ssh/id_ed25519",
    run=_run,
    arguments={
        "RESULTS": {"nargs": "?", "default": "results", "help": "a results folder, or that of one study (results)"},
        "--key": option("PATH", "a private SSH key, or the public key of one in ssh-agent", required=True),
    },
)
