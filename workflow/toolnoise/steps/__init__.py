"""The job graph, stated once: every kind of job as a row.

A row says where its jobs are in a study, what they read and write, which parameters follow from the study, and which
function does the work. The rules of dumps and measures, the verbs of the command line, what the audit expects, and
what `estimate` counts all follow from this table. A new measure is a row (of `table`, or of a paper) and a module
that computes.

The outcome of a job follows from its parameters (plain JSON), the files it reads and the code of its modules. `perform`
is given nothing else, so that a statement that records the three can be checked against the study, and a job can be
performed again from its statement alone. Light: the Snakefile reads this module, and work is imported when it runs.
"""

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base.errors import BadInput
from toolnoise.base.files import canonical_sha256
from toolnoise.base.spec import Spec
from toolnoise.steps import parts, whole
from toolnoise.steps.parts import COLUMNS, collected, gates, metric_files
from toolnoise.steps.step import Files, Names, Parameters, Step, followed, inputs, outputs_of
from toolnoise.steps.table import CONFIGURE
from toolnoise.steps.whole import PAGE, shown, summaries
from toolnoise.study.cells import Cell, MetricFile, Place, Shown, Training
from toolnoise.study.study import Study

# By the verb of the command line, in the order of the data.
STEPS = parts.ROWS | whole.ROWS


class Job(NamedTuple):
    """One job of a study: its verb, where it is, its parameters, what it reads and writes by name and role."""

    verb: str
    place: Place
    parameters: Parameters
    inputs: Names
    outputs: Names

    @property
    def needed(self) -> bool:
        """Whether a whole study has it; if not, it is there if somebody asked for it, or of an earlier version."""
        return self.verb in STEPS and STEPS[self.verb].needed


def jobs(study: Study) -> Iterator[Job]:
    """Every job of a study, step by step."""
    for verb, step in STEPS.items():
        for place in step.where.all(study):
            parameters = stated(step.parameters(study, place))
            read = inputs(step, step.given(study, place))
            yield Job(verb, place, parameters, tuple(read), outputs_of(step, place, parameters, study.name))


def asked(verb: str, study: Study, file: str | Path, names: Mapping[str, Any]) -> Place:
    """The place of a job that a command line names; one that the study does not have is refused in one line."""
    step = STEPS[verb]
    place = step.where.place(*(names[name] for name in step.where.place._fields))
    if place not in set(step.where.all(study)):
        cell = Cell(*place[:4]) if isinstance(place, Cell | Training) else None
        if cell and cell not in study.seeds:
            raise BadInput(
                file, "grid", f"no cell {'/'.join(cell)}", "allowed: model/dataset/hardware/variant of its grid"
            )
        if isinstance(place, Training):
            seeds = ", ".join(map(str, study.seeds[cell]))
            raise BadInput(file, "seeds", f"no seed {place.seed} of {'/'.join(cell)}", f"allowed: {seeds}")
        allowed = step.where.allowed
        if len(place) == 1:
            allowed += f": {', '.join(one for (one,) in step.where.all(study)) or 'it has none'}"
        raise BadInput(file, step.where.key, f"no {verb} of {'/'.join(map(str, place))}", f"allowed: {allowed}")
    return place


def planned(parameters: Parameters) -> str:
    """The digest of what a job is planned with: the rule has it, and the verb checks it."""
    return canonical_sha256(parameters)


def stated(parameters: Parameters) -> Parameters:
    """Parameters as a statement has them: beside a spec, the keys of all draws that follow from it."""
    if "spec" not in parameters:
        return parameters
    from toolnoise import streams

    return parameters | {"keys": streams.keys(Spec.read(parameters["spec"]))}


def perform(verb: str, parameters: Parameters, files: Files) -> dict[str, Any] | None:
    """Do the work of a job; return what was observed of the machine, if a framework took part.

    `files` are the inputs, the outputs and what is aside, by option.
    """
    work = STEPS[verb].work
    plain = {name: value for name, value in parameters.items() if name != "keys"} | work.implied(parameters)
    if "spec" in plain:
        plain["spec"] = Spec.read(plain["spec"])
    named = {option.replace("-", "_"): paths for option, paths in files.items()}
    return _function(work.function)(**plain, **named)


def from_outside(verb: str, parameters: Parameters, out: str) -> Iterable[dict[str, Any]]:
    """The files from outside that a job was made from, each with its digest; `out` is its first output.

    Those of an installed package have it under the key `package`.
    """
    outside = STEPS[verb].outside
    return _function(outside.files)(parameters, out) if outside and outside.files else ()


def _function(named: str) -> Callable[..., Any]:
    module, _, function = named.partition(":")
    return getattr(importlib.import_module(module), function)


def writing(pattern: str) -> tuple[str, ...]:
    """The verbs whose jobs write files of a pattern: twins, for networks that are built here and for programs."""
    return tuple(verb for verb, step in STEPS.items() if pattern in (write.pattern for write in step.writes.values()))


def outputs(verb: str, parameters: Parameters, study: str) -> Names:
    """What a job writes whose parameters say its place: in its order, with its roles."""
    return outputs_of(STEPS[verb], STEPS[verb].where.of(parameters), parameters, study)


def outputs_at(verb: str, study: Study, place: Place) -> Names:
    """What the job at a place of a study writes."""
    return outputs_of(STEPS[verb], place, STEPS[verb].parameters(study, place), study.name)


def rule(verb: str, parameters: Parameters) -> str:
    """The name of the rule that a job with these parameters is of."""
    return STEPS[verb].rule.format(kind=parameters.get("kind"), notebook=parameters.get("notebook"))
