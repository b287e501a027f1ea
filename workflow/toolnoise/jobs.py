"""What each rule's verb does, as data: what it is told, what it reads and writes, and how it is performed.

The outcome of a job follows from its parameters (plain JSON, worked out of the study before anything starts), the files
it reads and the code of its modules. `perform` is given nothing else, so that the statement that records the three can
be checked against the study, and a job can be performed again from its statement alone.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from toolnoise import asked, performed
from toolnoise.asked import Given, Parameters
from toolnoise.study import grid as studies
from toolnoise.study.catalogue import KINDS, MODULES

RUN_FILES, PROFILE_FILES, INDEX = ("weights.npz", "history.csv"), (".csv",), (".json",)


class Job(NamedTuple):
    """A verb that a rule calls.

    `options` are what it is told besides files, `reads` the options that name files it reads, with what lies beside
    each such file and is read too (whole names, or suffixes in place of the file's own), `writes` those it writes,
    `several` those of the two that may name several files, `optional` those of these that may name none, `aside` what
    changes no outcome. `modules` and `files` are the code and the files of the repository that it is made by.
    """

    says: str
    options: tuple[str, ...]
    reads: dict[str, tuple[str, ...]]
    writes: tuple[str, ...]
    resolve: Callable[[Given], Parameters]
    perform: Callable[[Parameters, Given], dict[str, Any] | None]
    modules: Callable[[Parameters], tuple[str, ...]]
    files: Callable[[Parameters], tuple[str, ...]] = lambda _: ()
    aside: tuple[str, ...] = ()
    several: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


def _with_engine(module: str) -> Callable[[Parameters], tuple[str, ...]]:
    return lambda parameters: (module, *studies.modules(parameters["spec"]))


def _figure_files(parameters: Parameters) -> tuple[str, ...]:
    kind = parameters["notebook"]
    return (f"notebooks/{kind}.ipynb", *KINDS[kind].files)


def captions(figure_kinds: tuple[str, ...]) -> tuple[str, ...]:
    """The texts of a study's page."""
    return tuple(f"workflow/report/{name}.rst" for name in ("workflow", "metrics", *figure_kinds))


_TASK = ("model", "dataset", "hardware")
_CELL = ("study", *_TASK, "variant")
_DUMP = {"data": (), "logits": (), "index": (), "records": RUN_FILES}

JOBS = {
    "fetch": Job(
        "download or find the files of a data set, and verify them",
        ("study", "dataset"),
        reads={},
        writes=("out",),
        resolve=asked.data,
        perform=performed.fetch,
        modules=lambda _: ("toolnoise.datasets.fetching",),
    ),
    "prepare": Job(
        "read a data set and write its prepared form",
        ("study", "dataset"),
        reads={},
        writes=("out",),
        resolve=asked.data,
        perform=performed.prepare,
        modules=lambda _: ("toolnoise.datasets.preparation",),
        aside=("threads",),
    ),
    "count": Job(
        "count the examples of a data set",
        ("dataset",),
        reads={"data": ()},
        writes=("out",),
        resolve=lambda given: {"dataset": given.dataset},
        perform=performed.count,
        modules=lambda _: ("toolnoise.datasets.counting",),
    ),
    "train": Job(
        "train one run",
        (*_CELL, "seed"),
        reads={"data": ()},
        writes=("weights", "history", "record"),
        resolve=asked.run,
        perform=performed.train,
        modules=_with_engine("toolnoise.training.loop"),
        aside=("checkpoint", "planned?"),
    ),
    "measure-speed": Job(
        "time some steps of a cell's runs",
        _CELL,
        reads={"data": ()},
        writes=("out",),
        resolve=asked.cell,
        perform=performed.measure_speed,
        modules=_with_engine("toolnoise.timing.speed_probe"),
    ),
    "profile": Job(
        "measure what a training step takes",
        ("study", "model", "hardware", "mode", "repeat"),
        reads={},
        writes=("out", "record"),
        resolve=asked.profile,
        perform=performed.profile,
        modules=_with_engine("toolnoise.timing.profile"),
    ),
    "predict": Job(
        "dump a cell's predictions",
        _CELL,
        reads={"data": (), "records": ("weights.npz",)},
        writes=("logits", "index"),
        resolve=asked.cell,
        perform=performed.predict,
        modules=_with_engine("toolnoise.dumps.prediction_dump"),
        several=("records",),
    ),
    "predict-elsewhere": Job(
        "dump a cell's predictions on another tooling, of another framework, than it was trained on",
        ("study", *_TASK, "other-hardware", "variant"),
        reads={"data": (), "records": ("weights.npz",)},
        writes=("logits", "index"),
        resolve=asked.exchange,
        perform=performed.exchange,
        modules=_with_engine("toolnoise.dumps.prediction_dump"),
        several=("records",),
    ),
    "remedy": Job(
        "dump a cell's predictions under remedies for noise",
        _CELL,
        reads={"data": (), "records": ("weights.npz",)},
        writes=("logits", "index"),
        resolve=asked.remedies,
        perform=performed.remedy,
        modules=_with_engine("toolnoise.dumps.remedy_dump"),
        several=("records",),
    ),
    "dump-layers": Job(
        "dump how a cell's runs represent some test examples, layer by layer",
        _CELL,
        reads={"data": (), "records": ("weights.npz",)},
        writes=("grams", "index"),
        resolve=asked.layers,
        perform=performed.dump_layers,
        modules=_with_engine("toolnoise.dumps.layer_dump"),
        several=("records",),
    ),
    "check-control": Job(
        "compare control runs bit for bit",
        _TASK,
        reads={name: beside for name, beside in _DUMP.items() if name != "data"},
        writes=("out",),
        resolve=lambda given: {"cell": [given.model, given.dataset, given.hardware, "control"]},
        perform=performed.check_control,
        modules=lambda _: ("toolnoise.measures.control_gate",),
        several=("records",),
    ),
    "measure": Job(
        "measure a cell",
        _CELL,
        reads=_DUMP,
        writes=("out", "out-identical", "out-ensembles"),
        resolve=asked.measured_cell,
        perform=performed.measure,
        modules=lambda _: ("toolnoise.measures.measuring",),
        several=("records",),
    ),
    "measure-remedies": Job(
        "measure what remedies leave of a cell's noise",
        _CELL,
        reads={"data": (), "logits": (), "index": (), "remedied": INDEX, "single": INDEX},
        writes=("out",),
        resolve=asked.measured_remedies,
        perform=performed.measure_remedies,
        modules=lambda _: ("toolnoise.measures.measuring",),
        several=("remedied", "single"),
        optional=("remedied", "single"),
    ),
    "measure-pair": Job(
        "measure what separates two toolings",
        (*_TASK, "other-hardware", "variant"),
        reads={**_DUMP, **{f"other-{name}": beside for name, beside in _DUMP.items() if name != "data"}},
        writes=("out",),
        resolve=asked.pair,
        perform=performed.measure_pair,
        modules=lambda _: ("toolnoise.measures.measuring",),
        several=("records", "other-records"),
    ),
    "measure-frameworks": Job(
        "measure what separates two frameworks, in training and in inference alone",
        (*_TASK, "other-hardware", "variant"),
        reads={
            name: beside
            for of in ("", "other-")
            for name, beside in {f"{of}logits": INDEX, f"{of}exchanged": INDEX, f"{of}records": RUN_FILES}.items()
        },
        writes=("out", "out-partings"),
        resolve=asked.pair,
        perform=performed.measure_frameworks,
        modules=lambda _: ("toolnoise.measures.frameworks",),
        several=("records", "other-records"),
    ),
    "measure-layers": Job(
        "measure how similar corresponding layers of a cell's runs are",
        (*_TASK, "variant"),
        reads={"grams": (), "index": ()},
        writes=("out",),
        resolve=lambda given: {"cell": [given.model, given.dataset, given.hardware, given.variant]},
        perform=performed.measure_layers,
        modules=lambda _: ("toolnoise.measures.measuring",),
    ),
    "measure-overhead": Job(
        "measure what determinism costs",
        ("study", "model", "hardware"),
        reads={"records": PROFILE_FILES},
        writes=("out-overhead", "out-kernels"),
        resolve=asked.overhead,
        perform=performed.measure_overhead,
        modules=lambda _: ("toolnoise.measures.measuring",),
        several=("records",),
    ),
    "collect": Job(
        "put metric files together",
        ("kind",),
        reads={"metrics": ()},
        writes=("out",),
        resolve=lambda given: {"kind": given.kind},
        perform=performed.collect,
        modules=lambda _: ("toolnoise.base.metric_files",),
        several=("metrics",),
    ),
    "render": Job(
        "execute a notebook",
        ("study", "figure"),
        reads={"read": ()},
        writes=("out", "executed"),
        resolve=asked.figure,
        perform=performed.render,
        modules=lambda _: MODULES,
        files=_figure_files,
        several=("out",),
    ),
    "report": Job(
        "write a study's page",
        ("study",),
        reads={"shows": ()},
        writes=("out",),
        resolve=asked.page,
        perform=performed.report,
        modules=lambda _: ("toolnoise.figures.render",),
        files=lambda parameters: captions(tuple(parameters["figure_kinds"])),
        several=("shows",),
    ),
}
