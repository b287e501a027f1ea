"""`toolnoise doctor`: the toolings that this machine can run."""

import argparse
import sys
from typing import Any

from toolnoise.commands.verb import A_STUDY, AS_JSON, STUDY, Verb, option, show


def _run(options: argparse.Namespace) -> None:
    from toolnoise.commands import doctor
    from toolnoise.study import config, grid

    if options.study:
        hardware = grid.load(options.study).config["hardware"]
    else:
        hardware = _of_engines(config.registered("hardware"))
    found = doctor.examine(hardware)
    show(found if options.json else doctor.as_text(found))
    # A study needs all its toolings; without a study one of the registry is enough.
    able = [not reason for reason in found["hardware"].values()]
    sys.exit(0 if (all if options.study else any)(able) else 1)


def _of_engines(hardware: dict[str, Any]) -> dict[str, Any]:
    """The toolings that need something installed: those for training programs have only what these need."""
    from toolnoise.study.programs import ENGINE

    return {name: entry for name, entry in hardware.items() if entry["engine"] != ENGINE}


VERB = Verb(
    group=STUDY,
    says="describe this machine and list the toolings that it can run",
    example="toolnoise doctor --study my-study.yaml",
    run=_run,
    arguments={"--study": option("FILE", A_STUDY), **AS_JSON},
)
