"""The jobs of existing training programs: each run, what it leaves, its gate and its measures."""

from toolnoise.formulas.outcomes import SCORED
from toolnoise.steps import reads
from toolnoise.steps.step import JobRecord, Needs, Outside, Read, Step, Where, Work, Write
from toolnoise.study import layout, programs
from toolnoise.study.cells import Cell, Control, Dataset, Training
from toolnoise.study.study import Study


def _programmed(study: Study) -> list[Cell]:
    return [cell for cell in study.cells if study.is_program(cell)]


def _leaving(study: Study, *, scored: bool) -> list[Cell]:
    return [cell for cell in _programmed(study) if (_outcome(study, cell) in SCORED) == scored]


def _outcome(study: Study, cell: Cell) -> str:
    return programs.outcome(study.config, cell.model)


def _adopted(study: Study, *, wanted: bool) -> list[Cell]:
    models = study.config["models"]
    return [cell for cell in _programmed(study) if ("adopted" in models[cell.model]) == wanted]


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


ROWS = {
    "run-program": Step(
        "run_program",
        "run an existing training program once",
        where=Where(
            Training,
            lambda study: reads.runs_of(study, _adopted(study, wanted=False)),
            "grid",
            "model/dataset/hardware/variant of a training program, and one of its seeds",
        ),
        parameters=lambda study, run: reads.spec(study, run.cell, run.seed) | {"study": study.name},
        reads={"gate": Read(_gate_of, several=True, optional=True)},
        writes=reads.RUN,
        work=Work("toolnoise.programs.run_program:train", aside=("checkpoint",)),
        needs=Needs(tooling=lambda run: run.hardware, minutes=reads.training_minutes),
        record=JobRecord("record", "runs of programs"),
    ),
    "adopt-run": Step(
        "adopt_run",
        "take an existing run as it is",
        where=Where(
            Training,
            lambda study: reads.runs_of(study, _adopted(study, wanted=True)),
            "grid",
            "model/dataset/hardware/variant of adopted runs, and one of their seeds",
        ),
        parameters=lambda study, run: reads.spec(study, run.cell, run.seed),
        reads={},
        writes=reads.RUN,
        work=Work("toolnoise.programs.run_program:adopt"),
        record=JobRecord("record", "adopted runs"),
        outside=Outside("toolnoise.programs.run_program:files_of_adopted"),
        unrepeatable="how it was made is not known here",
    ),
    "gather-labels": Step(
        "gather_labels",
        "write the test set that the runs of a training program bring",
        where=Where(
            Dataset,
            lambda study: reads.datasets(study, of_programs=True),
            "datasets",
            "a data set with reader: outcome",
        ),
        parameters=lambda _, place: place._asdict(),
        reads={"record": Read(_first_outcome, reads.WEIGHTS)},
        writes={"out": Write(layout.DATA)},
        work=Work("toolnoise.programs.left_arrays:write_labels"),
    ),
    "dump-outcomes": Step(
        "dump_outcomes",
        "dump what the runs of a training program left",
        where=Where(Cell, _programmed, *reads.A_CELL),
        parameters=reads.spec,
        reads=reads.TRAINED,
        writes=reads.DUMP,
        work=Work("toolnoise.programs.outcome_dump:dump"),
        record=JobRecord("index", "dumps of outcomes"),
    ),
    "check-program": Step(
        "check_program",
        "compare what control runs of a training program left, bit for bit",
        where=Where(
            Control,
            lambda study: (Control(*cell[:3]) for cell in study.controls if study.is_program(cell)),
            "grid",
            "a training program with the variant control",
        ),
        parameters=lambda study, place: {
            "cell": list(place.cell),
            "command": study.config["models"][place.model].get("command", ""),
        },
        reads={"records": reads.records(reads.RUN_FILES, reads.control_of)},
        writes={"out": Write(layout.GATE)},
        work=Work("toolnoise.programs.program_gate:check"),
    ),
    "measure-program": Step(
        "measure_program",
        "measure a cell of a training program",
        where=Where(Cell, lambda study: _leaving(study, scored=True), *reads.A_CELL),
        parameters=reads.measured,
        reads=reads.DATA | reads.dump(),
        writes={"out": reads.STABILITY, "out-runs": reads.RUNS, "out-ensembles": reads.ENSEMBLES},
        work=Work("toolnoise.measures.cell:measure"),
    ),
    "measure-outcomes": Step(
        "measure_outcomes",
        "measure a cell of a training program that leaves classes, values, losses or a metric",
        where=Where(Cell, lambda study: _leaving(study, scored=False), *reads.A_CELL),
        parameters=lambda study, cell: reads.measured(study, cell) | {"outcome": _outcome(study, cell)},
        reads=reads.DATA | reads.dump(),
        writes={"out": reads.STABILITY, "out-runs": reads.RUNS},
        work=Work("toolnoise.programs.program_measures:measure"),
    ),
}
