"""What the audit, `diff`, `rebuild` and `import` expect of a study's jobs: parameters, files and roles, by verb.

The rules and the verbs do not need it: a rule has a job's files, and the job's function says what they are.
"""

from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base.job import Files
from toolnoise.base.spec import Spec
from toolnoise.steps import parameters as of
from toolnoise.study import figure_files, job_code, layout, places
from toolnoise.study.cells import (
    Cell,
    Control,
    Dataset,
    MetricFile,
    Network,
    Pair,
    Place,
    Profile,
    Shown,
    Training,
    Variants,
    Whole,
)
from toolnoise.study.expected import EXPECTED, METRICS
from toolnoise.study.figure_kinds import KINDS
from toolnoise.study.study import Study

Parameters = dict[str, Any]
Names = tuple[tuple[str, str], ...]  # names of files with their roles
# What Snakemake does before the first job, and the root: all jobs that a whole study needs come before it.
CONFIGURE, PAGE = "configure", "write-page"


class Read(NamedTuple):
    """What an option names: the paths at a place, what lies beside each, whether several or none may be named."""

    at: Callable[[Study, Any], Any]
    beside: tuple[str, ...] = ()
    several: bool = False
    optional: bool = False


class Write(NamedTuple):
    """What an option that names outputs says: their pattern, and whether they contain times."""

    pattern: str
    timed: bool = False


class JobRecord(NamedTuple):
    """What a job repeats of its spec, and what of it goes to other clusters."""

    option: str = ""  # the output with the spec and with what was observed of the machine
    travels: str = ""  # what to call its files, if they travel
    stated: bool = False  # its statement travels, without its files
    drawn: bool = False  # its draws were made here, so that those of other runs must agree with them


class Step(NamedTuple):
    """One kind of job."""

    place: type[tuple]  # whose fields are the names in the job's paths
    all: Callable[[Study], Iterable[Place]]
    parameters: Callable[[Study, Any], Parameters]  # those at a place, as JSON
    reads: dict[str, Read]  # by the option that names these inputs
    writes: dict[str, Write]  # by the option that names these outputs, in their order
    tooling: bool = False  # whether it computes on the tooling of its spec
    aside: tuple[str, ...] = ()  # options that change no outcome
    record: JobRecord = JobRecord()
    outside: bool = False  # whether its chain may end with it
    packages: bool = False  # whether a file of an installed package may be among what it comes from
    unrepeatable: str = ""  # why its outputs cannot be made again

    @property
    def several(self) -> set[str]:
        """The options that may name several files."""
        return {option for option, read in self.reads.items() if read.several} | {
            option for option, write in self.writes.items() if "{suffix}" in write.pattern
        }

    def place_of(self, parameters: Parameters) -> Place:
        """The place of the job with these parameters; what they lack raises what Python raises."""
        names = _names_stated(parameters)
        return self.place(*(names[name] for name in self.place._fields))


def _names_stated(parameters: Parameters) -> dict[str, Any]:
    """The names of places that parameters state: those of their spec, cell or pair, or their own."""
    if "trained_on" in parameters:
        elsewhere = Cell.of(Spec.read(parameters["spec"]))
        way = Pair(*elsewhere.task, parameters["trained_on"], elsewhere.hardware, elsewhere.variant)
        return way._asdict()
    if "spec" in parameters:
        spec = Spec.read(parameters["spec"])
        variant, seed = spec.variant.name, spec.seed
        named = {"model": spec.model.name, "hardware": spec.hardware.name, "variant": variant, "seed": seed}
        # A profile has no data set; its variant is its mode, its seed the number of the repetition.
        return named | ({"dataset": spec.dataset.name} if spec.dataset else {"mode": variant, "repeat": seed})
    if "cell" in parameters:
        return Cell(*parameters["cell"])._asdict()
    return Pair(*parameters["pair"])._asdict() if "pair" in parameters else parameters


def _same(place: Any) -> Any:
    return place


