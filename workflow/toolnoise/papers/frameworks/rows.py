"""The jobs of two toolings: what separates them, and predictions on the other where it has another framework."""

import operator
from collections.abc import Mapping

from toolnoise.base.spec import Spec
from toolnoise.steps import reads
from toolnoise.steps.reads import INDEX
from toolnoise.steps.step import JobRecord, Needs, Parameters, Read, Step, Where, Work, Write, metric
from toolnoise.study import layout
from toolnoise.study.cells import Cell, Pair
from toolnoise.study.study import Study

_TOOLINGS = ("grid", "two toolings that train one task under control or algo")
FRAMEWORKS = ("grid", "two toolings of different engines that train one task under control or algo")


def _first(pair: Pair) -> Cell:
    return pair.cells[0]


def _second(pair: Pair) -> Cell:
    return pair.cells[1]


def _other(options: Mapping[str, Read]) -> dict[str, Read]:
    """The same options, for the other of two."""
    return {f"other-{option}": read for option, read in options.items()}


def _exchange(study: Study, way: Pair) -> Parameters:
    # The spec is that of what computes: runs of the same cell there.
    trained, elsewhere = way.cells
    return reads.spec(study, elsewhere, study.seeds[trained][0]) | {"trained_on": trained.hardware}


def _exchanged(parameters: Parameters) -> Pair:
    elsewhere = Cell.of(Spec.read(parameters["spec"]))
    return Pair(*elsewhere.task, parameters["trained_on"], elsewhere.hardware, elsewhere.variant)


ROWS = {
    "measure-pair": Step(
        "measure_pair",
        "measure what separates two toolings",
        where=Where(Pair, lambda study: study.pairs, *_TOOLINGS),
        parameters=lambda _, pair: {"pair": list(pair)},
        reads=reads.DATA | reads.dump(_first) | _other(reads.dump(_second)),
        writes={
            "out": metric("cross_tooling", layout.PAIR, "toolnoise.papers.frameworks.cross_tooling", folder="pairs")
        },
        work=Work("toolnoise.papers.frameworks.pair:measure"),
    ),
    # What was trained on one framework, predicted on another: the difference of inference alone.
    "predict-elsewhere": Step(
        "exchange_predictions",
        "dump a cell's predictions on a tooling with another framework than the one it was trained on",
        where=Where(Pair, lambda study: study.exchanged, *FRAMEWORKS, stated=_exchanged),
        parameters=_exchange,
        reads=reads.DATA | {"records": reads.records(reads.WEIGHTS, _first)},
        writes={"logits": Write(layout.EXCHANGED), "index": Write(layout.EXCHANGED_INDEX)},
        work=Work("toolnoise.dumps.prediction_dump:dump"),
        needs=Needs(tooling=lambda way: way.other_hardware),
        record=JobRecord("index", "dumps of exchanged predictions"),
    ),
    "measure-frameworks": Step(
        "measure_frameworks",
        "measure what separates two frameworks, in training and in inference alone",
        where=Where(Pair, lambda study: study.frameworks, *FRAMEWORKS),
        parameters=lambda _, pair: {"pair": list(pair)},
        reads={
            "logits": reads.at(layout.LOGITS, INDEX, of=_first),
            "exchanged": reads.at(layout.EXCHANGED, INDEX),
            "records": reads.records(reads.RUN_FILES, _first),
            "other-logits": reads.at(layout.LOGITS, INDEX, of=_second),
            "other-exchanged": reads.at(layout.EXCHANGED, INDEX, of=operator.attrgetter("reversed")),
            "other-records": reads.records(reads.RUN_FILES, _second),
        },
        writes={
            "out": metric("frameworks", layout.PAIR, "toolnoise.papers.frameworks.metric"),
            "out-partings": metric("partings", layout.PAIR, "toolnoise.papers.frameworks.metric"),
        },
        work=Work("toolnoise.papers.frameworks.measure:measure"),
    ),
}
