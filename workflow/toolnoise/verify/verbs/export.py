"""`toolnoise export`: an archive of a study for another site."""

import argparse
from contextlib import nullcontext
from pathlib import Path

from toolnoise.base.errors import BadInput
from toolnoise.commands.verb import SHARE, Verb, flag, option
from toolnoise.verify.arguments import ANONYMOUS, NO_CREDENTIAL


def _run(options: argparse.Namespace) -> None:
    from toolnoise.verify import anonymous, tree
    from toolnoise.verify.share import exporting

    if options.anonymous and options.allowed_signers:
        raise BadInput("command line", "--allowed-signers", "it names people", "no --anonymous beside it")
    results = exporting.results_of(Path(options.study)) if options.anonymous else None
    with anonymous.copied(results) if results else nullcontext() as copy:
        counts = exporting.export(
            copy.root if copy else options.study,
            options.out,
            options.hardware,
            predictions=not options.no_predictions,
            signers=options.allowed_signers,
            no_credentials=options.no_credential,
        )
    print(f"exported {counts}" + (f"; {counts.others} more of the study are not made yet" if counts.others else ""))
    if options.anonymous:
        print(f"{options.out} is {tree.SAYS_ANONYMISED}")


VERB = Verb(
    group=SHARE,
    says="pack a study's runs, dumps, profiles and timings into an archive for another site",
    example="toolnoise export results/demo --out demo.tar.gz",
    run=_run,
    arguments={
        "STUDY": {"help": "a configuration, or a study's results folder"},
        "--out": option("FILE", "the archive: .tar, .tar.gz or .tar.xz", required=True),
        "--hardware": option("NAME", "export the results of these toolings only (all)", nargs="+"),
        "--no-predictions": flag("leave out dumps of predictions and of layers"),
        "--allowed-signers": option(
            "ALLOWED_SIGNERS", "put this list into the archive, for people to read: `import` trusts the receiver's own"
        ),
        **ANONYMOUS,
        **NO_CREDENTIAL,
    },
)
