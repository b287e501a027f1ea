"""The verbs of jobs: each follows from its row in the table of steps, and is performed by the recorder."""

import argparse
import io
import os
import sys
from collections.abc import Mapping
from typing import Any

from toolnoise.base.errors import errors_in_one_line
from toolnoise.base.printing import Plain
from toolnoise.commands.verb import A_STUDY, Verb, option
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
_OPTIONS: dict[str, Mapping[str, Any]] = {
    "study": option("FILE", A_STUDY),
    "seed": {"type": int},
    "checkpoint": {"help": "checkpoint of an interrupted run, to resume from; deleted when the run ends"},
    "planned": option("SHA256", "refuse the job unless its parameters have this digest", required=False),
    "mode": {"choices": list(MODES)},
    "repeat": {"type": int},
    "threads": option("N", "threads for decoding images (1)", type=int, default=1, required=False),
    "records": {"metavar": "JSON"},
    "other-records": {"metavar": "RUN_JSON"},
    "other-hardware": option("NAME", "the other tooling"),
    "exchanged": option("NPY", "predictions of these runs on the other tooling; needs its index beside it"),
    "other-exchanged": option("NPY", "predictions of the other's runs on the first tooling; needs its index beside it"),
    "metrics": {"metavar": "CSV"},
    "remedied": option("NPY", "the cell's dump under remedies, if it has one; needs its index beside it"),
    "single": option("NPY", "the dump of the runs to compare with, if any; needs its index beside it"),
    "read": option(
        ("KIND", "CSV"), "metric files of one kind for the figure; repeat for each kind", action="append", nargs="+"
    ),
    "shows": option("FILE", "metric files, figures and tables to show"),
}
_OUT_OF_RENDER = option("FILE", "the notebook's outputs: one path per format")


def verb(name: str) -> Verb:
    """The verb of a row: its study, its place, what it reads and writes, and the digest of what was planned."""
    step = STEPS[name]
    places = [field.replace("_", "-") for field in step.where.place._fields]
    arguments = {}
    for named in ("study", *places, *step.reads, *step.writes, *step.work.aside, "planned"):
        optional = named in step.reads and step.reads[named].optional
        several = {"nargs": "*" if optional else "+"} if named in step.several else {}
        about = _OUT_OF_RENDER if (name, named) == ("render", "out") else _OPTIONS.get(named, {})
        arguments[f"--{named}"] = {"required": True, **several, **about}
    study = " ".join(["--study results/demo/study.json", *(f"--{place} {_PLACES[place]}" for place in places)])
    return Verb(
        group=GROUP,
        says=step.says,
        example=f"toolnoise {name} {study} ...\n  (`snakemake --printshellcmds` prints the files, too)",
        run=_run,
        arguments=arguments,
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
    from toolnoise.record import recorder

    let_output_be_lost()
    with errors_in_one_line(f"{options.verb} {'/'.join(map(str, place))}".rstrip()):
        recorder.run(options.verb, options, parameters, options.started)


class _Lossy(io.FileIO):
    """A stream that drops what it cannot write."""

    def write(self, data: bytes) -> int:  # type: ignore[override]
        try:
            return super().write(data)
        except OSError:
            return len(data)


def let_output_be_lost() -> None:
    """From now on, this process goes on if what it prints cannot be written: a full disk under its log ends no job."""
    for name in ("stdout", "stderr"):
        shown = getattr(sys, name)
        stream = shown.stream if isinstance(shown, Plain) else shown
        # Not what a test or a notebook has put there.
        if stream is getattr(sys, f"__{name}__"):
            stream.flush()
            lossy = io.BufferedWriter(_Lossy(stream.fileno(), "w", closefd=False))
            errors = stream.errors or "strict"
            wrapped = io.TextIOWrapper(lossy, stream.encoding, errors, line_buffering=True)
            if isinstance(shown, Plain):
                shown.stream = wrapped
            else:
                setattr(sys, name, wrapped)
