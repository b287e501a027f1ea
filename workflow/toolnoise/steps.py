"""The job graph, stated once: every kind of job as a row.

A row says where its jobs are in a study, what they read and write, which parameters follow from the study, and which
function does the work. The rules of dumps and measures, the verbs of the command line, what the audit expects, what
`status` and `estimate` count and the steps of a crate all follow from this table. A new measure is a row here and a
module that computes.

The outcome of a job follows from its parameters (plain JSON), the files it reads and the code of its modules. `perform`
is given nothing else, so that a statement that records the three can be checked against the study, and a job can be
performed again from its statement alone. Light: the Snakefile reads this module, and work is imported when it runs.
"""

import importlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base import code_digest
from toolnoise.base.errors import BadInput
from toolnoise.base.files import canonical_sha256
from toolnoise.datasets import sources
from toolnoise.datasets.readers import READERS
from toolnoise.study import catalogue, layout
from toolnoise.study.catalogue import KINDS, Figure
from toolnoise.study.cells import (
    Cell,
    Control,
    Dataset,
    Metric,
    Network,
    Pair,
    Place,
    Profile,
    Shown,
    Training,
    Whole,
)
from toolnoise.study.grid import Study

Parameters = dict[str, Any]
# The files of a job by the options that name them. `read` of a figure has lists: a kind and its files.
Files = dict[str, Any]
Names = tuple[tuple[str, str], ...]  # names of files with their roles

A_DAY = 24 * 60  # minutes
# Files that lie beside the one that an option names, and are read too: whole names, or suffixes in place of its own.
RUN_FILES, WEIGHTS, INDEX, KERNEL_TIMES = ("weights.npz", "history.csv"), ("weights.npz",), (".json",), (".csv",)


class Read(NamedTuple):
    """What an option names: the paths at a place, what lies beside each, whether several or none may be named."""

    at: Callable[[Study, Any], Any]
    beside: tuple[str, ...] = ()
    several: bool = False
    optional: bool = False


class Step(NamedTuple):
    """One kind of job. `place` has the names in its paths; `places` are all there are in a study.

    `work` is the function, as module:function; it gets the parameters, the files and what is `aside`, which changes no
    outcome. `tooling` names the tooling that a job computes on. `metrics` are the outputs that are put together for the
    whole study, each as a kind of metric file with its columns. `implied` is what this table adds to the parameters,
    `check` refuses files that do not fit them, `further` are modules that they name. `wanted` says why a place may not
    be there: the key of the study and what it would need. `record` is the output that repeats the spec and what was
    observed; `travels` is what such files are called when they go from one cluster to another; `unrepeatable` says why
    they cannot be made again.
    """

    rule: str
    says: str
    place: type[tuple]
    places: Callable[[Study], Iterable[Place]]
    parameters: Callable[[Study, Any], Parameters]
    reads: Mapping[str, Read]
    writes: Mapping[str, str]
    work: str
    wanted: tuple[str, str]
    tooling: Callable[[Any], str] | None = None
    minutes: Callable[[Study, Any], int] | None = None
    metrics: Mapping[str, tuple[str, str]] = {}
    implied: Callable[[Parameters], Parameters] = lambda _: {}
    check: Callable[[Parameters, Files], None] = lambda _parameters, _files: None
    further: Callable[[Parameters], tuple[str, ...]] = lambda _: ()
    files: Callable[[Parameters], tuple[str, ...]] = lambda _: ()
    aside: tuple[str, ...] = ()
    needed: bool = True
    record: str = ""
    travels: str = ""
    unrepeatable: str = ""

    @property
    def module(self) -> str:
        """The module that does the work."""
        return self.work.partition(":")[0]

    @property
    def several(self) -> set[str]:
        """The options that may name several files."""
        return {option for option, read in self.reads.items() if read.several} | {
            option for option, pattern in self.writes.items() if "{suffix}" in pattern
        }

    def modules(self, parameters: Parameters) -> tuple[str, ...]:
        """The modules that a job is made by: an engine and a model's builder, too, where it has a spec."""
        named = code_digest.named_by(parameters["spec"]) if "spec" in parameters else ()
        return (self.module, *named, *self.further(parameters))

    def code_digest(self, parameters: Parameters) -> str:
        """The digest of all the code and the files of the repository that a job is made by."""
        return code_digest.digest(*self.modules(parameters), files=self.files(parameters))

    def given(self, study: Study, place: Place) -> Files:
        """What the options that name inputs say."""
        return {option: read.at(study, place) for option, read in self.reads.items()}

    def wildcards(self) -> tuple[str, ...]:
        """The names in its paths, in their order."""
        first = next(iter(self.writes.values()))
        return tuple(name for name in re.findall(r"{(\w+)}", first) if name in self.place._fields)

    def log(self, verb: str) -> str:
        """The pattern of its logs."""
        names = self.wildcards() or self.place._fields
        return "/".join(["logs/{study}", verb, *(f"{{{name}}}" for name in names)]) + ".log"


