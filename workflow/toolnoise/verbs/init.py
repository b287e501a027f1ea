"""`toolnoise init`: a first study file."""

import argparse

from toolnoise.commands.verb import STUDY, Verb


def _run(options: argparse.Namespace) -> None:
    from toolnoise.programs import first_study

    print(first_study.write(options.kind))


VERB = Verb(
    group=STUDY,
    says="write a study file for the program or Keras builder in this folder",
    example="toolnoise init command",
    run=_run,
    arguments={"KIND": {"nargs": "?", "help": "command, builder or adopted (what is found in this folder)"}},
)
