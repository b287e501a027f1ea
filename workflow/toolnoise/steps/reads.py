"""What rows of the job graph share: the parameters of a cell, and what options name."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from toolnoise.steps.step import Parameters, Read, Write, metric
from toolnoise.study import layout, programs
from toolnoise.study.cells import Cell, Control, Dataset, Pair, Training
from toolnoise.study.entries import shares_process
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


def at(pattern: str, beside: tuple[str, ...] = ()) -> Read:
    """The path of a place."""
    return Read(lambda study, place: study.path(pattern, place), beside)


def of_cells(cells_of: Callable[[Study, Any], list[Cell]]) -> dict[str, Read]:
    """The dumps of several cells that follow from a place, and the records of all their runs."""

    def dumps(study: Study, place: Any) -> list[str]:
        """The dump of each cell that the job compares."""
        return [study.path(layout.LOGITS, cell) for cell in cells_of(study, place)]

    def runs(study: Study, place: Any) -> list[str]:
        """The records of all runs of these cells."""
        return [path for cell in cells_of(study, place) for path in study.runs(layout.RECORD, cell)]

    return {"logits": Read(dumps, INDEX, several=True), "records": Read(runs, RUN_FILES, several=True)}


def of(cell_of: Callable[[Any], Cell], pattern: str, beside: tuple[str, ...] = ()) -> Read:
    """The path of a cell that follows from a place."""
    return Read(lambda study, place: study.path(pattern, cell_of(place)), beside)


def records_of(cell_of: Callable[[Any], Cell], beside: tuple[str, ...]) -> Read:
    """The records of all runs of a cell that follows from a place."""
    return Read(lambda study, place: study.runs(layout.RECORD, cell_of(place)), beside, several=True)


def dump_of(cell_of: Callable[[Any], Cell]) -> dict[str, Read]:
    """The dump of a cell that follows from a place, and the records of its runs."""
    return {
        "logits": of(cell_of, layout.LOGITS),
        "index": of(cell_of, layout.PREDICTIONS),
        "records": records_of(cell_of, RUN_FILES),
    }


def other(reads: Mapping[str, Read]) -> dict[str, Read]:
    """The same options, for the other of two."""
    return {f"other-{option}": read for option, read in reads.items()}


def same(cell: Cell) -> Cell:
    """The cell itself."""
    return cell


def control_of(place: Control) -> Cell:
    """The control cell of a place."""
    return place.cell


def first(pair: Pair) -> Cell:
    """The cell on the first tooling."""
    return pair.cells[0]


def second(pair: Pair) -> Cell:
    """The cell on the second tooling."""
    return pair.cells[1]


def back(pattern: str, beside: tuple[str, ...]) -> Read:
    """The path of the pair the other way round."""
    return Read(lambda study, pair: study.path(pattern, pair.reversed), beside)


def built(study: Study) -> list[Cell]:
    """The cells of networks that are built here."""
    return [cell for cell in study.cells if not study.is_program(cell)]


def alone(study: Study) -> list[Cell]:
    """Those of them whose runs have a process each."""
    return [cell for cell in built(study) if not shares_process(study.tooling(cell.hardware))]


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
TRAINED = DATA | {"records": records_of(same, WEIGHTS)}
A_CELL = ("grid", "model/dataset/hardware/variant of its grid")
