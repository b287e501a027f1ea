"""What rows of the job graph share: the parameters of a cell, and what options name."""

import operator
from collections.abc import Callable, Iterator
from typing import Any

from toolnoise.steps.step import Parameters, Read, Write, metric
from toolnoise.study import layout, programs
from toolnoise.study.cells import Cell, Dataset, Training
from toolnoise.study.study import Study

# Files that lie beside the one that an option names, and are read too: whole names, or suffixes in place of its own.
RUN_FILES, WEIGHTS, INDEX, KERNEL_TIMES = ("weights.npz", "history.csv"), ("weights.npz",), (".json",), (".csv",)
# What twin rows write: one for networks that are built here, others for existing training programs.
RUN = {"weights": Write(layout.WEIGHTS), "history": Write(layout.HISTORY), "record": Write(layout.RECORD)}
DUMP = {"logits": Write(layout.LOGITS), "index": Write(layout.PREDICTIONS)}
STABILITY = metric("stability", layout.CELL, "toolnoise.formulas.stability", folder="cells")
RUNS = metric("runs", layout.CELL, "toolnoise.formulas.per_run")
ENSEMBLES = metric("ensembles", layout.CELL, "toolnoise.formulas.ensembles")


def spec(study: Study, cell: Cell, seed: int | None = None) -> Parameters:
    """The spec of one run of a cell, of its first without a seed."""
    return {"spec": study.spec(cell, study.seeds[cell][0] if seed is None else seed).as_json()}


def measured(study: Study, cell: Cell) -> Parameters:
    """What every measure of a cell is given."""
    return {"cell": list(cell), "study_seed": study.config["seed"]}


def same(place: Any) -> Any:
    """The place itself."""
    return place


control_of = operator.attrgetter("cell")


def at(pattern: str, beside: tuple[str, ...] = (), of: Callable[[Any], Any] = same) -> Read:
    """The path of a place, or of another that follows from it."""
    return Read(lambda study, place: study.path(pattern, of(place)), beside)


def records(beside: tuple[str, ...], of: Callable[[Any], Cell] = same) -> Read:
    """The records of all runs of a cell, or of one that follows from a place."""
    return Read(lambda study, place: study.runs(layout.RECORD, of(place)), beside, several=True)


def dump(of: Callable[[Any], Cell] = same) -> dict[str, Read]:
    """The dump of a cell, or of one that follows from a place, and the records of its runs."""
    return {
        "logits": at(layout.LOGITS, of=of),
        "index": at(layout.PREDICTIONS, of=of),
        "records": records(RUN_FILES, of),
    }


def built(study: Study) -> list[Cell]:
    """The cells of networks that are built here."""
    return [cell for cell in study.cells if not study.is_program(cell)]


def runs_of(study: Study, cells: list[Cell]) -> Iterator[Training]:
    """The runs of these cells."""
    return (Training(*cell, seed) for cell in cells for seed in study.seeds[cell])


def datasets(study: Study, *, of_programs: bool) -> Iterator[Dataset]:
    """The data sets that come with the outcomes of training programs, or the others."""
    entries = study.config["datasets"]
    return (Dataset(name) for name in study.datasets if (entries[name]["reader"] == programs.READER) == of_programs)


def training_minutes(study: Study, place: Cell | Training) -> int:
    """The time limit of a run."""
    return study.minutes[Cell(*place[:4])]


DATA = {"data": at(layout.DATA)}
TRAINED = DATA | {"records": records(WEIGHTS)}
A_CELL = ("grid", "model/dataset/hardware/variant of its grid")
