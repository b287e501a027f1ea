"""Every job that a study expects, with its outputs and the parameters that follow from the study.

The audit holds statements against them, and `import` takes nothing else.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from toolnoise.checks import parameters
from toolnoise.study import figure_files
from toolnoise.study.cells import MetricFile, Place, Shown
from toolnoise.study.expected import EXPECTED
from toolnoise.study.study import Study

Parameters = dict[str, Any]
# By verb, where they are not the names in the paths of its files.
PARAMETERS: dict[str, Callable[[Study, Any], Parameters]] = {
    "configure": parameters.nothing,
    "fetch": parameters.data,
    "prepare": parameters.data,
    "check-model": parameters.common_spec,
    "train": parameters.run_spec,
    "run-program": parameters.program_spec,
    "adopt-run": parameters.run_spec,
    "predict": parameters.spec,
    "dump-outcomes": parameters.spec,
    "remedy": parameters.remedies,
    "predict-elsewhere": parameters.exchange,
    "dump-layers": parameters.layers,
    "dump-continuations": parameters.spec,
    "check-control": parameters.control,
    "check-program": parameters.program_control,
    "measure": parameters.identical,
    "measure-program": parameters.measured,
    "measure-outcomes": parameters.outcomes,
    "measure-pair": parameters.pair,
    "measure-frameworks": parameters.pair,
    "measure-growth": parameters.growth,
    "measure-language": parameters.measured,
    "measure-layers": parameters.cell,
    "measure-overhead": parameters.overhead,
    "measure-remedies": parameters.measured,
    "measure-speed": parameters.spec,
    "profile": parameters.profile,
    "judge-claims": parameters.claims,
    "show-cell": parameters.cell,
    "write-page": parameters.nothing,
    "report": parameters.nothing,
    "render": parameters.figure,
}


class ExpectedJob(NamedTuple):
    """A job of a study: its verb, its place, its outputs by name, its parameters, and whether a whole study has it."""

    verb: str
    place: Place
    outputs: tuple[str, ...]
    parameters: Parameters
    needed: bool = True


def expected_jobs(study: Study) -> Iterator[ExpectedJob]:
    """Every job, in the order of the data."""
    for verb, kind in EXPECTED.items():
        for place in kind.places(study):
            outputs = tuple(study.path(pattern, place) for pattern in kind.patterns)
            yield _job(study, verb, place, outputs, needed=kind.needed)
    for kind, path in figure_files.collected(study).items():
        yield _job(study, "collect", MetricFile(kind), (path,))
    for figure in study.figures:
        yield _job(study, "render", Shown(figure.name), tuple(figure_files.files_of(study, figure)))


def _job(study: Study, verb: str, place: Place, outputs: tuple[str, ...], *, needed: bool = True) -> ExpectedJob:
    return ExpectedJob(verb, place, outputs, PARAMETERS.get(verb, parameters.names)(study, place), needed)
