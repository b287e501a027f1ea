"""How far apart two runs from one start are, step by step.

Two runs with the same algorithmic draws differ only in the compared cause: the tooling, the order of summation, or one
bit. After each recorded step there are four distances between them:

* `l2_unit`, between the unit-norm vectors of trained weights. Independent directions have the square root of 2.
* `movement`, between the displacements of the weights since the start, over the root mean square of their lengths. Runs
  that move independently have the square root of 2, however near to their common start they stay.
* `logits`, between the logits of some test examples, over the root mean square of their lengths.
* `churn`, the share of these examples on which the runs predict different classes.

Starts are the independent units. A distance varies by factors, so its mean and its interval are those of its logarithm.
They are over the starts whose runs have parted: a moved bit that no gradient reaches changes nothing else.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from toolnoise.base import metric_files
from toolnoise.base.errors import BadInput
from toolnoise.base.job import Output, TrainedRuns
from toolnoise.base.metric_files import CELL, MEASURE, Columns
from toolnoise.base.noise_sources import ALGORITHMIC, replicate_of
from toolnoise.formulas.weights import paired_l2, relative_distances, unit_vectors
from toolnoise.stats.estimates import Estimate, mean_t, wilson_interval
from toolnoise.study import runs
from toolnoise.study.cells import Cell
from toolnoise.study.runs import Run

# The distances after `step` training steps, over the starts whose runs differ then; `parted` is over all starts.
GROWTH: Columns = {**CELL, "over_hardware": str, "over_variant": str, "step": int, **MEASURE}
DISTANCES = ("l2_unit", "movement", "logits")
CHURN = "churn"
FARTHEST = 2.0  # between opposite vectors
# The runs of a cell by their start, which is the replicate of every algorithmic source.
Starts = dict[tuple[int, ...], list[Run]]


class Course(NamedTuple):
    """The distances between two runs from one start, after each of some steps."""

    steps: np.ndarray
    distances: dict[str, np.ndarray]


def course_of_runs(
    first: Mapping[int, Mapping[str, np.ndarray]], other: Mapping[int, Mapping[str, np.ndarray]], trained: Sequence[str]
) -> Course:
    """The course of two runs, from the tensors and the `logits` that each recorded, by step."""
    starts = [_vector(run[0], trained) for run in (first, other)]
    apart = {name: np.zeros(len(first)) for name in (*DISTANCES, CHURN)}
    for place, step in enumerate(first):
        vectors = [_vector(run[step], trained) for run in (first, other)]
        logits = [run[step]["logits"] for run in (first, other)]
        apart["l2_unit"][place] = paired_l2(*(unit_vectors(vector[np.newaxis]) for vector in vectors))[0]
        apart["movement"][place] = _relative(*(vector - start for vector, start in zip(vectors, starts, strict=True)))
        apart["logits"][place] = _relative(*logits)
        apart[CHURN][place] = np.mean(logits[0].argmax(axis=1) != logits[1].argmax(axis=1))
    return Course(np.array(list(first)), apart)


def mean_course(courses: Sequence[Course]) -> Course:
    """The mean over several runs of one start."""
    mean = {name: np.mean([curve.distances[name] for curve in courses], axis=0) for name in courses[0].distances}
    return Course(courses[0].steps, mean)


def levels_by_step(courses: Sequence[Course], examples: int) -> Iterator[tuple[int, str, Estimate, int]]:
    """The distances of a cell after each step, over its starts, each with its number of starts.

    A start has parted once a recorded logit has differed: a moved bit may be rounded away, or reach no output.
    """
    rate_step = 1 / examples if any(curve.distances["logits"].any() for curve in courses) else np.nan
    for place, step in enumerate(courses[0].steps):
        apart = [curve for curve in courses if curve.distances["logits"][: place + 1].any()]
        yield int(step), "parted", wilson_interval(len(apart), len(courses)), len(courses)
        for name in DISTANCES:
            yield int(step), name, *_geometric([curve.distances[name][place] for curve in apart])
        churns = np.array([curve.distances[CHURN][place] for curve in courses])
        yield int(step), CHURN, mean_t(churns, rate_step).within(0, 1), len(courses)


def _geometric(values: Sequence[float]) -> tuple[Estimate, int]:
    """The geometric mean of distances, over those that are not 0, and their number; 0 if all are."""
    positive = np.array([value for value in values if value > 0])
    if not len(positive):
        return Estimate(0.0), 0
    return Estimate(*np.exp(mean_t(np.log(positive))).tolist()).within(0, FARTHEST), len(positive)


def _vector(tensors: Mapping[str, np.ndarray], trained: Sequence[str]) -> np.ndarray:
    return np.concatenate([np.asarray(tensors[path], np.float64).ravel() for path in trained])


def _relative(a: np.ndarray, b: np.ndarray) -> float:
    return float(relative_distances(a.reshape(1, -1), b.reshape(1, -1))[0])


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
            problem = f"no finished run of {cell} and {reference} from one start"
            raise BadInput(f"{model}/{dataset}/{hardware}", "seeds", problem, "equal seeds")
        examples = len(next(run for of_start in starts.values() for run in of_start).recorded()[0]["logits"])
        names = *cell, reference.hardware, reference.variant
        rows += [
            (*names, step, metric, "all", *estimate, count, len(starts) - len(courses))
            for step, metric, estimate, count in levels_by_step(courses, examples)
        ]
    metric_files.write_metrics(out, GROWTH, rows)


def _by_cell(records: list[str]) -> dict[Cell, Starts]:
    by_cell: dict[Cell, Starts] = {}
    for record in records:
        run = runs.read_run(record)
        start = tuple(replicate_of(source, run.spec) for source in ALGORITHMIC)
        by_cell.setdefault(Cell.of(run.spec), {}).setdefault(start, []).append(run)
    return by_cell


def _courses(starts: Starts, references: Starts) -> list[Course]:
    """The course of each start that the cell and its reference have finished runs of."""
    courses = []
    for start, several in starts.items():
        reference = next((run for run in references.get(start, ()) if not run.diverged), None)
        finished = [run for run in several if not run.diverged]
        if reference and finished:
            courses.append(mean_course([_course(reference, run) for run in finished]))
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
    return course_of_runs(*recorded, first.record["trainable"])