def _first(pair: Pair) -> Cell:
    return pair.cells[0]


def _second(pair: Pair) -> Cell:
    return pair.cells[1]


def _control(place: Control) -> Cell:
    return place.cell


def _at(pattern: str, beside: tuple[str, ...] = (), at: Callable[[Any], Any] = _same) -> Read:
    """The path of a place, or of another that follows from it."""
    return Read(lambda study, place: study.path(pattern, at(place)), beside)


def _records(beside: tuple[str, ...], at: Callable[[Any], Cell] = _same) -> Read:
    """The records of all runs of a cell, or of one that follows from a place."""
    return Read(lambda study, place: study.runs(layout.RECORD, at(place)), beside, several=True)


def _dump(at: Callable[[Any], Cell] = _same, before: str = "") -> dict[str, Read]:
    """The dump of a cell, or of one that follows from a place, and the records of its runs."""
    return {
        f"{before}logits": _at(layout.LOGITS, at=at),
        f"{before}index": _at(layout.PREDICTIONS, at=at),
        f"{before}records": _records(RUN_FILES, at),
    }


def _metric(kind: str, *, timed: bool = False) -> Write:
    return Write(METRICS[kind].pattern, timed)


def _judged(kind: str) -> Read:
    def collected(study: Study, _: Whole) -> list[str]:
        return [name for found, name in figure_files.collected(study).items() if found == kind]

    return Read(collected, several=True, optional=True)


def _collected(study: Study, place: MetricFile) -> list[str]:
    return figure_files.metric_files(study)[place.kind]


def _metric_files(study: Study) -> Iterator[MetricFile]:
    return map(MetricFile, figure_files.collected(study))


def _shown(study: Study, place: Shown) -> list[list[str]]:
    return [[kind, *names] for kind, names in figure_files.shown(study, study.figure(place.figure)).items()]


def _everything_shown(study: Study, _: Whole) -> list[str]:
    """All metric files of the whole study, and all its figures and tables."""
    figures = [name for one in study.figures for name in figure_files.files_of(study, one)]
    return [*figure_files.summaries(study), *figures]


def _on_the_page(study: Study, place: Whole) -> list[str]:
    return [*_everything_shown(study, place), *(study.path(layout.PAGE_CELL, cell) for cell in study.cells)]


# Files that lie beside the one that an option names, and are read too: whole names, or suffixes in place of its own.
RUN_FILES, INDEX = ("weights.npz", "history.csv"), (".json",)
_DATA = {"data": _at(layout.DATA)}
_TRAINED = _DATA | {"records": _records(("weights.npz",))}
_RUN = {"weights": Write(layout.WEIGHTS), "history": Write(layout.HISTORY), "record": Write(layout.RECORD)}
_LOGITS = {"logits": Write(layout.LOGITS), "index": Write(layout.PREDICTIONS)}
_SCORES = {"out": _metric("stability"), "out-runs": _metric("runs"), "out-ensembles": _metric("ensembles")}
_STUDY = {"study": _at(layout.STUDY)}

