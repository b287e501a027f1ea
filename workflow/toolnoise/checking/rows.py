"""The jobs of training programs of others: each run, what it leaves, its gate and its measures."""

from typing import Any

from toolnoise.steps.reads import (
    A_CELL,
    DATA,
    ENSEMBLES,
    MEASURED,
    RUN_FILES,
    SINGLE_RUNS,
    TRAINED,
    WEIGHTS,
    control_of,
    datasets,
    dump_of,
    measured,
    records_of,
    runs_of,
    same,
    spec,
    training_minutes,
)
from toolnoise.steps.step import Parameters, Read, Step
from toolnoise.study import layout, programs
from toolnoise.study.cells import Cell, Control, Dataset, Training
from toolnoise.study.study import Study


def _programmed(study: Study) -> list[Cell]:
    return [cell for cell in study.cells if study.is_program(cell)]


def _leaving(study: Study, *, logits: bool) -> list[Cell]:
    found = {cell: programs.outcome(study.config, cell.model) for cell in _programmed(study)}
    return [cell for cell, outcome in found.items() if (outcome == programs.LOGITS) == logits]


def _adopted(study: Study, *, wanted: bool) -> list[Cell]:
    models = study.config["models"]
    return [cell for cell in _programmed(study) if ("adopted" in models[cell.model]) == wanted]


def _first_outcome(study: Study, place: Dataset) -> str:
    """The run that brings a data set: one of Control, if there is one, since nothing else runs before its gate."""
    cells = [cell for cell in study.cells if cell.dataset == place.dataset]
    first = next((cell for cell in cells if cell.variant == "control"), cells[0])
    return study.runs(layout.RECORD, first)[0]


def _found(parameters: Parameters) -> list[dict[str, Any]]:
    from toolnoise.checking import adopted

    return adopted.files_of(parameters["spec"])


def _gate_of(study: Study, run: Training) -> list[str]:
    """The verdict on the control cell, if the study has one and the run is not one of its own."""
    control = Control(*run[:3])
    gated = run.variant != control.cell.variant and control.cell in study.seeds
    return [study.path(layout.GATE, control)] if gated else []


ROWS = {
    "run-program": Step(
        "run_program",
        "run a training program of others once",
        place=Training,
        places=lambda study: runs_of(study, _adopted(study, wanted=False)),
        parameters=lambda study, run: spec(study, run.cell, run.seed) | {"study": study.name},
        reads={"gate": Read(_gate_of, several=True, optional=True)},
        writes={"weights": layout.WEIGHTS, "history": layout.HISTORY, "record": layout.RECORD},
        work="toolnoise.checking.run_program:train",
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
        places=lambda study: runs_of(study, _adopted(study, wanted=True)),
        parameters=lambda study, run: spec(study, run.cell, run.seed),
        reads={},
        writes={"weights": layout.WEIGHTS, "history": layout.HISTORY, "record": layout.RECORD},
        work="toolnoise.checking.adopted:adopt",
        sources=_found,
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
        places=lambda study: datasets(study, of_programs=True),
        parameters=lambda _, place: place._asdict(),
        reads={"record": Read(_first_outcome, WEIGHTS)},
        writes={"out": layout.DATA},
        work="toolnoise.checking.labels:write",
        wanted=("datasets", "a data set with reader: outcome"),
        programs=True,
    ),
    "dump-outcomes": Step(
        "dump_outcomes",
        "dump what the runs of a training program left",
        place=Cell,
        places=_programmed,
        parameters=spec,
        reads=TRAINED,
        writes={"logits": layout.LOGITS, "index": layout.PREDICTIONS},
        work="toolnoise.checking.dump:dump",
        wanted=A_CELL,
        record="index",
        travels="dumps of outcomes",
        programs=True,
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
        reads={"records": records_of(control_of, RUN_FILES)},
        writes={"out": layout.GATE},
        work="toolnoise.checking.gate:check",
        wanted=("grid", "a training program with the variant control"),
        programs=True,
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
        work="toolnoise.checking.measure:measure",
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
        work="toolnoise.checking.measure_outcomes:measure",
        wanted=A_CELL,
        metrics={
            "out": ("stability", "toolnoise.metrics.stability:STABILITY"),
            "out-runs": ("runs", "toolnoise.metrics.per_run:RUNS"),
        },
        programs=True,
    ),
}
