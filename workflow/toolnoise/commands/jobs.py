"""The verbs of jobs: each follows from its row in the table of steps, and is performed by the recorder."""

import argparse
import os
from typing import Any

from toolnoise.base.errors import errors_in_one_line
from toolnoise.commands.verb import Verb
from toolnoise.steps import CONFIGURE, STEPS, asked
from toolnoise.study import environments, grid
from toolnoise.study.cells import MODES

GROUP = "jobs, which Snakemake runs"
NAMES = tuple(name for name in STEPS if name != CONFIGURE)
# Places of the demo, for examples.
_PLACES = {
    "model": "smallcnn",
    "dataset": "digits",
    "hardware": "cpu",
    "other-hardware": "cpu-eigen",
    "variant": "algo_impl",
    "seed": "1",
    "mode": "default",
    "repeat": "1",
    "kind": "stability",
    "figure": "table2",
}
# What argparse needs to know of an option, and the help of those whose names do not say all.
_OPTIONS: dict[str, dict[str, Any]] = {
    "study": {"help": "a configuration, or the study.json among its results", "metavar": "FILE"},
    "seed": {"type": int},
    "checkpoint": {"help": "checkpoint of an interrupted run, to resume from; deleted when the run ends"},
    "planned": {
        "required": False,
        "metavar": "SHA256",
        "help": "refuse the job unless its parameters have this digest",
    },
    "mode": {"choices": list(MODES)},
    "repeat": {"type": int},
    "threads": {
        "type": int,
        "default": 1,
        "required": False,
        "help": "threads for decoding images (1)",
        "metavar": "N",
    },
    "records": {"metavar": "JSON"},
    "other-records": {"metavar": "RUN_JSON"},
    "other-hardware": {"help": "the other tooling", "metavar": "NAME"},
    "exchanged": {
        "metavar": "NPY",
        "help": "predictions of these runs on the other tooling; needs its index beside it",
    },
    "other-exchanged": {
        "metavar": "NPY",
        "help": "predictions of the other's runs on the first tooling; needs its index beside it",
    },
    "metrics": {"metavar": "CSV"},
    "remedied": {"metavar": "NPY", "help": "the cell's dump under remedies, if it has one; needs its index beside it"},
    "single": {"metavar": "NPY", "help": "the dump of the runs to compare with, if any; needs its index beside it"},
    "read": {
        "action": "append",
        "nargs": "+",
        "metavar": ("KIND", "CSV"),
        "help": "metric files of one kind for the figure; repeat for each kind",
    },
    "shows": {"metavar": "FILE", "help": "metric files, figures and tables to show"},
}
_OUT_OF_RENDER = {"metavar": "FILE", "help": "the notebook's outputs: one path per format"}


def verb(name: str) -> Verb:
    """The verb of a row: its study, its place, what it reads and writes, and the digest of what was planned."""
    step = STEPS[name]
    places = [field.replace("_", "-") for field in step.where.place._fields]
    options = {option: {} for option in ("study", *places, *step.reads, *step.writes, *step.work.aside, "planned")}
    for option in options:
        if option in step.several:
            optional = option in step.reads and step.reads[option].optional
            options[option] = {"nargs": "*" if optional else "+"}
        about = _OUT_OF_RENDER if (name, option) == ("render", "out") else _OPTIONS.get(option, {})
        options[option] = {"required": True} | options[option] | about
    study = " ".join(["--study results/demo/study.json", *(f"--{place} {_PLACES[place]}" for place in places)])
    return Verb(
        group=GROUP,
        says=step.says,
        example=f"toolnoise {name} {study} ...\n  (`snakemake --printshellcmds` prints the files, too)",
        run=_run,
        arguments={f"--{option}": about for option, about in options.items()},
    )


def _run(options: argparse.Namespace) -> None:
    study = grid.load(options.study)
    place = asked(options.verb, study, options.study, vars(options))
    parameters = STEPS[options.verb].parameters(study, place)
    name = environments.of(parameters)
    if name and not environments.is_this(name):
        environments.require(name, parameters["spec"]["hardware"]["name"])
        # This process becomes the job's process in the other environment.
        program = environments.program(name, "toolnoise")
        os.execv(program, [str(program), *options.command_line])  # noqa: S606 (no shell is wanted)
    from toolnoise.base import log
    from toolnoise.record import recorder

    log.may_be_lost()
    with errors_in_one_line(f"{options.verb} {'/'.join(map(str, place))}".rstrip()):
        recorder.run(options.verb, options, parameters, options.started)