STEPS = {
    CONFIGURE: Step(
        Whole,
        places.whole,
        of.nothing,
        {},
        {"out": Write(layout.STUDY)},
        outside=True,
        unrepeatable="Snakemake writes the study from its configuration and its command line before the first job",
    ),
    "fetch": Step(
        Dataset,
        places.from_files,
        of.data,
        {},
        {"out": Write(layout.SOURCES)},
        outside=True,
        unrepeatable="a download; what was downloaded is verified when data is prepared again",
    ),
    "prepare": Step(
        Dataset,
        places.prepared,
        of.data,
        {},
        {"out": Write(layout.DATA)},
        aside=("threads",),
        record=JobRecord(stated=True),
        outside=True,
        packages=True,
    ),
    "check-model": Step(
        Variants,
        places.own_models,
        of.common_spec,
        _DATA,
        {"out": Write(layout.CHECKED)},
        tooling=True,
        record=JobRecord("out"),
    ),
    "train": Step(
        Training,
        places.trained,
        of.run_spec,
        _DATA,
        _RUN,
        tooling=True,
        aside=("checkpoint",),
        record=JobRecord("record", "runs", drawn=True),
    ),
    "predict": Step(
        Cell,
        places.built,
        of.spec,
        _TRAINED,
        _LOGITS,
        tooling=True,
        record=JobRecord("index", "dumps of predictions"),
    ),
    "check-control": Step(Control, places.controls, of.control, _dump(_control), {"out": Write(layout.GATE)}),
    "measure": Step(
        Cell,
        places.built,
        of.identical,
        _DATA | _dump(),
        {
            "out": _metric("stability"),
            "out-runs": _metric("runs"),
            "out-identical": _metric("identical", timed=True),
            "out-convergence": _metric("convergence", timed=True),
            "out-ensembles": _metric("ensembles"),
        },
    ),
    "show-cell": Step(
        Cell,
        attrgetter("cells"),
        of.page_cell,
        _DATA | _dump() | {"metrics": _at(METRICS["stability"].pattern), "values": _at(METRICS["runs"].pattern)},
        {"out": Write(layout.PAGE_CELL, timed=True)},
    ),
    "measure-ratios": Step(
        Variants,
        attrgetter("compared"),
        of.names,
        {"runs": Read(of.compared_runs, several=True)},
        {"out": _metric("ratios")},
    ),
    "count": Step(Dataset, places.prepared, of.names, _DATA, {"out": _metric("counts")}),
    "name-classes": Step(Dataset, places.with_named_classes, of.names, _DATA, {"out": _metric("labels")}),
    "measure-speed": Step(
        Cell,
        places.built,
        of.spec,
        _DATA,
        {"out": Write(layout.SPEED, timed=True)},
        tooling=True,
        record=JobRecord("out", "times of steps"),
        unrepeatable="what it made are times",
    ),
    "measure-pair": Step(
        Pair,
        attrgetter("pairs"),
        of.pair,
        _DATA | _dump(_first) | _dump(_second, "other-"),
        {"out": _metric("cross_tooling")},
    ),
    # What was trained on one framework, predicted on another: the difference of inference alone.
    "predict-elsewhere": Step(
        Pair,
        attrgetter("exchanged"),
        of.exchange,
        _DATA | {"records": _records(("weights.npz",), _first)},
        {"logits": Write(layout.EXCHANGED), "index": Write(layout.EXCHANGED_INDEX)},
        tooling=True,
        record=JobRecord("index", "dumps of exchanged predictions"),
    ),
    "measure-frameworks": Step(
        Pair,
        attrgetter("frameworks"),
        of.pair,
        {
            "logits": _at(layout.LOGITS, INDEX, _first),
            "exchanged": _at(layout.EXCHANGED, INDEX),
            "records": _records(RUN_FILES, _first),
            "other-logits": _at(layout.LOGITS, INDEX, _second),
            "other-exchanged": _at(layout.EXCHANGED, INDEX, lambda pair: pair.reversed),
            "other-records": _records(RUN_FILES, _second),
        },
        {"out": _metric("frameworks"), "out-partings": _metric("partings")},
    ),
    "measure-growth": Step(
        Variants,
        places.with_growth,
        of.growth,
        {"records": Read(of.growing_records, ("weights.npz",), several=True)},
        {"out": _metric("growth")},
    ),
    "dump-continuations": Step(
        Cell,
        places.of_language,
        of.spec,
        _TRAINED,
        {"texts": Write(layout.TEXTS), "index": Write(layout.TEXTS_INDEX)},
        tooling=True,
        record=JobRecord("index", "continuations"),
    ),
    "measure-language": Step(
        Cell,
        places.of_language,
        of.measured,
        _DATA
        | {
            "logits": _at(layout.LOGITS),
            "index": _at(layout.PREDICTIONS),
            "texts": _at(layout.TEXTS),
            "texts-index": _at(layout.TEXTS_INDEX),
        },
        {"out": _metric("language")},
    ),
    "dump-layers": Step(
        Cell,
        places.with_layers,
        of.layers,
        _TRAINED,
        {"grams": Write(layout.GRAMS), "index": Write(layout.LAYERS_INDEX)},
        tooling=True,
        record=JobRecord("index", "dumps of layers"),
    ),
    "measure-layers": Step(
        Cell,
        places.with_layers,
        of.cell,
        {"grams": _at(layout.GRAMS), "index": _at(layout.LAYERS_INDEX)},
        {"out": _metric("layers")},
    ),
    "profile": Step(
        Profile,
        attrgetter("profiles"),
        of.profile,
        {},
        {"out": Write(layout.PROFILE_TABLE, timed=True), "record": Write(layout.PROFILE_RECORD, timed=True)},
        tooling=True,
        record=JobRecord("record", "profiles"),
        unrepeatable="what it made are times",
    ),
    "measure-overhead": Step(
        Network,
        attrgetter("networks"),
        of.overhead,
        {"records": Read(of.profile_records, (".csv",), several=True)},
        {"out-overhead": _metric("overhead"), "out-kernels": _metric("kernels")},
    ),
    "remedy": Step(
        Cell,
        places.remedied,
        of.remedies,
        _TRAINED,
        {"logits": Write(layout.REMEDIED), "index": Write(layout.REMEDIED_INDEX)},
        tooling=True,
        record=JobRecord("index", "dumps of remedied predictions"),
    ),
    "measure-remedies": Step(
        Cell,
        places.with_remedies,
        of.measured,
        _DATA
        | {
            "logits": _at(layout.LOGITS),
            "index": _at(layout.PREDICTIONS),
            "remedied": Read(of.remedied_dump, INDEX, several=True, optional=True),
            "single": Read(of.single_dump, INDEX, several=True, optional=True),
        },
        {"out": _metric("remedies")},
    ),
    "run-program": Step(
        Training,
        places.run_programs,
        of.program_spec,
        {"gate": Read(of.gate_of, several=True, optional=True)},
        _RUN,
        tooling=True,
        aside=("checkpoint",),
        record=JobRecord("record", "runs of programs"),
    ),
    "adopt-run": Step(
        Training,
        places.adopted,
        of.run_spec,
        {},
        _RUN,
        record=JobRecord("record", "adopted runs"),
        outside=True,
        unrepeatable="how it was made is not known here",
    ),
    "gather-labels": Step(
        Dataset,
        places.left_by_programs,
        of.names,
        {"record": Read(of.first_outcome, ("weights.npz",))},
        {"out": Write(layout.DATA)},
    ),
    "dump-outcomes": Step(
        Cell, places.of_programs, of.spec, _TRAINED, _LOGITS, record=JobRecord("index", "dumps of outcomes")
    ),
    "check-program": Step(
        Control,
        places.controls_of_programs,
        of.program_control,
        {"records": _records(RUN_FILES, _control)},
        {"out": Write(layout.GATE)},
    ),
    "measure-program": Step(Cell, places.of_scoring_programs, of.measured, _DATA | _dump(), _SCORES),
    "measure-outcomes": Step(
        Cell,
        places.of_other_programs,
        of.outcomes,
        _DATA | _dump(),
        {"out": _metric("stability"), "out-runs": _metric("runs")},
    ),
    "collect": Step(
        MetricFile,
        _metric_files,
        of.names,
        {"metrics": Read(_collected, several=True)},
        {"out": Write(layout.COLLECTED)},
    ),
    "judge-claims": Step(
        Whole,
        places.whole,
        of.claims,
        {kind: _judged(kind) for kind in job_code.JUDGED},
        {"out": Write(layout.CLAIMS)},
    ),
    "render": Step(
        Shown,
        places.figures,
        of.figure,
        {"read": Read(_shown, several=True)},
        {"out": Write(layout.FIGURE + ".{suffix}"), "executed": Write(layout.NOTEBOOK)},
    ),
    PAGE: Step(
        Whole,
        places.whole,
        of.nothing,
        _STUDY
        | {
            "shows": Read(_on_the_page, several=True),
            "gates": Read(lambda study, _: figure_files.gates(study), several=True, optional=True),
        },
        {"out": Write(layout.PAGE), "out-tables": Write(layout.PAGE_TABLES)},
    ),
    "report": Step(
        Whole,
        places.whole,
        of.nothing,
        _STUDY | {"shows": Read(_everything_shown, several=True)},
        {"out": Write(layout.REPORT, timed=True)},
        unrepeatable="the page says when Snakemake wrote it",
    ),
}


