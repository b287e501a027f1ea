"""The rows of the job graph that download, prepare, train, dump and measure. A new measure is a row here."""

from collections.abc import Iterator

from toolnoise.datasets import sources
from toolnoise.datasets.readers import READERS
from toolnoise.steps import reads
from toolnoise.steps.reads import ENSEMBLES, RUNS, STABILITY
from toolnoise.steps.step import JobRecord, Needs, Outside, Parameters, Read, Step, Where, Work, Write, metric
from toolnoise.study import layout
from toolnoise.study.builders import is_own
from toolnoise.study.cells import Cell, Control, Dataset, Training, Variants, Whole
from toolnoise.study.study import Study

A_DAY = 24 * 60  # minutes
MOST_POINTS = 200_000  # of all curves of a study's page
IDENTICAL = "toolnoise.papers.identical.metric"

# Parameters


def _common_spec(study: Study, place: Variants) -> Parameters:
    # As far as all runs of the place have it, so that a variant more is no reason to train again.
    return reads.spec(study, Cell(*place, "control"), 1)


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
    places = dict.fromkeys(Variants(*cell[:3]) for cell in reads.built(study))
    return (place for place in places if is_own(study.config["models"][place.model]))


# What options name


def _compared(study: Study, place: Variants) -> list[str]:
    """The values of each run of all cells that are compared."""
    cells = dict.fromkeys(cell for both in study.comparisons(place) for cell in both)
    return [study.path(RUNS.pattern, cell) for cell in cells]


PREPARED = Where(Dataset, lambda study: reads.datasets(study, of_programs=False), "datasets", "a data set of its grid")
# The one step that no verb performs: Snakemake writes study.json before the first job.
CONFIGURE = "configure"
# By the verb of the command line, in the order of the data.
ROWS = {
    CONFIGURE: Step(
        "onstart",
        "resolve a study file",
        where=Where(Whole, lambda _: (Whole(),), "study", "its configuration"),
        parameters=lambda _study, _place: {},
        reads={},
        writes={"out": Write(layout.STUDY)},
        work=Work("toolnoise.study.config:resolve"),
        outside=Outside(),
        unrepeatable="Snakemake writes the study from its configuration and its command line before the first job",
    ),
    "fetch": Step(
        "fetch_data",
        "download or find the files of a data set, and verify them",
        where=Where(Dataset, with_sources, "datasets", "a data set that is prepared from files"),
        parameters=_data,
        reads={},
        writes={"out": Write(layout.SOURCES)},
        work=Work("toolnoise.datasets.fetching:fetch"),
        outside=Outside("toolnoise.datasets.fetching:fetched"),
        unrepeatable="a download; what was downloaded is verified when data is prepared again",
    ),
    "prepare": Step(
        "prepare_data",
        "read a data set and write its prepared form",
        where=PREPARED,
        parameters=_data,
        reads={},
        writes={"out": Write(layout.DATA)},
        work=Work(
            "toolnoise.datasets.preparation:prepare",
            aside=("threads",),
            further=lambda parameters: (READERS[parameters["entry"]["reader"]].partition(":")[0],),
            files=lambda parameters: sources.embedded(parameters["entry"]),
        ),
        # ImageNet's 1.3 million pictures.
        needs=Needs(minutes=lambda _study, _place: A_DAY),
        record=JobRecord(stated=True),
        outside=Outside("toolnoise.datasets.fetching:read_by", packages=True),
    ),
    "check-model": Step(
        "check_model",
        "build a model of a study's own before its first run, and check what its builder returns",
        where=Where(
            Variants,
            _own_models,
            "models",
            "model/dataset/hardware of its grid, with a builder that is not of this package",
        ),
        parameters=_common_spec,
        reads=reads.DATA,
        writes={"out": Write(layout.CHECKED)},
        work=Work("toolnoise.training.model_check:check"),
        needs=Needs(tooling=lambda place: place.hardware),
        record=JobRecord("out"),
        # Runs that were made elsewhere go without.
        needed=False,
    ),
    "train": Step(
        "train_run",
        "train one run",
        where=Where(
            Training,
            lambda study: reads.runs_of(study, reads.built(study)),
            "grid",
            "model/dataset/hardware/variant of its grid and one of its seeds",
        ),
        parameters=lambda study, run: reads.spec(study, run.cell, run.seed),
        reads=reads.DATA,
        writes=reads.RUN,
        work=Work("toolnoise.training.loop:train", aside=("checkpoint",)),
        needs=Needs(tooling=lambda run: run.hardware, minutes=reads.training_minutes),
        record=JobRecord("record", "runs", drawn=True),
    ),
    "predict": Step(
        "dump_predictions",
        "dump a cell's predictions",
        where=Where(Cell, reads.built, *reads.A_CELL),
        parameters=reads.spec,
        reads=reads.TRAINED,
        writes=reads.DUMP,
        work=Work("toolnoise.dumps.prediction_dump:dump"),
        needs=Needs(tooling=lambda cell: cell.hardware),
        record=JobRecord("index", "dumps of predictions"),
    ),
    "check-control": Step(
        "check_control",
        "compare control runs bit for bit",
        where=Where(
            Control,
            lambda study: (Control(*cell[:3]) for cell in study.controls if not study.is_program(cell)),
            "grid",
            "model/dataset/hardware with the variant control",
        ),
        parameters=lambda _, place: {"cell": list(place.cell)},
        reads=reads.dump(reads.control_of),
        writes={"out": Write(layout.GATE)},
        work=Work("toolnoise.measures.control_gate:check"),
    ),
    "measure": Step(
        "measure_cell",
        "measure a cell",
        where=Where(Cell, reads.built, *reads.A_CELL),
        parameters=lambda study, cell: reads.measured(study, cell) | {"identical": study.config["identical"]},
        reads=reads.DATA | reads.dump(),
        writes={
            "out": STABILITY,
            "out-runs": RUNS,
            "out-identical": metric("identical", layout.CELL, IDENTICAL, timed=True),
            "out-convergence": metric("convergence", layout.CELL, IDENTICAL, timed=True),
            "out-ensembles": ENSEMBLES,
        },
        work=Work("toolnoise.papers.identical.measure:measure"),
    ),
    "show-cell": Step(
        "show_cell",
        "write a cell's part of the study's page: its runs, their curves, where they part",
        where=Where(Cell, lambda study: study.cells, *reads.A_CELL),
        parameters=_shown,
        reads=reads.DATA | reads.dump() | {"metrics": reads.at(STABILITY.pattern), "values": reads.at(RUNS.pattern)},
        writes={"out": Write(layout.PAGE_CELL, timed=True)},
        work=Work("toolnoise.pages.cell_page:show"),
    ),
    "measure-ratios": Step(
        "measure_ratios",
        "measure the noise of variants, and of batch normalisation, as ratios",
        where=Where(
            Variants,
            lambda study: study.compared,
            "grid",
            "a task and a tooling with algo_impl or algo beside another variant, or a model M beside M-bn",
        ),
        parameters=lambda _, place: place._asdict(),
        reads={"runs": Read(_compared, several=True)},
        writes={"out": metric("ratios", "{model}/{dataset}/{hardware}", "toolnoise.formulas.ratios")},
        work=Work("toolnoise.measures.noise_ratios:measure"),
    ),
    "count": Step(
        "count_data",
        "count the examples of a data set",
        where=PREPARED,
        parameters=lambda _, place: {"dataset": place.dataset},
        reads=reads.DATA,
        writes={"out": metric("counts", "{dataset}", "toolnoise.datasets.counting", folder="data")},
        work=Work("toolnoise.datasets.counting:count"),
    ),
}
