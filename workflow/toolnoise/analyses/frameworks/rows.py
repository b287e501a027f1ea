"""The jobs of two toolings: what separates them, and predictions on the other where it has another framework."""

from toolnoise.steps.reads import (
    DATA,
    INDEX,
    RUN_FILES,
    WEIGHTS,
    at,
    back,
    dump_of,
    first,
    of,
    other,
    records_of,
    second,
    spec,
)
from toolnoise.steps.step import Parameters, Step
from toolnoise.study import layout
from toolnoise.study.cells import Pair
from toolnoise.study.study import Study

_TOOLINGS = ("grid", "two toolings that train one task under control or algo")
FRAMEWORKS = ("grid", "two toolings of different engines that train one task under control or algo")


def _exchange(study: Study, way: Pair) -> Parameters:
    # The spec is that of what computes: runs of the same cell there.
    trained, elsewhere = way.cells
    return spec(study, elsewhere, study.seeds[trained][0]) | {"trained_on": trained.hardware}


ROWS = {
    "measure-pair": Step(
        "measure_pair",
        "measure what separates two toolings",
        place=Pair,
        places=lambda study: study.pairs,
        parameters=lambda _, pair: {"pair": list(pair)},
        reads=DATA | dump_of(first) | other(dump_of(second)),
        writes={"out": "results/{study}/metrics/pairs/" + layout.PAIR + ".csv"},
        work="toolnoise.analyses.frameworks.pair:measure",
        wanted=_TOOLINGS,
        metrics={"out": ("cross_tooling", "toolnoise.analyses.frameworks.cross_tooling:CROSS_TOOLING")},
    ),
    # What was trained on one framework, predicted on another: the difference of inference alone.
    "predict-elsewhere": Step(
        "exchange_predictions",
        "dump a cell's predictions on a tooling with another framework than the one it was trained on",
        place=Pair,
        places=lambda study: study.exchanged,
        parameters=_exchange,
        reads=DATA | {"records": records_of(first, WEIGHTS)},
        writes={"logits": layout.EXCHANGED, "index": layout.EXCHANGED_INDEX},
        work="toolnoise.dumps.prediction_dump:dump",
        wanted=FRAMEWORKS,
        tooling=lambda way: way.other_hardware,
        record="index",
        travels="dumps of exchanged predictions",
    ),
    "measure-frameworks": Step(
        "measure_frameworks",
        "measure what separates two frameworks, in training and in inference alone",
        place=Pair,
        places=lambda study: study.frameworks,
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
            "out": "results/{study}/metrics/frameworks/" + layout.PAIR + ".csv",
            "out-partings": "results/{study}/metrics/partings/" + layout.PAIR + ".csv",
        },
        work="toolnoise.analyses.frameworks.measure:measure",
        wanted=FRAMEWORKS,
        metrics={
            "out": ("frameworks", "toolnoise.metrics.frameworks:FRAMEWORKS"),
            "out-partings": ("partings", "toolnoise.metrics.frameworks:PARTINGS"),
        },
    ),
}