# Parameters


def _spec(study: Study, cell: Cell, seed: int | None = None) -> Parameters:
    return {"spec": study.spec(cell, study.seeds[cell][0] if seed is None else seed)}


def _exchange(study: Study, way: Pair) -> Parameters:
    # The spec is that of what computes: runs of the same cell there.
    trained, elsewhere = way.cells
    return _spec(study, elsewhere, study.seeds[trained][0]) | {"trained_on": trained.hardware}


def _measured(study: Study, cell: Cell) -> Parameters:
    return {"cell": list(cell), "study_seed": study.config["seed"]}


def _overhead(study: Study, network: Network) -> Parameters:
    accelerator = study.tooling(network.hardware)["accelerator"]
    return {**network._asdict(), "accelerator": accelerator, "overhead": study.config["overhead"]}


def _data(study: Study, place: Dataset) -> Parameters:
    return {"dataset": place.dataset, "entry": study.config["datasets"][place.dataset]}


def _figure(study: Study, place: Shown) -> Parameters:
    figure = study.figure(place.figure)
    parameters = {
        "figure": figure.name,
        "notebook": figure.notebook,
        "hardware": list(figure.hardware),
        "tasks": [list(task) for task in figure.tasks],
        "emulated": list(study.emulated()),
    }
    if KINDS[figure.notebook].batch_sizes:
        sizes = {model: study.batch_size(model, dataset) for model, dataset in figure.tasks}
        parameters["batch_sizes"] = dict(sorted(sizes.items()))
    return parameters


# Places


def _with_sources(study: Study) -> Iterator[Dataset]:
    return (Dataset(name) for name in study.datasets if sources.sources(study.config["datasets"][name]))


def _runs(study: Study) -> Iterator[Training]:
    return (Training(*cell, seed) for cell, seeds in study.seeds.items() for seed in seeds)


# What options name


def _at(pattern: str, beside: tuple[str, ...] = ()) -> Read:
    return Read(lambda study, place: study.path(pattern, place), beside)


def _of(cell_of: Callable[[Any], Cell], pattern: str, beside: tuple[str, ...] = ()) -> Read:
    return Read(lambda study, place: study.path(pattern, cell_of(place)), beside)


def _records_of(cell_of: Callable[[Any], Cell], beside: tuple[str, ...]) -> Read:
    return Read(lambda study, place: study.runs(layout.RECORD, cell_of(place)), beside, several=True)


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


def _shown(study: Study, place: Shown) -> list[list[str]]:
    figure = study.figure(place.figure)
    kind, found = KINDS[figure.notebook], metric_files(study, figure)
    also = [name for name in kind.also if name in collected(study)]
    return [[name, *found[name]] for name in (*kind.reads, *also)]


def _everything_shown(study: Study, _: Whole) -> list[str]:
    figures = (Shown(figure.name) for figure in study.figures)
    return [*collected(study).values(), *(name for place in figures for name, _ in outputs_at("render", study, place))]


