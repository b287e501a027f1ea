"""From runs that recorded their steps to metric files: how the differences from equal starts grow."""

from pathlib import Path

import numpy as np

from toolnoise.analyses.growth import metric as growth
from toolnoise.analyses.growth.metric import GROWTH, GROWTH_FITS, Course, Start
from toolnoise.base import metric_files
from toolnoise.base.errors import BadInput
from toolnoise.base.noise_sources import ALGORITHMIC, replicate
from toolnoise.study import runs
from toolnoise.study.cells import Cell
from toolnoise.study.runs import Run

Starts = dict[Start, list[Run]]


def measure(
    model: str,
    dataset: str,
    hardware: str,
    references: list[list[list[str]]],
    records: list[str],
    out: str | Path,
    out_fits: str | Path,
) -> None:
    """Write the distances of each cell of a task from its reference after each recorded step, and their fits.

    `references` has each cell with its reference; runs are compared that share every algorithmic draw.
    """
    by_cell = _by_cell(records)
    pairs = [(Cell(*cell), Cell(*reference)) for cell, reference in references]
    courses = {cell: _courses(by_cell.get(cell, {}), by_cell.get(reference, {})) for cell, reference in pairs}
    fits = {cell: {start: growth.fit(course) for start, course in of_cell.items()} for cell, of_cell in courses.items()}
    rows, fit_rows = [], []
    for cell, reference in pairs:
        if not courses[cell]:
            place = "/".join((model, dataset, hardware))
            raise BadInput(place, "seeds", f"no finished run of {cell} and {reference} from one start", "equal seeds")
        names = *cell, reference.hardware, reference.variant
        missing = len(by_cell[cell]) - len(courses[cell])
        examples = len(next(run for runs in by_cell[cell].values() for run in runs).recorded()[0]["logits"])
        rows += [
            (*names, step, metric, "all", *estimate, count, missing)
            for step, metric, estimate, count in growth.levels(list(courses[cell].values()), examples)
        ]
        others = [fits[other] for other, over in pairs if other != cell and other.hardware != over.hardware]
        every = [*growth.fits(list(fits[cell].values()), examples), *growth.beside(fits[cell], others, examples)]
        fit_rows += [(*names, metric, "all", *estimate, count, missing) for metric, estimate, count in every]
    metric_files.write(out, GROWTH, rows)
    metric_files.write(out_fits, GROWTH_FITS, fit_rows)


def _by_cell(records: list[str]) -> dict[Cell, Starts]:
    """The runs of each cell by their start, which is the replicate of every algorithmic source."""
    by_cell: dict[Cell, Starts] = {}
    for record in records:
        run = runs.read(record)
        cell = Cell.of(run.spec)
        start = tuple(replicate(source, run.spec) for source in ALGORITHMIC)
        by_cell.setdefault(cell, {}).setdefault(start, []).append(run)
    return by_cell


def _courses(starts: Starts, references: Starts) -> dict[Start, Course]:
    """The course of each start that the cell and its reference have finished runs of."""
    courses = {}
    for start, several in starts.items():
        reference = next((run for run in references.get(start, ()) if not run.diverged), None)
        finished = [run for run in several if not run.diverged]
        if reference and finished:
            courses[start] = growth.mean_course([_course(reference, run) for run in finished])
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
            name = next((name for name, tensor in tensors.items() if not np.isfinite(tensor).all()), None)
            if name:
                what = f"found numbers that are not finite after step {step}"
                raise BadInput(run.folder / "weights.npz", name, what, "finite ones, as a run that finished has")
    return growth.course(*recorded, first.record["trainable"])
