"""Every job that a study expects, with its outputs and the parameters that follow from the study.

The audit compares statements with them, and `import` accepts no other jobs.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from toolnoise import streams
from toolnoise.base.spec import Spec
from toolnoise.checks import parameters
from toolnoise.checks.parameters import Parameters
from toolnoise.papers import notebook_values
from toolnoise.provenance.archive import DUMPS
from toolnoise.study import expected, figure_files, layout
from toolnoise.study.cells import Cell, MetricFile, Pair, Place, Shown
from toolnoise.study.study import Study


def _nothing(_study: Study, _place: Place) -> Parameters:
    """No parameters: the inputs determine the outputs."""
    return {}


def _names(_study: Study, place: Place) -> Parameters:
    """The names in the paths of a job's files."""
    return place._asdict()


def _run(study: Study, run: Any) -> Parameters:
    return {"spec": study.spec(run.cell, run.seed).as_json()}


def _dump(study: Study, cell: Cell) -> Parameters:
    """The spec of a cell's first run."""
    return {"spec": study.spec(cell, study.seeds[cell][0]).as_json()}


def _measured(study: Study, cell: Cell) -> Parameters:
    """The cell, and the seed of its measure's draws."""
    return {"cell": list(cell), "study_seed": study.config["seed"]}


def _figure(study: Study, place: Shown) -> Parameters:
    figure = study.figure(place.figure)
    return {"figure": figure.name, "notebook": figure.notebook, **notebook_values.notebook_values(study, figure)}


def _overhead(study: Study, place: Any) -> Parameters:
    accelerator = study.tooling(place.hardware)["accelerator"]
    return {**place._asdict(), "accelerator": accelerator, "overhead": study.config["overhead"]}


def _command(study: Study, model: str) -> str:
    return study.config["models"][model].get("command", "")


# The parameters by verb, for verbs that have more or other parameters than the names in the paths of their files.
PARAMETERS: dict[str, Callable[[Study, Any], Parameters]] = {
    "configure": _nothing,
    "fetch": parameters.data,
    "prepare": parameters.data,
    "check-model": parameters.common_spec,
    "train": _run,
    # A program may name the folder of its study.
    "run-program": lambda study, run: _run(study, run) | {"study": study.name},
    "adopt-run": _run,
    "predict": _dump,
    "dump-outcomes": _dump,
    "remedy": lambda study, cell: _dump(study, cell) | {"remedies": list(study.remedies_of(cell))},
    "predict-elsewhere": parameters.exchange,
    "dump-layers": lambda study, cell: _dump(study, cell) | {"examples": study.layers[cell]},
    "dump-continuations": _dump,
    "check-control": lambda _study, cell: {"cell": list(cell)},
    "check-program": lambda study, cell: {"cell": list(cell), "command": _command(study, cell.model)},
    "measure": lambda study, cell: _measured(study, cell) | {"identical": study.config["identical"]},
    "measure-program": _measured,
    "measure-outcomes": lambda study, cell: _measured(study, cell) | parameters.outcomes(study, cell),
    "measure-pair": lambda _study, pair: {"pair": list(pair)},
    "measure-frameworks": lambda _study, pair: {"pair": list(pair)},
    "measure-growth": parameters.growth,
    "measure-language": _measured,
    "measure-layers": lambda _study, cell: {"cell": list(cell)},
    "measure-overhead": _overhead,
    "measure-remedies": _measured,
    "measure-speed": _dump,
    "profile": parameters.profile,
    "judge-claims": parameters.claims,
    "show-cell": lambda _study, cell: {"cell": list(cell)},
    "write-page": _nothing,
    "report": _nothing,
    "render": _figure,
}


class ExpectedJob(NamedTuple):
    """A job of a study: its verb, its place, its outputs by name, its parameters, and whether a whole study has it.

    `records` are the records of the runs in a dump.
    """

    verb: str
    place: Place
    outputs: tuple[str, ...]
    parameters: Parameters
    needed: bool = True
    records: frozenset[str] = frozenset()

    def stated(self) -> Parameters:
        """The parameters as a statement has them: the keys of every draw follow from the seeds and the variant."""
        spec = self.parameters.get("spec")
        return self.parameters | ({"keys": streams.keys_of_run(Spec.read(spec))} if spec else {})


def expected_jobs(study: Study) -> Iterator[ExpectedJob]:
    """Every job of a study."""
    for verb, kind in expected.EXPECTED.items():
        for place in kind.places(study):
            outputs = tuple(study.path(pattern, place) for pattern in kind.patterns)
            yield _job(study, verb, place, outputs, needed=kind.needed)
    for kind, path in figure_files.collected_files(study).items():
        yield _job(study, "collect", MetricFile(kind), (path,))
    for figure in study.figures:
        yield _job(study, "render", Shown(figure.name), tuple(figure_files.files_of(study, figure)))


def _job(study: Study, verb: str, place: Place, outputs: tuple[str, ...], *, needed: bool = True) -> ExpectedJob:
    records: list[str] = []
    if verb in DUMPS:
        records = study.runs(layout.RECORD, place.cells[0] if isinstance(place, Pair) else place)
    return ExpectedJob(verb, place, outputs, PARAMETERS.get(verb, _names)(study, place), needed, frozenset(records))