class Job(NamedTuple):
    """One job of a study: its verb, where it is, its parameters, what it reads and writes by name and role."""

    verb: str
    place: Place
    parameters: Parameters
    inputs: Names
    outputs: Names

    @property
    def needed(self) -> bool:
        """Whether a whole study has it; if not, it is there if somebody asked for it, or of an earlier version."""
        return self.verb in STEPS and (self.verb not in EXPECTED or EXPECTED[self.verb].needed)


def jobs(study: Study) -> Iterator[Job]:
    """Every job of a study, step by step."""
    for verb, step in STEPS.items():
        for place in step.all(study):
            parameters = stated(step.parameters(study, place))
            read = tuple(_inputs(step, study, place))
            yield Job(verb, place, parameters, read, _outputs(step, place, parameters, study.name))


def _inputs(step: Step, study: Study, place: Place) -> Iterator[tuple[str, str]]:
    """Every file that a job reads, with its role: the option that names it, or `beside` that option."""
    for option, read in step.reads.items():
        value = read.at(study, place)
        if option == "read":
            yield from ((path, "metrics") for _, *paths in value for path in paths)
            continue
        for path in value if isinstance(value, list) else [value]:
            yield path, option
            for other in read.beside:
                beside = Path(path).with_suffix(other) if other.startswith(".") else Path(path).with_name(other)
                yield str(beside), f"beside {option}"


