"""`toolnoise sign`: signatures on statements."""

import argparse

from toolnoise.commands.verb import VERIFY, Verb, flag, option
from toolnoise.provenance.arguments import RESULTS


def _run(options: argparse.Namespace) -> None:
    from toolnoise.provenance import signing

    signed, before = signing.sign(options.results, options.key, root=options.root)
    print(f"signed {signed} statements" + (f"; {before} had a signature by this key" if before else ""))


VERB = Verb(
    group=VERIFY,
    says="sign every statement of a results folder, or the root alone, with an SSH key",
    example="toolnoise sign results/demo --key ~/.ssh/id_ed25519 --root",
    run=_run,
    arguments={
        **RESULTS,
        "--key": option("PATH", "a private SSH key, or the public key of one in ssh-agent", required=True),
        "--root": flag("sign only the root, the page's statement, which names all others"),
    },
)
