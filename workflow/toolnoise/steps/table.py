"""The rows of the job graph that download, prepare, train, dump and measure. A new measure is a row here."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from toolnoise.datasets import sources
from toolnoise.datasets.readers import READERS
from toolnoise.steps.step import Parameters, Read, Step
from toolnoise.study import layout, programs
from toolnoise.study.builders import is_own
from toolnoise.study.catalogue import KINDS
from toolnoise.study.cells import Cell, Control, Dataset, Network, Pair, Profile, Task, Training, Variants, Whole
from toolnoise.study.study import Study

A_DAY = 24 * 60  # minutes
MOST_POINTS = 200_000  # of all curves of a study's page
# Files that lie beside the one that an option names, and are read too: whole names, or suffixes in place of its own.
RUN_FILES, WEIGHTS, INDEX, KERNEL_TIMES = ("weights.npz", "history.csv"), ("weights.npz",), (".json",), (".csv",)

# Parameters


def _spec(study: Study, cell: Cell, seed: int | None = None) -> Parameters:
    return {"spec": study.spec(cell, study.seeds[cell][0] if seed is None else seed)}


def _common_spec(study: Study, place: Variants) -> Parameters:
    # As far as all runs of the place have it, so that a variant more is no reason to train again.
    return _spec(study, Cell(*place, "control"), 1)


def _exchange(study: Study, way: Pair) -> Parameters:
    # The spec is that of what computes: runs of the same cell there.
    trained, elsewhere = way.cells
    return _spec(study, elsewhere, study.seeds[trained][0]) | {"trained_on": trained.hardware}


def _measured(study: Study, cell: Cell) -> Parameters:
    return {"cell": list(cell), "study_seed": study.config["seed"]}


def _shown(study: Study, cell: Cell) -> Parameters:
    # The page of a large study is to stay small: the more runs, the fewer points of their curves.
    return {"cell": list(cell), "points": max(20, min(200, MOST_POINTS // sum(map(len, study.seeds.values()))))}


def _overhead(study: Study, network: Network) -> Parameters:
    accelerator = study.tooling(network.hardware)["accelerator"]
    return {**network._asdict(), "accelerator": accelerator, "overhead": study.config["overhead"]}


def _atlas(study: Study, task: Task) -> Parameters:
    return task._asdict() | {"cells": [[cell.hardware, cell.variant] for cell in study.mapped(task)]}


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


def _at(pattern: str, beside: tuple[str, ...] = ()) -> Read:
    return Read(lambda study, place: study.path(pattern, place), beside)


def _of(cell_of: Callable[[Any], Cell], pattern: str, beside: tuple[str, ...] = ()) -> Read:
    return Read(lambda study, place: study.path(pattern, cell_of(place)), beside)


def _records_of(cell_of: Callable[[Any], Cell], beside: tuple[str, ...]) -> Read:
    return Read(lambda study, place: study.runs(layout.RECORD, cell_of(place)), beside, several=True)


def _first_outcome(study: Study, place: Dataset) -> str:
    """The run that brings a data set: one of Control, if there is one, since nothing else runs before its gate."""
    cells = [cell for cell in study.cells if cell.dataset == place.dataset]
    first = next((cell for cell in cells if cell.variant == "control"), cells[0])
    return study.runs(layout.RECORD, first)[0]


def _gate_of(study: Study, run: Training) -> list[str]:
    control = Control(*run[:3])
    gated = run.variant != control.cell.variant and control.cell in study.seeds
    return [study.path(layout.GATE, control)] if gated else []


def _dump_of(cell_of: Callable[[Any], Cell]) -> dict[str, Read]:
    return {
        "logits": _of(cell_of, layout.LOGITS),
        "index": _of(cell_of, layout.PREDICTIONS),
        "records": _records_of(cell_of, RUN_FILES),
    }


def _other(reads: Mapping[str, Read]) -> dict[str, Read]:
    return {f"other-{option}": read for option, read in reads.items()}


def _same(cell: Cell) -> Cell:
    return cell


def _first(pair: Pair) -> Cell:
    return pair.cells[0]


def _second(pair: Pair) -> Cell:
    return pair.cells[1]


def _control(place: Control) -> Cell:
    return place.cell


def _back(pattern: str, beside: tuple[str, ...]) -> Read:
    return Read(lambda study, pair: study.path(pattern, pair.reversed), beside)


def _remedied(study: Study, cell: Cell) -> list[str]:
    # A cell without a remedy of its own has no dump of them.
    return [study.path(layout.REMEDIED, cell)] if study.remedies(cell) else []


def _single(study: Study, cell: Cell) -> list[str]:
    # A cell that is its own single runs is held against no other dump.
    single = study.single(cell)
    return [study.path(layout.LOGITS, single)] if single != cell else []


def _profiles(study: Study, network: Network) -> list[str]:
    mine = [profile for profile in study.profiles if (profile.model, profile.hardware) == network]
    return [study.path(layout.PROFILE_RECORD, profile) for profile in mine]


def _compared(study: Study, place: Variants) -> list[str]:
    cells = dict.fromkeys(cell for both in study.comparisons(place) for cell in both)
    return [study.path(SINGLE_RUNS, cell) for cell in cells]


def _growth(study: Study, place: Variants) -> Parameters:
    pairs = [[list(cell) for cell in both] for both in study.growing[place]]
    return {**place._asdict(), "references": pairs}


def _recorded(study: Study, place: Variants) -> list[str]:
    cells = dict.fromkeys(cell for both in study.growing[place] for cell in both)
    return [record for cell in cells for record in study.runs(layout.RECORD, cell)]


def _mapped_dumps(study: Study, task: Task) -> list[str]:
    return [study.path(layout.LOGITS, cell) for cell in study.mapped(task)]


def _mapped_runs(study: Study, task: Task) -> list[str]:
    return [path for cell in study.mapped(task) for path in study.runs(layout.RECORD, cell)]


def _training_minutes(study: Study, place: Cell | Training) -> int:
    return study.minutes[Cell(*place[:4])]


DATA = {"data": _at(layout.DATA)}
MEASURED = "results/{study}/metrics/cells/" + layout.CELL + ".csv"
ENSEMBLES = "results/{study}/metrics/ensembles/" + layout.CELL + ".csv"
SINGLE_RUNS = "results/{study}/metrics/runs/" + layout.CELL + ".csv"
TRAINED = DATA | {"records": _records_of(_same, WEIGHTS)}
_CELL = ("grid", "model/dataset/hardware/variant of its grid")
_TOOLINGS = ("grid", "two toolings that train one task under control or algo")
_FRAMEWORKS = ("grid", "two toolings of different engines that train one task under control or algo")

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
        parameters=lambda study, run: _spec(study, run.cell, run.seed),
        reads=DATA,
        writes={"weights": layout.WEIGHTS, "history": layout.HISTORY, "record": layout.RECORD},
        work="toolnoise.training.loop:train",
        wanted=("grid", "model/dataset/hardware/variant of its grid and one of its seeds"),
        tooling=lambda run: run.hardware,
        minutes=_training_minutes,
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
        parameters=lambda study, run: _spec(study, run.cell, run.seed) | {"study": study.name},
        reads={"gate": Read(_gate_of, several=True, optional=True)},
        writes={"weights": layout.WEIGHTS, "history": layout.HISTORY, "record": layout.RECORD},
        work="toolnoise.outside.training:train",
        wanted=("grid", "model/dataset/hardware/variant of a training program, and one of its seeds"),
        tooling=lambda run: run.hardware,
        minutes=_training_minutes,
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
        parameters=lambda study, run: _spec(study, run.cell, run.seed),
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
        parameters=_spec,
        reads=DATA,
        writes={"out": layout.SPEED},
        work="toolnoise.timing.speed_probe:measure",
        wanted=_CELL,
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
        parameters=_spec,
        reads=TRAINED,
        writes={"logits": layout.LOGITS, "index": layout.PREDICTIONS},
        work="toolnoise.dumps.prediction_dump:dump",
        wanted=_CELL,
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
        parameters=_spec,
        reads=TRAINED,
        writes={"logits": layout.LOGITS, "index": layout.PREDICTIONS},
        work="toolnoise.dumps.outcome_dump:dump",
        wanted=_CELL,
        record="index",
        travels="dumps of outcomes",
        programs=True,
    ),
    # What was trained on one framework, predicted on another: the difference of inference alone.
    "predict-elsewhere": Step(
        "exchange_predictions",
        "dump a cell's predictions on a tooling with another framework than the one it was trained on",
        place=Pair,
        places=lambda study: study.exchanged,
        parameters=_exchange,
        reads=DATA | {"records": _records_of(_first, WEIGHTS)},
        writes={"logits": layout.EXCHANGED, "index": layout.EXCHANGED_INDEX},
        work="toolnoise.dumps.prediction_dump:dump",
        wanted=_FRAMEWORKS,
        tooling=lambda way: way.other_hardware,
        record="index",
        travels="dumps of exchanged predictions",
    ),
    "remedy": Step(
        "dump_remedies",
        "dump a cell's predictions under remedies for noise",
        place=Cell,
        places=lambda study: (cell for cell in study.views if study.remedies(cell)),
        parameters=lambda study, cell: _spec(study, cell) | {"remedies": list(study.remedies(cell))},
        reads=TRAINED,
        writes={"logits": layout.REMEDIED, "index": layout.REMEDIED_INDEX},
        work="toolnoise.analyses.remedies.dump:dump",
        wanted=("remedies", "a cell whose block has remedies, or snapshots"),
        tooling=lambda cell: cell.hardware,
        # Hundreds of views of all of a cell's runs: the time of a training, not of a dump.
        minutes=_training_minutes,
        record="index",
        travels="dumps of remedied predictions",
    ),
    "dump-layers": Step(
        "dump_layers",
        "dump how a cell's runs represent some test examples, layer by layer",
        place=Cell,
        places=lambda study: study.layers,
        parameters=lambda study, cell: _spec(study, cell) | {"examples": study.layers[cell]},
        reads=TRAINED,
        writes={"grams": layout.GRAMS, "index": layout.LAYERS_INDEX},
        work="toolnoise.analyses.layers.dump:dump",
        wanted=("layers", "a cell whose block has the key layers"),
        tooling=lambda cell: cell.hardware,
        # Up to a forward pass for every GiB of what the layers of each run give.
        minutes=_training_minutes,
        record="index",
        travels="dumps of layers",
    ),
    "check-control": Step(
        "check_control",
        "compare control runs bit for bit",
        place=Control,
        places=lambda study: (Control(*cell[:3]) for cell in study.controls if not study.is_program(cell)),
        parameters=lambda _, place: {"cell": list(place.cell)},
        reads=_dump_of(_control),
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
        reads={"records": _records_of(_control, RUN_FILES)},
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
        parameters=lambda study, cell: _measured(study, cell) | {"identical": study.config["identical"]},
        reads=DATA | _dump_of(_same),
        writes={
            "out": MEASURED,
            "out-runs": SINGLE_RUNS,
            "out-identical": "results/{study}/metrics/identical/" + layout.CELL + ".csv",
            "out-convergence": "results/{study}/metrics/convergence/" + layout.CELL + ".csv",
            "out-ensembles": ENSEMBLES,
        },
        work="toolnoise.measures.cell:measure",
        wanted=_CELL,
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
        parameters=_measured,
        reads=DATA | _dump_of(_same),
        writes={
            "out": MEASURED,
            "out-runs": SINGLE_RUNS,
            "out-ensembles": ENSEMBLES,
        },
        work="toolnoise.measures.program:measure",
        wanted=_CELL,
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
        parameters=lambda study, cell: _measured(study, cell) | {"outcome": programs.outcome(study.config, cell.model)},
        reads=DATA | _dump_of(_same),
        writes={"out": MEASURED, "out-runs": SINGLE_RUNS},
        work="toolnoise.measures.outcomes:measure",
        wanted=_CELL,
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
        reads=DATA | _dump_of(_same) | {"metrics": _at(MEASURED), "values": _at(SINGLE_RUNS)},
        writes={"out": layout.PAGE_CELL},
        work="toolnoise.pages.cells:show",
        wanted=_CELL,
    ),
    "measure-part-sizes": Step(
        "measure_part_sizes",
        "measure the noise of sub-groups as if they had fewer test examples",
        place=Cell,
        places=lambda study: study.grouped,
        parameters=lambda _, cell: {"cell": list(cell)},
        reads=DATA | {"logits": _at(layout.LOGITS), "index": _at(layout.PREDICTIONS)},
        writes={"out": "results/{study}/metrics/part_sizes/" + layout.CELL + ".csv"},
        work="toolnoise.analyses.rarity.measure:measure",
        wanted=("grid", "a cell whose data set has sub-groups"),
        metrics={"out": ("part_sizes", "toolnoise.analyses.rarity.metric:PART_SIZES")},
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
    "measure-growth": Step(
        "measure_growth",
        "measure how the differences between runs from equal starts grow, step by step",
        place=Variants,
        places=lambda study: study.growing,
        parameters=_growth,
        reads={"records": Read(_recorded, WEIGHTS, several=True)},
        writes={
            "out": "results/{study}/metrics/growth/{model}/{dataset}/{hardware}.csv",
            "out-fits": "results/{study}/metrics/growth_fits/{model}/{dataset}/{hardware}.csv",
        },
        work="toolnoise.analyses.growth.measure:measure",
        wanted=("grid", "a task whose recipe has record_steps, on its first tooling, with cells of equal draws"),
        metrics={
            "out": ("growth", "toolnoise.analyses.growth.metric:GROWTH"),
            "out-fits": ("growth_fits", "toolnoise.analyses.growth.metric:GROWTH_FITS"),
        },
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
        reads=DATA | _dump_of(_first) | _other(_dump_of(_second)),
        writes={"out": "results/{study}/metrics/pairs/" + layout.PAIR + ".csv"},
        work="toolnoise.measures.pair:measure",
        wanted=_TOOLINGS,
        metrics={"out": ("cross_tooling", "toolnoise.metrics.cross_tooling:CROSS_TOOLING")},
    ),
    "measure-frameworks": Step(
        "measure_frameworks",
        "measure what separates two frameworks, in training and in inference alone",
        place=Pair,
        places=lambda study: study.frameworks,
        parameters=lambda _, pair: {"pair": list(pair)},
        reads={
            "logits": _of(_first, layout.LOGITS, INDEX),
            "exchanged": _at(layout.EXCHANGED, INDEX),
            "records": _records_of(_first, RUN_FILES),
            "other-logits": _of(_second, layout.LOGITS, INDEX),
            "other-exchanged": _back(layout.EXCHANGED, INDEX),
            "other-records": _records_of(_second, RUN_FILES),
        },
        writes={
            "out": "results/{study}/metrics/frameworks/" + layout.PAIR + ".csv",
            "out-partings": "results/{study}/metrics/partings/" + layout.PAIR + ".csv",
        },
        work="toolnoise.analyses.frameworks.measure:measure",
        wanted=_FRAMEWORKS,
        metrics={
            "out": ("frameworks", "toolnoise.metrics.frameworks:FRAMEWORKS"),
            "out-partings": ("partings", "toolnoise.metrics.frameworks:PARTINGS"),
        },
    ),
    "measure-atlas": Step(
        "measure_atlas",
        "measure what separates many toolings, and which part of a tooling explains it",
        place=Task,
        places=lambda study: study.atlases,
        parameters=_atlas,
        reads={
            "logits": Read(_mapped_dumps, INDEX, several=True),
            "records": Read(_mapped_runs, RUN_FILES, several=True),
        },
        writes={
            "out": "results/{study}/metrics/atlas/{model}/{dataset}.csv",
            "out-factors": "results/{study}/metrics/atlas_factors/{model}/{dataset}.csv",
            "out-toolings": "results/{study}/metrics/atlas_toolings/{model}/{dataset}.csv",
        },
        work="toolnoise.analyses.atlas.measure:measure",
        wanted=("grid", "a task in a block with atlas"),
        metrics={
            "out": ("atlas", "toolnoise.analyses.atlas.metric:ATLAS"),
            "out-factors": ("atlas_factors", "toolnoise.analyses.atlas.metric:ATLAS_FACTORS"),
            "out-toolings": ("atlas_toolings", "toolnoise.analyses.atlas.metric:ATLAS_TOOLINGS"),
        },
    ),
    "measure-remedies": Step(
        "measure_remedies",
        "measure what remedies leave of a cell's noise",
        place=Cell,
        places=lambda study: study.views,
        parameters=_measured,
        reads=DATA
        | {"logits": _at(layout.LOGITS), "index": _at(layout.PREDICTIONS)}
        | {
            "remedied": Read(_remedied, INDEX, several=True, optional=True),
            "single": Read(_single, INDEX, several=True, optional=True),
        },
        writes={"out": "results/{study}/metrics/remedies/" + layout.CELL + ".csv"},
        work="toolnoise.analyses.remedies.measure:measure",
        wanted=("remedies", "a cell whose block has that key"),
        metrics={"out": ("remedies", "toolnoise.analyses.remedies.metric:REMEDIES")},
    ),
    "measure-layers": Step(
        "measure_layers",
        "measure how similar corresponding layers of a cell's runs are",
        place=Cell,
        places=lambda study: study.layers,
        parameters=lambda _, cell: {"cell": list(cell)},
        reads={"grams": _at(layout.GRAMS), "index": _at(layout.LAYERS_INDEX)},
        writes={"out": "results/{study}/metrics/layers/" + layout.CELL + ".csv"},
        work="toolnoise.analyses.layers.measure:measure",
        wanted=("layers", "a cell whose block has the key layers"),
        metrics={"out": ("layers", "toolnoise.analyses.layers.metric:LAYERS")},
    ),
    # What determinism costs: training steps timed kernel by kernel, in either mode, each time in a process of its own.
    "profile": Step(
        "profile_step",
        "time a training step kernel by kernel",
        place=Profile,
        places=lambda study: study.profiles,
        parameters=lambda study, profile: {"spec": study.profile_spec(profile)},
        reads={},
        writes={"out": layout.PROFILE + ".csv", "record": layout.PROFILE_RECORD},
        work="toolnoise.analyses.overhead.profile:profile",
        wanted=("overhead", "model/hardware/mode/repeat of its overhead"),
        tooling=lambda profile: profile.hardware,
        record="record",
        travels="profiles",
        unrepeatable="what it made are times",
    ),
    "measure-overhead": Step(
        "measure_overhead",
        "measure what determinism costs",
        place=Network,
        places=lambda study: study.networks,
        parameters=_overhead,
        reads={"records": Read(_profiles, KERNEL_TIMES, several=True)},
        writes={
            "out-overhead": "results/{study}/metrics/overhead/{model}/{hardware}.csv",
            "out-kernels": "results/{study}/metrics/kernels/{model}/{hardware}.csv",
        },
        work="toolnoise.analyses.overhead.measure:measure",
        wanted=("overhead", "a model and a tooling of its overhead"),
        metrics={
            "out-overhead": ("overhead", "toolnoise.analyses.overhead.metric:OVERHEAD"),
            "out-kernels": ("kernels", "toolnoise.analyses.overhead.metric:KERNELS"),
        },
    ),
}

# The columns of each kind of metric file of a study as a whole, by the name of the kind.
COLUMNS = {kind: columns for step in ROWS.values() for kind, columns in step.metrics.values()}