def _training_minutes(study: Study, place: Cell | Training) -> int:
    return study.minutes[Cell(*place[:4])]


def _check_rendered(parameters: Parameters, files: Files) -> None:
    """A notebook writes each of its formats under one name, and reads the kinds of metric files that it needs."""
    kind, out = KINDS[parameters["notebook"]], files["out"]
    if {f"{out[0].rpartition('.')[0]}.{suffix}" for suffix in kind.formats} != set(out):
        wanted = f"one path with each of {', '.join(kind.formats)}"
        raise BadInput("command line", "--out", f"found {', '.join(out)}", wanted)
    found = [name for name, *_ in files["read"]]
    if not set(kind.reads) <= set(found) <= {*kind.reads, *kind.also}:
        wanted = f"it reads {', '.join(kind.reads)}" + (f", and may read {', '.join(kind.also)}" if kind.also else "")
        raise BadInput("command line", "--read", f"{parameters['figure']} given {', '.join(found)}", wanted)


DATA = {"data": _at(layout.DATA)}
TRAINED = DATA | {"records": _records_of(_same, WEIGHTS)}
_CELL = ("grid", "model/dataset/hardware/variant of its grid")
_TOOLINGS = ("grid", "two toolings that train one task under control or algo")
_FRAMEWORKS = ("grid", "two toolings of different engines that train one task under control or algo")

