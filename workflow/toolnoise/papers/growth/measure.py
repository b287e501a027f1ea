"""From runs that recorded their steps to a metric file: how the differences from equal starts grow."""

import numpy as np

from toolnoise.base import metric_files
from toolnoise.base.errors import BadInput
from toolnoise.base.job import Output, TrainedRuns
from toolnoise.base.noise_sources import ALGORITHMIC, replicate
from toolnoise.papers.growth import metric as growth
from toolnoise.papers.growth.metric import GROWTH, Course
from toolnoise.study import runs
from toolnoise.study.cells import Cell
from toolnoise.study.runs import Run

# The runs of a cell by their start, which is the replicate of every algorithmic source.
Starts = dict[tuple[int, ...], list[Run]]


def measure(
    model: str, dataset: str, hardware: str, references: list[list[list[str]]], records: TrainedRuns, *, out: Output
) -> None:
    """Write the distances of each cell of a task from its reference after each recorded step.

    `references` has each cell with its reference; runs are compared that share every algorithmic draw.
    """
    by_cell = _by_cell(records)
    rows = []
    for cell, reference in ((Cell(*cell), Cell(*reference)) for cell, reference in references):
        starts = by_cell.get(cell, {})
        courses = _courses(starts, by_cell.get(reference, {}))
        if not courses:
            found = f"no finished run of {cell} and {reference} from one start"
            raise BadInput(f"{model}/{dataset}/{hardware}", "seeds", found, "equal seeds")
        examples = len(next(run for of_start in starts.values() for run in of_start).recorded()[0]["logits"])
        names = *cell, reference.hardware, reference.variant
        rows += [
            (*names, step, metric, "all", *estimate, count, len(starts) - len(courses))
            for step, metric, estimate, count in growth.levels(courses, examples)
        ]
    metric_files.write(out, GROWTH, rows)


def _by_cell(records: list[str]) -> dict[Cell, Starts]:
    by_cell: dict[Cell, Starts] = {}
    for record in records:
        run = runs.read(record)
        start = tuple(replicate(source, run.spec) for source in ALGORITHMIC)
        by_cell.setdefault(Cell.of(run.spec), {}).setdefault(start, []).append(run)
    return by_cell


def _courses(starts: Starts, references: Starts) -> list[Course]:
    """The course of each start that the cell and its reference have finished runs of."""
    courses = []
    for start, several in starts.items():
        reference = next((run for run in references.get(start, ()) if not run.diverged), None)
        finished = [run for run in several if not run.diverged]
        if reference and finished:
            courses.append(growth.mean_course([_course(reference, run) for run in finished]))
    return courses


def _course(first: Run, other: Run) -> Course:
    recorded = [run.recorded() for run in (first, other)]
    if list(recorded[0]) != list(recorded[1]) or not recorded[0]:
        place = other.folder / "run.json"
        raise BadInput(place, "recorded_steps", f"found {list(recorded[1])}", f"{list(recorded[0])}, as its reference")
    shapes = [{name: tensor.shape for name, tensor in run[0].items()} for run in recorded]
    if shapes[0] != shapes[1]:
        wanted = f"the tensors and the logits of {first.folder}, in their shapes"
        raise BadInput(other.folder / "weights.npz", "", "found others", wanted)
    for run, steps in zip((first, other), recorded, strict=True):
        for step, tensors in steps.items():
            for name, tensor in tensors.items():
                if not np.isfinite(tensor).all():
                    what = f"found numbers that are not finite after step {step}"
                    raise BadInput(run.folder / "weights.npz", name, what, "finite ones, as a run that finished has")
    return growth.course(*recorded, first.record["trainable"])
