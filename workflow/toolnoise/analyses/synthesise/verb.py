"""`toolnoise synthesise`: data in official formats, to try a study without a download."""

import argparse

from toolnoise.commands.verb import DATA, Verb


def _run(options: argparse.Namespace) -> None:
    from toolnoise.analyses.synthesise import formats

    formats.write(options.format, options.examples, options.out)


VERB = Verb(
    group=DATA,
    says="write a synthetic data set in an official format",
    example="toolnoise synthesise --format cifar-10 --examples 1000 --out data",
    run=_run,
    arguments={
        "--format": {"required": True, "help": "cifar-10, cifar-100, mnist, celeba, imagenet or image-folder"},
        "--examples": {
            "required": True,
            "type": int,
            "help": "number of training examples; the test set has a fifth as many",
            "metavar": "N",
        },
        "--out": {"required": True},
    },
)
