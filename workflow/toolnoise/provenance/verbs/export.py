"""`toolnoise export`: an archive of a study for another site."""

import argparse

from toolnoise.commands.verb import SHARE, Verb, flag, option


def _run(options: argparse.Namespace) -> None:
    from toolnoise.provenance import exporting

    counts = exporting.export(
        options.study,
        options.out,
        options.hardware,
        predictions=not options.no_predictions,
        signers=options.allowed_signers,
    )
    print(f"exported {counts}" + (f"; {counts.others} more of the study are not made yet" if counts.others else ""))


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
    },
)