def _outputs(step: Step, place: Place, parameters: Parameters, study: str) -> Names:
    """What the job at a place writes: in its order, with its roles."""
    of_kind = {"file": layout.FILE_OF.get(place.kind, place.kind)} if isinstance(place, MetricFile) else {}
    names, written = place._asdict() | of_kind | {"study": study}, []
    for option, write in step.writes.items():
        suffixes = KINDS[parameters["notebook"]].suffixes if "{suffix}" in write.pattern else ("",)
        written += [(write.pattern.format(**names, suffix=suffix), option) for suffix in suffixes]
    return tuple(written)


def outputs(verb: str, parameters: Parameters, study: str) -> Names:
    """What a job writes whose parameters say its place: in its order, with its roles."""
    return _outputs(STEPS[verb], STEPS[verb].place_of(parameters), parameters, study)


def stated(parameters: Parameters) -> Parameters:
    """Parameters as a statement has them: beside a spec, the keys of all draws that follow from it."""
    if "spec" not in parameters:
        return parameters
    from toolnoise import streams

    return parameters | {"keys": streams.keys(Spec.read(parameters["spec"]))}


def perform(verb: str, parameters: Parameters, files: Files) -> dict[str, Any] | None:
    """Do the work of a job again, from what a statement says of it: its parameters, and its files by option."""
    named = {option.replace("-", "_"): paths for option, paths in files.items()}
    if "read" in named:
        named["metrics"] = [path for _, *paths in named.pop("read") for path in paths]
    return job_code.perform(verb, parameters, named)


def writing(pattern: str) -> tuple[str, ...]:
    """The verbs whose jobs write files of a pattern: twins, for networks that are built here and for programs."""
    return tuple(verb for verb, step in STEPS.items() if pattern in (write.pattern for write in step.writes.values()))
