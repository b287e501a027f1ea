"""The jobs of frameworks: predictions on another one, and what separates two."""

from toolnoise.steps.reads import (
    DATA,
    INDEX,
    RUN_FILES,
    WEIGHTS,
    at,
    back,
    cell_of_spec,
    first,
    of,
    pair_stated,
    records_of,
    second,
    spec,
)
from toolnoise.steps.step import Needs, Parameters, Record, Step, Where, Work, Write, metric
from toolnoise.study import layout
from toolnoise.study.cells import Pair
from toolnoise.study.study import Study

FRAMEWORKS = ("grid", "two toolings of different engines that train one task under control or algo")


def _exchange(study: Study, way: Pair) -> Parameters:
    # The spec is that of what computes: runs of the same cell there.
    trained, elsewhere = way.cells
    return spec(study, elsewhere, study.seeds[trained][0]) | {"trained_on": trained.hardware}


def _exchanged(parameters: Parameters) -> Pair:
    elsewhere = cell_of_spec(parameters)
    return Pair(*elsewhere.task, parameters["trained_on"], elsewhere.hardware, elsewhere.variant)


ROWS = {
    # What was trained on one framework, predicted on another: the difference of inference alone.
    "predict-elsewhere": Step(
        "exchange_predictions",
        "dump a cell's predictions on a tooling with another framework than the one it was trained on",
        where=Where(Pair, lambda study: study.exchanged, *FRAMEWORKS, _exchanged),
        parameters=_exchange,
        reads=DATA | {"records": records_of(first, WEIGHTS)},
        writes={
            "logits": Write(layout.EXCHANGED),
            "index": Write(layout.EXCHANGED_INDEX),
        },
        work=Work("toolnoise.dumps.prediction_dump:dump"),
        needs=Needs(tooling=lambda way: way.other_hardware),
        record=Record("index", "dumps of exchanged predictions"),
    ),
    "measure-frameworks": Step(
        "measure_frameworks",
        "measure what separates two frameworks, in training and in inference alone",
        where=Where(Pair, lambda study: study.frameworks, *FRAMEWORKS, pair_stated),
        parameters=lambda _, pair: {"pair": list(pair)},
        reads={
            "logits": of(first, layout.LOGITS, INDEX),
            "exchanged": at(layout.EXCHANGED, INDEX),
            "records": records_of(first, RUN_FILES),
            "other-logits": of(second, layout.LOGITS, INDEX),
            "other-exchanged": back(layout.EXCHANGED, INDEX),
            "other-records": records_of(second, RUN_FILES),
        },
        writes={
            "out": metric("frameworks", layout.PAIR, "toolnoise.metrics.frameworks"),
            "out-partings": metric("partings", layout.PAIR, "toolnoise.metrics.frameworks"),
        },
        work=Work("toolnoise.analyses.frameworks.measure:measure"),
    ),
}
