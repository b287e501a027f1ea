"""The rows of the job graph that download, prepare, train, dump and measure. A new measure is a row here."""

from collections.abc import Iterator

from toolnoise.datasets import sources
from toolnoise.datasets.readers import READERS
from toolnoise.steps.reads import (
    A_CELL,
    DATA,
    RUN_FILES,
    TRAINED,
    WEIGHTS,
    at,
    cell_of_spec,
    cell_stated,
    control_of_cell,
    dump_of,
    first,
    measured,
    other,
    pair_stated,
    records_of,
    run_of_spec,
    same,
    second,
    spec,
    training_minutes,
    variants_of_spec,
)
from toolnoise.steps.step import Needs, Outside, Parameters, Read, Record, Step, Where, Work, Write, metric
from toolnoise.study import layout, programs
from toolnoise.study.builders import is_own
from toolnoise.study.catalogue import KINDS
from toolnoise.study.cells import Cell, Control, Dataset, Pair, Training, Variants, Whole
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


def _with_sources(study: Study) -> Iterator[Dataset]:
    return (Dataset(name) for name in study.datasets if sources.sources(study.config["datasets"][name]))


def _with_names(study: Study) -> Iterator[Dataset]:
    """Data sets whose classes are shown by name, where only their files may have the names."""
    by_class = (figure for figure in study.figures if "labels" in KINDS[figure.notebook].also)
    shown = {dataset for figure in by_class for _, dataset in figure.tasks}
    unnamed = {name for name in shown if "classes" not in study.config["datasets"][name]}
    return (place for place in _with_sources(study) if place.dataset in unnamed)


def _built(study: Study) -> list[Cell]:
    return [cell for cell in study.cells if not study.is_program(cell)]


def _programmed(study: Study) -> list[Cell]:
    return [cell for cell in study.cells if study.is_program(cell)]


def _leaving(study: Study, *, logits: bool) -> list[Cell]:
    found = {cell: programs.outcome(study.config, cell.model) for cell in _programmed(study)}
    return [cell for cell, outcome in found.items() if (outcome == programs.LOGITS) == logits]


def _adopted(study: Study, *, wanted: bool) -> list[Cell]:
    models = study.config["models"]
    return [cell for cell in _programmed(study) if ("adopted" in models[cell.model]) == wanted]


def _runs(study: Study, cells: list[Cell]) -> Iterator[Training]:
    return (Training(*cell, seed) for cell in cells for seed in study.seeds[cell])


def _datasets(study: Study, *, of_programs: bool) -> Iterator[Dataset]:
    entries = study.config["datasets"]
    return (Dataset(name) for name in study.datasets if (entries[name]["reader"] == programs.READER) == of_programs)


def _own_models(study: Study) -> Iterator[Variants]:
    places = dict.fromkeys(Variants(*cell[:3]) for cell in _built(study))
    return (place for place in places if is_own(study.config["models"][place.model]))


# What options name


def _first_outcome(study: Study, place: Dataset) -> str:
    """The run that brings a data set: one of Control, if there is one, since nothing else runs before its gate."""
    cells = [cell for cell in study.cells if cell.dataset == place.dataset]
    first = next((cell for cell in cells if cell.variant == "control"), cells[0])
    return study.runs(layout.RECORD, first)[0]


def _gate_of(study: Study, run: Training) -> list[str]:
    control = Control(*run[:3])
    gated = run.variant != control.cell.variant and control.cell in study.seeds
    return [study.path(layout.GATE, control)] if gated else []


def _control(place: Control) -> Cell:
    return place.cell


def _compared(study: Study, place: Variants) -> list[str]:
    cells = dict.fromkeys(cell for both in study.comparisons(place) for cell in both)
    return [study.path(RUNS.pattern, cell) for cell in cells]


