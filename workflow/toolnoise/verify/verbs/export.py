"""`toolnoise export`: an archive of a study for another site."""

import argparse
from pathlib import Path

from toolnoise.base.errors import BadInput
from toolnoise.commands.verb import SHARE, Verb
from toolnoise.verify.arguments import ANONYMOUS, NO_CREDENTIAL


def _run(options: argparse.Namespace) -> None:
    from toolnoise.verify import anonymous
    from toolnoise.verify.share import anonymised, exporting

    def export(what: str | Path) -> None:
        counts = exporting.export(
            what,
            options.out,
            options.hardware,
            predictions=not options.no_predictions,
            signers=options.allowed_signers,
            no_credentials=options.no_credential,
        )
        print(f"exported {counts}" + (f"; {counts.others} more of the study are not made yet" if counts.others else ""))

    if options.anonymous and options.allowed_signers:
        raise BadInput("command line", "--allowed-signers", "it names people", "no --anonymous beside it")
    if options.anonymous:
        with anonymised.copied(exporting.results_of(Path(options.study))) as copy:
            export(copy.root)
        print(f"{options.out} is {anonymous.SAYS}")
    else:
        export(options.study)


VERB = Verb(
    group=SHARE,
    says="pack a study's runs, dumps, profiles and timings into an archive for another site",
    example="toolnoise export results/demo --out demo.tar.gz",
    run=_run,
    arguments={
        "STUDY": {"help": "a configuration, or a study's results folder"},
        "--out": {"required": True, "metavar": "FILE", "help": "the archive: .tar, .tar.gz or .tar.xz"},
        "--hardware": {
            "nargs": "+",
            "metavar": "NAME",
            "help": "export the results of these toolings only (all)",
        },
        "--no-predictions": {"action": "store_true", "help": "leave out dumps of predictions and of layers"},
        "--allowed-signers": {
            "metavar": "ALLOWED_SIGNERS",
            "help": "put this list into the archive, for people to read: `import` trusts the receiver's own",
        },
        **ANONYMOUS,
        **NO_CREDENTIAL,
    },
)