# The one step that no verb performs: Snakemake writes study.json before the first job.
CONFIGURE = "configure"
# By the verb of the command line, in the order of the data.
STEPS = {
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
        places=lambda study: map(Dataset, study.datasets),
        parameters=_data,
        reads={},
        writes={"out": layout.DATA},
        work="toolnoise.datasets.preparation:prepare",
        wanted=("datasets", "a data set of its grid"),
        # ImageNet's 1.3 million pictures.
        minutes=lambda _study, _place: A_DAY,
        further=lambda parameters: (READERS[parameters["entry"]["reader"]].partition(":")[0],),
        aside=("threads",),
    ),
    "train": Step(
        "train_run",
        "train one run",
        place=Training,
        places=_runs,
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
    ),
    "measure-speed": Step(
        "measure_speed",
        "time some training steps of a cell; only estimates depend on them",
        place=Cell,
        places=lambda study: study.cells,
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
        places=lambda study: study.cells,
        parameters=_spec,
        reads=TRAINED,
        writes={"logits": layout.LOGITS, "index": layout.PREDICTIONS},
        work="toolnoise.dumps.prediction_dump:dump",
        wanted=_CELL,
        tooling=lambda cell: cell.hardware,
        record="index",
        travels="dumps of predictions",
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
        work="toolnoise.dumps.remedy_dump:dump",
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
        work="toolnoise.dumps.layer_dump:dump",
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
        places=lambda study: (Control(*cell[:3]) for cell in study.controls),
        parameters=lambda _, place: {"cell": list(place.cell)},
        reads=_dump_of(_control),
        writes={"out": layout.GATE},
        work="toolnoise.measures.control_gate:check",
        wanted=("grid", "model/dataset/hardware with the variant control"),
    ),
    "measure": Step(
        "measure_cell",
        "measure a cell",
        place=Cell,
        places=lambda study: study.cells,
        parameters=lambda study, cell: _measured(study, cell) | {"identical": study.config["identical"]},
        reads=DATA | _dump_of(_same),
        writes={
            "out": "results/{study}/metrics/cells/" + layout.CELL + ".csv",
            "out-identical": "results/{study}/metrics/identical/" + layout.CELL + ".csv",
            "out-ensembles": "results/{study}/metrics/ensembles/" + layout.CELL + ".csv",
        },
        work="toolnoise.measures.cell:measure",
        wanted=_CELL,
        metrics={
            "out": ("stability", "toolnoise.metrics.stability:STABILITY"),
            "out-identical": ("identical", "toolnoise.metrics.identical:IDENTICAL"),
            "out-ensembles": ("ensembles", "toolnoise.metrics.ensembles:ENSEMBLES"),
        },
    ),
    "count": Step(
        "count_data",
        "count the examples of a data set",
        place=Dataset,
        places=lambda study: map(Dataset, study.datasets),
        parameters=lambda _, place: {"dataset": place.dataset},
        reads=DATA,
        writes={"out": "results/{study}/metrics/data/{dataset}.csv"},
        work="toolnoise.datasets.counting:count",
        wanted=("datasets", "a data set of its grid"),
        metrics={"out": ("counts", "toolnoise.datasets.counting:COUNTS")},
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
        work="toolnoise.measures.frameworks:measure",
        wanted=_FRAMEWORKS,
        metrics={
            "out": ("frameworks", "toolnoise.metrics.frameworks:FRAMEWORKS"),
            "out-partings": ("partings", "toolnoise.metrics.frameworks:PARTINGS"),
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
        work="toolnoise.measures.remedies:measure",
        wanted=("remedies", "a cell whose block has that key"),
        metrics={"out": ("remedies", "toolnoise.metrics.remedies:REMEDIES")},
    ),
    "measure-layers": Step(
        "measure_layers",
        "measure how similar corresponding layers of a cell's runs are",
        place=Cell,
        places=lambda study: study.layers,
        parameters=lambda _, cell: {"cell": list(cell)},
        reads={"grams": _at(layout.GRAMS), "index": _at(layout.LAYERS_INDEX)},
        writes={"out": "results/{study}/metrics/layers/" + layout.CELL + ".csv"},
        work="toolnoise.measures.layers:measure",
        wanted=("layers", "a cell whose block has the key layers"),
        metrics={"out": ("layers", "toolnoise.metrics.layers:LAYERS")},
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
        work="toolnoise.timing.profile:profile",
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
        work="toolnoise.measures.overhead:measure",
        wanted=("overhead", "a model and a tooling of its overhead"),
        metrics={
            "out-overhead": ("overhead", "toolnoise.metrics.overhead:OVERHEAD"),
            "out-kernels": ("kernels", "toolnoise.metrics.overhead:KERNELS"),
        },
    ),
    "collect": Step(
        "collect_{kind}",
        "put metric files together",
        place=Metric,
        places=lambda study: map(Metric, collected(study)),
        parameters=lambda _, place: {"kind": place.kind},
        reads={"metrics": Read(lambda study, place: metric_files(study)[place.kind], several=True)},
        writes={"out": layout.COLLECTED},
        work="toolnoise.measures.collect:collect",
        wanted=("grid", "a kind of metric file that it measures"),
        implied=lambda parameters: {"columns": COLUMNS[parameters["kind"]]},
        further=lambda parameters: (COLUMNS[parameters["kind"]].partition(":")[0],),
    ),
    "render": Step(
        "render_{notebook}",
        "execute a notebook",
        place=Shown,
        places=lambda study: (Shown(figure.name) for figure in study.figures),
        parameters=_figure,
        reads={"read": Read(_shown, several=True)},
        writes={"out": layout.FIGURE + ".{suffix}", "executed": layout.NOTEBOOK},
        work="toolnoise.figures.render:render",
        check=_check_rendered,
        wanted=("figures", "a figure or table that its grid can feed"),
        further=lambda parameters: code_digest.imports_of(catalogue.notebook_of(parameters["notebook"])),
        files=lambda parameters: (
            catalogue.notebook_of(parameters["notebook"]),
            *KINDS[parameters["notebook"]].files,
        ),
    ),
    "report": Step(
        "write_report",
        "write a study's page",
        place=Whole,
        places=lambda _: (Whole(),),
        parameters=lambda study, _: {"study": study.name, "figure_kinds": list(study.figure_kinds)},
        reads={"shows": Read(_everything_shown, several=True)},
        writes={"out": layout.REPORT},
        work="toolnoise.figures.report:write",
        wanted=("study", "its page"),
        files=lambda _: ("workflow/report/workflow.rst", "workflow/report/metrics.rst"),
        unrepeatable="the page says when Snakemake wrote it",
    ),
}

