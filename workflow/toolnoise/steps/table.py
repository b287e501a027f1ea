"""The rows of the job graph that download, prepare, train, dump and measure. A new measure is a row here."""

from collections.abc import Iterator

from toolnoise.datasets import sources
from toolnoise.datasets.readers import READERS
from toolnoise.steps.reads import (
    A_CELL,
    DATA,
    ENSEMBLES,
    MEASURED,
    SINGLE_RUNS,
    TRAINED,
    at,
    built,
    control_of,
    datasets,
    dump_of,
    measured,
    runs_of,
    same,
    spec,
    training_minutes,
)
from toolnoise.steps.step import Parameters, Read, Step
from toolnoise.study import layout
from toolnoise.study.builders import is_own
from toolnoise.study.cells import Cell, Control, Dataset, Training, Variants, Whole
from toolnoise.study.study import Study

A_DAY = 24 * 60  # minutes
MOST_POINTS = 200_000  # of all curves of a study's page

# Parameters


def _common_spec(study: Study, place: Variants) -> Parameters:
    # As far as all runs of the place have it, so that a variant more is no reason to train again.
    return spec(study, Cell(*place, "control"), 1)


def _shown(study: Study, cell: Cell) -> Parameters:
    # The page of a large study is to stay small: the more runs, the fewer points of their curves.
    return {"cell": list(cell), "points": max(20, min(200, MOST_POINTS // sum(map(len, study.seeds.values()))))}


def _data(study: Study, place: Dataset) -> Parameters:
    return {"dataset": place.dataset, "entry": study.config["datasets"][place.dataset]}


# Places


def with_sources(study: Study) -> Iterator[Dataset]:
    """Data sets that are made of files."""
    return (Dataset(name) for name in study.datasets if sources.sources(study.config["datasets"][name]))


def _own_models(study: Study) -> Iterator[Variants]:
    places = dict.fromkeys(Variants(*cell[:3]) for cell in built(study))
    return (place for place in places if is_own(study.config["models"][place.model]))


# What options name


def _compared(study: Study, place: Variants) -> list[str]:
    """The values of each run of all cells that are compared."""
    cells = dict.fromkeys(cell for both in study.comparisons(place) for cell in both)
    return [study.path(SINGLE_RUNS, cell) for cell in cells]


# The one step that no verb performs: Snakemake writes study.json before the first job.
CONFIGURE = "configure"
# By the verb of the command line, in the order of the data.
ROWS = {
    CONFIGURE: Step(
        "onstart",
        "resolve a study file",
        place=Whole,
        places=lambda _: (Whole(),),
        parameters=lambda _study, _place: {},
        reads={},
        writes={"out": layout.STUDY},
        work="toolnoise.study.config:resolve",
        wanted=("study", "its configuration"),
        unrepeatable="Snakemake writes the study from its configuration and its command line before the first job",
    ),
    "fetch": Step(
        "fetch_data",
        "download or find the files of a data set, and verify them",
        place=Dataset,
        places=with_sources,
        parameters=_data,
        reads={},
        writes={"out": layout.SOURCES},
        work="toolnoise.datasets.fetching:fetch",
        wanted=("datasets", "a data set that is prepared from files"),
        unrepeatable="a download; what was downloaded is verified when data is prepared again",
    ),
    "prepare": Step(
        "prepare_data",
        "read a data set and write its prepared form",
        place=Dataset,
        places=lambda study: datasets(study, of_programs=False),
        parameters=_data,
        reads={},
        writes={"out": layout.DATA},
        work="toolnoise.datasets.preparation:prepare",
        wanted=("datasets", "a data set of its grid"),
        # ImageNet's 1.3 million pictures.
        minutes=lambda _study, _place: A_DAY,
        further=lambda parameters: (READERS[parameters["entry"]["reader"]].partition(":")[0],),
        aside=("threads",),
        programs=False,
    ),
    "check-model": Step(
        "check_model",
        "build a model of a study's own before its first run, and check what its builder returns",
        place=Variants,
        places=_own_models,
        parameters=_common_spec,
        reads=DATA,
        writes={"out": layout.CHECKED},
        work="toolnoise.training.model_check:check",
        wanted=("models", "model/dataset/hardware of its grid, with a builder that is not of this package"),
        tooling=lambda place: place.hardware,
        # Runs that were made elsewhere go without.
        needed=False,
        record="out",
    ),
    "train": Step(
        "train_run",
        "train one run",
        place=Training,
        places=lambda study: runs_of(study, built(study)),
        parameters=lambda study, run: spec(study, run.cell, run.seed),
        reads=DATA,
        writes={"weights": layout.WEIGHTS, "history": layout.HISTORY, "record": layout.RECORD},
        work="toolnoise.training.loop:train",
        wanted=("grid", "model/dataset/hardware/variant of its grid and one of its seeds"),
        tooling=lambda run: run.hardware,
        minutes=training_minutes,
        aside=("checkpoint",),
        record="record",
        travels="runs",
        programs=False,
    ),
    "predict": Step(
        "dump_predictions",
        "dump a cell's predictions",
        place=Cell,
        places=built,
        parameters=spec,
        reads=TRAINED,
        writes={"logits": layout.LOGITS, "index": layout.PREDICTIONS},
        work="toolnoise.dumps.prediction_dump:dump",
        wanted=A_CELL,
        tooling=lambda cell: cell.hardware,
        record="index",
        travels="dumps of predictions",
        programs=False,
    ),
    "check-control": Step(
        "check_control",
        "compare control runs bit for bit",
        place=Control,
        places=lambda study: (Control(*cell[:3]) for cell in study.controls if not study.is_program(cell)),
        parameters=lambda _, place: {"cell": list(place.cell)},
        reads=dump_of(control_of),
        writes={"out": layout.GATE},
        work="toolnoise.measures.control_gate:check",
        wanted=("grid", "model/dataset/hardware with the variant control"),
        programs=False,
    ),
    "measure": Step(
        "measure_cell",
        "measure a cell",
        place=Cell,
        places=built,
        parameters=lambda study, cell: measured(study, cell) | {"identical": study.config["identical"]},
        reads=DATA | dump_of(same),
        writes={
            "out": MEASURED,
            "out-runs": SINGLE_RUNS,
            "out-identical": "results/{study}/metrics/identical/" + layout.CELL + ".csv",
            "out-convergence": "results/{study}/metrics/convergence/" + layout.CELL + ".csv",
            "out-ensembles": ENSEMBLES,
        },
        work="toolnoise.measures.cell:measure",
        wanted=A_CELL,
        metrics={
            "out": ("stability", "toolnoise.metrics.stability:STABILITY"),
            "out-runs": ("runs", "toolnoise.metrics.per_run:RUNS"),
            "out-identical": ("identical", "toolnoise.analyses.identical.metric:IDENTICAL"),
            "out-convergence": ("convergence", "toolnoise.analyses.identical.metric:CONVERGENCE"),
            "out-ensembles": ("ensembles", "toolnoise.metrics.ensembles:ENSEMBLES"),
        },
        programs=False,
    ),
    "show-cell": Step(
        "show_cell",
        "write a cell's part of the study's page: its runs, their curves, where they part",
        place=Cell,
        places=lambda study: study.cells,
        parameters=_shown,
        reads=DATA | dump_of(same) | {"metrics": at(MEASURED), "values": at(SINGLE_RUNS)},
        writes={"out": layout.PAGE_CELL},
        work="toolnoise.pages.cells:show",
        wanted=A_CELL,
    ),
    "measure-ratios": Step(
        "measure_ratios",
        "measure the noise of variants, and of batch normalisation, as ratios",
        place=Variants,
        places=lambda study: study.compared,
        parameters=lambda _, place: place._asdict(),
        reads={"runs": Read(_compared, several=True)},
        writes={"out": "results/{study}/metrics/ratios/{model}/{dataset}/{hardware}.csv"},
        work="toolnoise.measures.ratios:measure",
        wanted=("grid", "a task and a tooling with algo_impl or algo beside another variant, or a model M beside M-bn"),
        metrics={"out": ("ratios", "toolnoise.metrics.ratios:RATIOS")},
    ),
    "count": Step(
        "count_data",
        "count the examples of a data set",
        place=Dataset,
        places=lambda study: datasets(study, of_programs=False),
        parameters=lambda _, place: {"dataset": place.dataset},
        reads=DATA,
        writes={"out": "results/{study}/metrics/data/{dataset}.csv"},
        work="toolnoise.datasets.counting:count",
        wanted=("datasets", "a data set of its grid"),
        metrics={"out": ("counts", "toolnoise.datasets.counting:COUNTS")},
    ),
}