# What twin rows write: one for networks that are built here, others for the training programs of others.
RUN = {"weights": Write(layout.WEIGHTS), "history": Write(layout.HISTORY), "record": Write(layout.RECORD)}
DUMP = {"logits": Write(layout.LOGITS), "index": Write(layout.PREDICTIONS)}
STABILITY = metric("stability", layout.CELL, "toolnoise.metrics.stability", folder="cells")
RUNS = metric("runs", layout.CELL, "toolnoise.metrics.per_run")
ENSEMBLES = metric("ensembles", layout.CELL, "toolnoise.metrics.ensembles")
_TOOLINGS = ("grid", "two toolings that train one task under control or algo")

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
        where=Where(Dataset, _with_sources, "datasets", "a data set that is prepared from files"),
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
        where=Where(Dataset, lambda study: _datasets(study, of_programs=False), "datasets", "a data set of its grid"),
        parameters=_data,
        reads={},
        writes={"out": Write(layout.DATA)},
        work=Work(
            "toolnoise.datasets.preparation:prepare",
            aside=("threads",),
            further=lambda parameters: (READERS[parameters["entry"]["reader"]].partition(":")[0],),
        ),
        # ImageNet's 1.3 million pictures.
        needs=Needs(minutes=lambda _study, _place: A_DAY),
        record=Record(stated=True),
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
            stated=variants_of_spec,
        ),
        parameters=_common_spec,
        reads=DATA,
        writes={"out": Write(layout.CHECKED)},
        work=Work("toolnoise.training.model_check:check"),
        needs=Needs(tooling=lambda place: place.hardware),
        record=Record("out"),
        # Runs that were made elsewhere go without.
        needed=False,
    ),
    "train": Step(
        "train_run",
        "train one run",
        where=Where(
            Training,
            lambda study: _runs(study, _built(study)),
            "grid",
            "model/dataset/hardware/variant of its grid and one of its seeds",
            stated=run_of_spec,
        ),
        parameters=lambda study, run: spec(study, run.cell, run.seed),
        reads=DATA,
        writes=RUN,
        work=Work("toolnoise.training.loop:train", aside=("checkpoint",)),
        needs=Needs(tooling=lambda run: run.hardware, minutes=training_minutes),
        record=Record("record", "runs", drawn=True),
    ),
    "run-program": Step(
        "run_program",
        "run a training program of others once",
        where=Where(
            Training,
            lambda study: _runs(study, _adopted(study, wanted=False)),
            "grid",
            "model/dataset/hardware/variant of a training program, and one of its seeds",
            stated=run_of_spec,
        ),
        parameters=lambda study, run: spec(study, run.cell, run.seed) | {"study": study.name},
        reads={"gate": Read(_gate_of, several=True, optional=True)},
        writes=RUN,
        work=Work("toolnoise.outside.training:train", aside=("checkpoint",)),
        needs=Needs(tooling=lambda run: run.hardware, minutes=training_minutes),
        record=Record("record", "runs of programs"),
    ),
    "adopt-run": Step(
        "adopt_run",
        "take a run as it is that was there before the study",
        where=Where(
            Training,
            lambda study: _runs(study, _adopted(study, wanted=True)),
            "grid",
            "model/dataset/hardware/variant of adopted runs, and one of their seeds",
            stated=run_of_spec,
        ),
        parameters=lambda study, run: spec(study, run.cell, run.seed),
        reads={},
        writes=RUN,
        work=Work("toolnoise.outside.adopted:adopt"),
        record=Record("record", "adopted runs"),
        outside=Outside("toolnoise.outside.adopted:files_of"),
        unrepeatable="how it was made is not known here",
    ),
    "gather-labels": Step(
        "gather_labels",
        "write the test set that the runs of a training program bring",
        where=Where(
            Dataset, lambda study: _datasets(study, of_programs=True), "datasets", "a data set with reader: outcome"
        ),
        parameters=lambda _, place: place._asdict(),
        reads={"record": Read(_first_outcome, WEIGHTS)},
        writes={"out": Write(layout.DATA)},
        work=Work("toolnoise.outside.labels:write"),
    ),
    "measure-speed": Step(
        "measure_speed",
        "time some training steps of a cell; only estimates depend on them",
        where=Where(Cell, _built, *A_CELL, stated=cell_of_spec),
        parameters=spec,
        reads=DATA,
        writes={"out": Write(layout.SPEED, timed=True)},
        work=Work("toolnoise.timing.speed_probe:measure"),
        needs=Needs(tooling=lambda cell: cell.hardware, cold="it measures how long a start takes"),
        record=Record("out", "times of steps"),
        unrepeatable="what it made are times",
        needed=False,
    ),
    "predict": Step(
        "dump_predictions",
        "dump a cell's predictions",
        where=Where(Cell, _built, *A_CELL, stated=cell_of_spec),
        parameters=spec,
        reads=TRAINED,
        writes=DUMP,
        work=Work("toolnoise.dumps.prediction_dump:dump"),
        needs=Needs(tooling=lambda cell: cell.hardware),
        record=Record("index", "dumps of predictions"),
    ),
    "dump-outcomes": Step(
        "dump_outcomes",
        "dump what the runs of a training program left",
        where=Where(Cell, _programmed, *A_CELL, stated=cell_of_spec),
        parameters=spec,
        reads=TRAINED,
        writes=DUMP,
        work=Work("toolnoise.dumps.outcome_dump:dump"),
        record=Record("index", "dumps of outcomes"),
    ),
    "check-control": Step(
        "check_control",
        "compare control runs bit for bit",
        where=Where(
            Control,
            lambda study: (Control(*cell[:3]) for cell in study.controls if not study.is_program(cell)),
            "grid",
            "model/dataset/hardware with the variant control",
            stated=control_of_cell,
        ),
        parameters=lambda _, place: {"cell": list(place.cell)},
        reads=dump_of(_control),
        writes={"out": Write(layout.GATE)},
        work=Work("toolnoise.measures.control_gate:check"),
    ),
    "check-program": Step(
        "check_program",
        "compare what control runs of a training program left, bit for bit",
        where=Where(
            Control,
            lambda study: (Control(*cell[:3]) for cell in study.controls if study.is_program(cell)),
            "grid",
            "a training program with the variant control",
            stated=control_of_cell,
        ),
        parameters=lambda study, place: {
            "cell": list(place.cell),
            "command": study.config["models"][place.model].get("command", ""),
        },
        reads={"records": records_of(_control, RUN_FILES)},
        writes={"out": Write(layout.GATE)},
        work=Work("toolnoise.measures.program_gate:check"),
    ),
    "measure": Step(
        "measure_cell",
        "measure a cell",
        where=Where(Cell, _built, *A_CELL, stated=cell_stated),
        parameters=lambda study, cell: measured(study, cell) | {"identical": study.config["identical"]},
        reads=DATA | dump_of(same),
        writes={
            "out": STABILITY,
            "out-runs": RUNS,
            "out-identical": metric("identical", layout.CELL, "toolnoise.analyses.identical.metric", timed=True),
            "out-convergence": metric("convergence", layout.CELL, "toolnoise.analyses.identical.metric", timed=True),
            "out-ensembles": ENSEMBLES,
        },
        work=Work("toolnoise.measures.cell:measure"),
    ),
    "measure-program": Step(
        "measure_program",
        "measure a cell of a training program",
        where=Where(Cell, lambda study: _leaving(study, logits=True), *A_CELL, stated=cell_stated),
        parameters=measured,
        reads=DATA | dump_of(same),
        writes={
            "out": STABILITY,
            "out-runs": RUNS,
            "out-ensembles": ENSEMBLES,
        },
        work=Work("toolnoise.measures.program:measure"),
    ),
    "measure-outcomes": Step(
        "measure_outcomes",
        "measure a cell of a training program that leaves classes, values or a metric",
        where=Where(Cell, lambda study: _leaving(study, logits=False), *A_CELL, stated=cell_stated),
        parameters=lambda study, cell: measured(study, cell) | {"outcome": programs.outcome(study.config, cell.model)},
        reads=DATA | dump_of(same),
        writes={
            "out": STABILITY,
            "out-runs": RUNS,
        },
        work=Work("toolnoise.measures.outcomes:measure"),
    ),
    "show-cell": Step(
        "show_cell",
        "write a cell's part of the study's page: its runs, their curves, where they part",
        where=Where(Cell, lambda study: study.cells, *A_CELL, stated=cell_stated),
        parameters=_shown,
        reads=DATA | dump_of(same) | {"metrics": at(STABILITY.pattern), "values": at(RUNS.pattern)},
        writes={"out": Write(layout.PAGE_CELL, timed=True)},
        work=Work("toolnoise.pages.cells:show"),
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
        writes={"out": metric("ratios", "{model}/{dataset}/{hardware}", "toolnoise.metrics.ratios")},
        work=Work("toolnoise.measures.ratios:measure"),
    ),
    "count": Step(
        "count_data",
        "count the examples of a data set",
        where=Where(Dataset, lambda study: _datasets(study, of_programs=False), "datasets", "a data set of its grid"),
        parameters=lambda _, place: {"dataset": place.dataset},
        reads=DATA,
        writes={"out": metric("counts", "{dataset}", "toolnoise.datasets.counting", folder="data")},
        work=Work("toolnoise.datasets.counting:count"),
    ),
    "name-classes": Step(
        "name_classes",
        "write the names that a data set's files give its classes",
        where=Where(
            Dataset, _with_names, "datasets", "a data set from files, without the key classes, in a figure by class"
        ),
        parameters=lambda _, place: {"dataset": place.dataset},
        reads=DATA,
        writes={"out": metric("labels", "{dataset}", "toolnoise.datasets.naming")},
        work=Work("toolnoise.datasets.naming:write"),
    ),
    "measure-pair": Step(
        "measure_pair",
        "measure what separates two toolings",
        where=Where(Pair, lambda study: study.pairs, *_TOOLINGS, stated=pair_stated),
        parameters=lambda _, pair: {"pair": list(pair)},
        reads=DATA | dump_of(first) | other(dump_of(second)),
        writes={"out": metric("cross_tooling", layout.PAIR, "toolnoise.metrics.cross_tooling", folder="pairs")},
        work=Work("toolnoise.measures.pair:measure"),
    ),
}