# The columns of each kind of metric file of a study as a whole, by the name of the kind.
COLUMNS = {kind: columns for step in STEPS.values() for kind, columns in step.metrics.values()}


class Job(NamedTuple):
    """One job of a study: its verb, where it is, its parameters, what it reads and writes by name and role."""

    verb: str
    place: Place
    parameters: Parameters
    inputs: Names
    outputs: Names

    @property
    def needed(self) -> bool:
        """Whether a whole study has it; if not, it is there if somebody asked for it."""
        return STEPS[self.verb].needed


def jobs(study: Study) -> Iterator[Job]:
    """Every job of a study, step by step."""
    for verb, step in STEPS.items():
        for place in step.places(study):
            parameters = stated(step.parameters(study, place))
            read = inputs(step, step.given(study, place))
            yield Job(verb, place, parameters, tuple(read), outputs(verb, parameters, study.name))


def asked(verb: str, study: Study, file: str | Path, names: Mapping[str, Any]) -> Place:
    """The place of a job that a command line names; one that the study does not have is refused in one line."""
    step = STEPS[verb]
    place = step.place(*(names[name] for name in step.place._fields))
    if place not in set(step.places(study)):
        cell = Cell(*place[:4]) if isinstance(place, Cell | Training) else None
        if cell and cell not in study.seeds:
            raise BadInput(
                file, "grid", f"no cell {'/'.join(cell)}", "allowed: model/dataset/hardware/variant of its grid"
            )
        if isinstance(place, Training):
            seeds = ", ".join(map(str, study.seeds[cell]))
            raise BadInput(file, "seeds", f"no seed {place.seed} of {'/'.join(cell)}", f"allowed: {seeds}")
        key, wanted = step.wanted
        known = [one[0] for one in step.places(study)] if len(place) == 1 else []
        allowed = f"{wanted}: {', '.join(known) or 'it has none'}" if len(place) == 1 else wanted
        raise BadInput(file, key, f"no {verb} of {'/'.join(map(str, place))}", f"allowed: {allowed}")
    return place


def planned(parameters: Parameters) -> str:
    """The digest of what a job is planned with: the rule has it, and the verb checks it."""
    return canonical_sha256(parameters)


def stated(parameters: Parameters) -> Parameters:
    """Parameters as a statement has them: beside a spec, the keys of all draws that follow from it."""
    if "spec" not in parameters:
        return parameters
    from toolnoise import streams

    spec = parameters["spec"]
    return parameters | {"keys": streams.keys(spec["study_seed"], spec["variant"]["varying"], spec["seed"])}


def perform(verb: str, parameters: Parameters, files: Files) -> dict[str, Any] | None:
    """Do the work of a job; return what was observed of the machine, if a framework took part.

    `files` are the inputs, the outputs and what is aside, by option.
    """
    module, _, function = STEPS[verb].work.partition(":")
    plain = {name: value for name, value in parameters.items() if name != "keys"} | STEPS[verb].implied(parameters)
    named = {option.replace("-", "_"): paths for option, paths in files.items()}
    return getattr(importlib.import_module(module), function)(**plain, **named)


# Files


def inputs(step: Step, given: Files) -> Iterator[tuple[str, str]]:
    """Every file that a job reads, with its role: the option that names it, or `beside` that option."""
    for option, read in step.reads.items():
        value = given[option]
        if option == "read":
            yield from ((path, f"read {kind}") for kind, *paths in value for path in paths)
            continue
        for path in value if isinstance(value, list) else [value]:
            yield path, option
            yield from ((other, f"beside {option}") for other in _beside(path, read.beside))


