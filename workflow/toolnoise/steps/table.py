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
    dump_of,
    first,
    measured,
    other,
    records_of,
    same,
    second,
    spec,
    training_minutes,
)
from toolnoise.steps.step import Parameters, Read, Step
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
    """The verdict on the control cell, if the study has one and the run is not one of its own."""
    control = Control(*run[:3])
    gated = run.variant != control.cell.variant and control.cell in study.seeds
    return [study.path(layout.GATE, control)] if gated else []


def _control(place: Control) -> Cell:
    return place.cell


def _compared(study: Study, place: Variants) -> list[str]:
    """The values of each run of all cells that are compared."""
    cells = dict.fromkeys(cell for both in study.comparisons(place) for cell in both)
    return [study.path(SINGLE_RUNS, cell) for cell in cells]


MEASURED = "results/{study}/metrics/cells/" + layout.CELL + ".csv"
ENSEMBLES = "results/{study}/metrics/ensembles/" + layout.CELL + ".csv"
SINGLE_RUNS = "results/{study}/metrics/runs/" + layout.CELL + ".csv"
_TOOLINGS = ("grid", "two toolings that train one task under control or algo")

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
        places=_with_sources,
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
        places=lambda study: _datasets(study, of_programs=False),
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
        places=lambda study: _runs(study, _built(study)),
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
    "run-program": Step(
        "run_program",
        "run a training program of others once",
        place=Training,
        places=lambda study: _runs(study, _adopted(study, wanted=False)),
        parameters=lambda study, run: spec(study, run.cell, run.seed) | {"study": study.name},
        reads={"gate": Read(_gate_of, several=True, optional=True)},
        writes={"weights": layout.WEIGHTS, "history": layout.HISTORY, "record": layout.RECORD},
        work="toolnoise.outside.training:train",
        wanted=("grid", "model/dataset/hardware/variant of a training program, and one of its seeds"),
        tooling=lambda run: run.hardware,
        minutes=training_minutes,
        aside=("checkpoint",),
        record="record",
        travels="runs of programs",
        programs=True,
    ),
    "adopt-run": Step(
        "adopt_run",
        "take a run as it is that was there before the study",
        place=Training,
        places=lambda study: _runs(study, _adopted(study, wanted=True)),
        parameters=lambda study, run: spec(study, run.cell, run.seed),
        reads={},
        writes={"weights": layout.WEIGHTS, "history": layout.HISTORY, "record": layout.RECORD},
        work="toolnoise.outside.adopted:adopt",
        wanted=("grid", "model/dataset/hardware/variant of adopted runs, and one of their seeds"),
        record="record",
        travels="adopted runs",
        unrepeatable="how it was made is not known here",
        programs=True,
    ),
    "gather-labels": Step(
        "gather_labels",
        "write the test set that the runs of a training program bring",
        place=Dataset,
        places=lambda study: _datasets(study, of_programs=True),
        parameters=lambda _, place: place._asdict(),
        reads={"record": Read(_first_outcome, WEIGHTS)},
        writes={"out": layout.DATA},
        work="toolnoise.outside.labels:write",
        wanted=("datasets", "a data set with reader: outcome"),
        programs=True,
    ),
    "measure-speed": Step(
        "measure_speed",
        "time some training steps of a cell; only estimates depend on them",
        place=Cell,
        places=_built,
        parameters=spec,
        reads=DATA,
        writes={"out": layout.SPEED},
        work="toolnoise.timing.speed_probe:measure",
        wanted=A_CELL,
        tooling=lambda cell: cell.hardware,
        needed=False,
        record="out",
        travels="times of steps",
        unrepeatable="what it made are times",
    ),
    "predict": Step(
        "dump_predictions",
        "dump a cell's predictions",
        place=Cell,
        places=_built,
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
    "dump-outcomes": Step(
        "dump_outcomes",
        "dump what the runs of a training program left",
        place=Cell,
        places=_programmed,
        parameters=spec,
        reads=TRAINED,
        writes={"logits": layout.LOGITS, "index": layout.PREDICTIONS},
        work="toolnoise.dumps.outcome_dump:dump",
        wanted=A_CELL,
        record="index",
        travels="dumps of outcomes",
        programs=True,
    ),
    "check-control": Step(
        "check_control",
        "compare control runs bit for bit",
        place=Control,
        places=lambda study: (Control(*cell[:3]) for cell in study.controls if not study.is_program(cell)),
        parameters=lambda _, place: {"cell": list(place.cell)},
        reads=dump_of(_control),
        writes={"out": layout.GATE},
        work="toolnoise.measures.control_gate:check",
        wanted=("grid", "model/dataset/hardware with the variant control"),
        programs=False,
    ),
    "check-program": Step(
        "check_program",
        "compare what control runs of a training program left, bit for bit",
        place=Control,
        places=lambda study: (Control(*cell[:3]) for cell in study.controls if study.is_program(cell)),
        parameters=lambda study, place: {
            "cell": list(place.cell),
            "command": study.config["models"][place.model].get("command", ""),
        },
        reads={"records": records_of(_control, RUN_FILES)},
        writes={"out": layout.GATE},
        work="toolnoise.measures.program_gate:check",
        wanted=("grid", "a training program with the variant control"),
        programs=True,
    ),
    "measure": Step(
        "measure_cell",
        "measure a cell",
        place=Cell,
        places=_built,
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
    "measure-program": Step(
        "measure_program",
        "measure a cell of a training program",
        place=Cell,
        places=lambda study: _leaving(study, logits=True),
        parameters=measured,
        reads=DATA | dump_of(same),
        writes={
            "out": MEASURED,
            "out-runs": SINGLE_RUNS,
            "out-ensembles": ENSEMBLES,
        },
        work="toolnoise.measures.program:measure",
        wanted=A_CELL,
        metrics={
            "out": ("stability", "toolnoise.metrics.stability:STABILITY"),
            "out-runs": ("runs", "toolnoise.metrics.per_run:RUNS"),
            "out-ensembles": ("ensembles", "toolnoise.metrics.ensembles:ENSEMBLES"),
        },
        programs=True,
    ),
    "measure-outcomes": Step(
        "measure_outcomes",
        "measure a cell of a training program that leaves classes, values or a metric",
        place=Cell,
        places=lambda study: _leaving(study, logits=False),
        parameters=lambda study, cell: measured(study, cell) | {"outcome": programs.outcome(study.config, cell.model)},
        reads=DATA | dump_of(same),
        writes={"out": MEASURED, "out-runs": SINGLE_RUNS},
        work="toolnoise.measures.outcomes:measure",
        wanted=A_CELL,
        metrics={
            "out": ("stability", "toolnoise.metrics.stability:STABILITY"),
            "out-runs": ("runs", "toolnoise.metrics.per_run:RUNS"),
        },
        programs=True,
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
        places=lambda study: _datasets(study, of_programs=False),
        parameters=lambda _, place: {"dataset": place.dataset},
        reads=DATA,
        writes={"out": "results/{study}/metrics/data/{dataset}.csv"},
        work="toolnoise.datasets.counting:count",
        wanted=("datasets", "a data set of its grid"),
        metrics={"out": ("counts", "toolnoise.datasets.counting:COUNTS")},
    ),
    "name-classes": Step(
        "name_classes",
        "write the names that a data set's files give its classes",
        place=Dataset,
        places=_with_names,
        parameters=lambda _, place: {"dataset": place.dataset},
        reads=DATA,
        writes={"out": "results/{study}/metrics/labels/{dataset}.csv"},
        work="toolnoise.datasets.naming:write",
        wanted=("datasets", "a data set from files, without the key classes, in a figure by class"),
        metrics={"out": ("labels", "toolnoise.datasets.naming:LABELS")},
    ),
    "measure-pair": Step(
        "measure_pair",
        "measure what separates two toolings",
        place=Pair,
        places=lambda study: study.pairs,
        parameters=lambda _, pair: {"pair": list(pair)},
        reads=DATA | dump_of(first) | other(dump_of(second)),
        writes={"out": "results/{study}/metrics/pairs/" + layout.PAIR + ".csv"},
        work="toolnoise.measures.pair:measure",
        wanted=_TOOLINGS,
        metrics={"out": ("cross_tooling", "toolnoise.metrics.cross_tooling:CROSS_TOOLING")},
    ),
}
