"""`toolnoise sign`: signatures on statements, or one for other tools."""

import argparse

from toolnoise.base.errors import BadInput
from toolnoise.commands.verb import RESULTS, VERIFY, Verb, flag, option


def _run(options: argparse.Namespace) -> None:
    from toolnoise.record.tree import MODEL_SIGNATURE
    from toolnoise.verify import model_signature, signing

    if options.model_signing:
        if options.root:
            raise BadInput("command line", "--root", "found beside --model-signing", "one of the two")
        count = model_signature.sign(options.results, options.key)
        print(f"signed {count} files in {MODEL_SIGNATURE}: verify it with `model_signing verify key`, or the audit")
        return
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
        "--model-signing": flag(
            "sign all files for other tools instead: writes model.sig, which OpenSSF's model_signing verifies; "
            "the key is an elliptic curve key in PEM"
        ),
    },
)