def followed(step: Step, given: Files) -> dict[str, Any]:
    """The inputs as Snakemake follows them: the index beside a dump is one; a run's files go with its record."""
    found = {}
    for option, read in step.reads.items():
        name, value = option.replace("-", "_"), given[option]
        found[name] = value
        suffixes = tuple(suffix for suffix in read.beside if suffix.startswith("."))
        if suffixes:
            paths = value if isinstance(value, list) else [value]
            found[f"{name}_beside"] = [other for path in paths for other in _beside(path, suffixes)]
    return found


def _beside(path: str, beside: tuple[str, ...]) -> Iterator[str]:
    for other in beside:
        yield str(Path(path).with_suffix(other) if other.startswith(".") else Path(path).with_name(other))


def outputs(verb: str, parameters: Parameters, study: str) -> Names:
    """What a job with these parameters writes, in its order, with its roles.

    Parameters may come from anywhere: what they lack raises what Python raises.
    """
    names = names_in(parameters) | {"study": study}
    return tuple(_written(STEPS[verb], parameters, names))


def outputs_at(verb: str, study: Study, place: Place) -> Names:
    """What the job at a place of a study writes."""
    return outputs(verb, STEPS[verb].parameters(study, place), study.name)


def _written(step: Step, parameters: Parameters, names: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for option, pattern in step.writes.items():
        suffixes = KINDS[parameters["notebook"]].formats if "{suffix}" in pattern else ("",)
        yield from ((pattern.format(**names, suffix=suffix), option) for suffix in suffixes)


def names_in(parameters: Parameters) -> dict[str, Any]:
    """The names in a path that parameters give."""
    if "cell" in parameters:
        return Cell(*parameters["cell"])._asdict()
    if "pair" in parameters:
        return Pair(*parameters["pair"])._asdict()
    if "kind" in parameters:
        return {"file": layout.FILE_OF.get(parameters["kind"], parameters["kind"])}
    if "spec" not in parameters:
        return {name: value for name, value in parameters.items() if name != "study"}
    spec = parameters["spec"]
    variant = spec["variant"]["name"]
    parts = {part: spec[part]["name"] for part in ("model", "dataset", "hardware") if part in spec}
    if "trained_on" in parameters:
        parts |= {"hardware": parameters["trained_on"], "other_hardware": spec["hardware"]["name"]}
    return parts | {"variant": variant, "seed": spec["seed"], "mode": variant, "repeat": spec["seed"]}


def result(verb: str, study: Study, place: Place) -> str:
    """The last file that the job at a place writes: when it is there, all are."""
    if isinstance(place, Metric | Shown):
        return outputs_at(verb, study, place)[-1][0]
    return study.path(list(STEPS[verb].writes.values())[-1], place)


def rule(verb: str, parameters: Parameters) -> str:
    """The name of the rule that a job with these parameters is of."""
    return STEPS[verb].rule.format(kind=parameters.get("kind"), notebook=parameters.get("notebook"))


# The study as a whole


def metric_files(study: Study, figure: Figure | None = None) -> dict[str, list[str]]:
    """The metric files of every part of the study, or of what a figure shows, by kind."""
    found: dict[str, list[str]] = {}
    for step in STEPS.values():
        for option, (kind, _) in step.metrics.items():
            places = [place for place in step.places(study) if figure is None or figure.shows(place)]
            found[kind] = [study.path(step.writes[option], place) for place in places]
    return found


def collected(study: Study) -> dict[str, str]:
    """The metric files of the study as a whole, by kind."""
    there = (kind for kind, files in metric_files(study).items() if files)
    return {kind: study.path(layout.COLLECTED, file=layout.FILE_OF.get(kind, kind)) for kind in there}


def gates(study: Study, figure: Figure | None = None) -> list[str]:
    """The verdicts on the control cells of the study, or on those that a figure shows."""
    return [study.path(layout.GATE, cell) for cell in study.controls if figure is None or figure.shows(cell)]
