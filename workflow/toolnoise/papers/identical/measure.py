"""The measures of a cell, and its runs as identical runs, by the study's settings for these."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from toolnoise.base import metric_files
from toolnoise.base.errors import BadInput
from toolnoise.base.job import Input, Output, PlaceNames, TimedOutput, Values, WholeRuns
from toolnoise.datasets.prepared import Data
from toolnoise.dumps.stacks import Predictions
from toolnoise.formulas import accuracy
from toolnoise.measures import by_draw, noise
from toolnoise.measures.reading import finished_runs, predictions_of, runs_at
from toolnoise.papers.identical.metric import (
    CONVERGENCE,
    END,
    IDENTICAL,
    MISSING,
    History,
    Weak,
    experiment_columns,
    measure_identical_runs,
)
from toolnoise.study.runs import Run

Rows = list[list[metric_files.Value]]


def measure(
    cell: PlaceNames,
    study_seed: int,
    identical: Values,
    data: Input,
    logits: Input,
    index: Input,
    records: WholeRuns,
    *,
    out: Output,
    out_runs: Output,
    out_identical: TimedOutput,
    out_convergence: TimedOutput,
    out_ensembles: Output,
) -> None:
    """Write the measures of one cell, and its runs as identical runs, by the study's settings for these."""
    experiments = _experiments(cell, identical, *predictions_of(data, logits, index), records)
    noise.measure(
        cell,
        study_seed,
        data,
        logits,
        index,
        records,
        out=out,
        out_runs=out_runs,
        out_ensembles=out_ensembles,
    )
    metric_files.write_metrics(out_identical, IDENTICAL, [row for of_cell, _ in experiments for row in of_cell])
    metric_files.write_metrics(out_convergence, CONVERGENCE, [row for _, of_runs in experiments for row in of_runs])


def _experiments(
    cell: Sequence[str], identical: Values, dump: Predictions, dataset: Data, records: list[str]
) -> list[tuple[Rows, Rows]]:
    """Identical runs share their draws, so each draw is an experiment of its own."""
    stack, finished, diverged = dump.kept, finished_runs(records, dump), ~dump.finished
    kept, lost = np.cumsum(dump.finished) - 1, runs_at(records, dump, np.flatnonzero(diverged))
    place_lost = np.cumsum(diverged) - 1
    experiments = []
    for group in by_draw.group_by_draw(dump.drawn).groups:
        numbers = kept[group[dump.finished[group]]]
        of_draw = [finished[run] for run in numbers], [lost[run] for run in place_lost[group[diverged[group]]]]
        experiments.append(_rows(cell, *of_draw, noise.some_of(stack, numbers), dataset, identical))
    return experiments


def _rows(
    cell: Sequence[str],
    finished: Sequence[Run],
    missing: Sequence[Run],
    logits: np.ndarray,
    dataset: Data,
    block: dict[str, Any],
) -> tuple[Rows, Rows]:
    """The rows of the cell and those of its runs, by criterion; runs that cannot be measured count as missing."""
    any_run, *_ = *finished, *missing
    histories = [History.of(run.history()) for run in finished]
    rules = Weak(**block["weak"]), block.get("accuracy", END)
    try:
        about = experiment_columns(any_run.record)
    except (KeyError, TypeError, AttributeError):
        place = any_run.folder / "run.json"
        raise BadInput(place, "observed", "no versions of the engine", "the record that train wrote") from None
    _, name, hardware, variant = cell
    about |= {"dataset": name, "hardware": hardware, "variant": variant, "n_missing": len(missing)}
    answers = accuracy.predictions(logits)
    of_cell, of_runs = [], []
    for criterion in block["criteria"]:
        whole, run_rows = measure_identical_runs(
            answers, dataset.test.labels, len(dataset.classes), histories, criterion, *rules
        )
        of_cell.append([(about | whole)[column] for column in IDENTICAL])
        rows = [{"try": run.seed} | row for run, row in zip(finished, run_rows, strict=True)]
        rows += [_empty(run.seed, criterion) for run in missing]
        of_runs.extend([(about | row)[column] for column in CONVERGENCE] for row in rows)
    return of_cell, of_runs


def _empty(seed: int, criterion: str) -> dict[str, metric_files.Value]:
    undefined = {name: np.nan for name, kind in CONVERGENCE.items() if kind is float}
    return undefined | {"stopping_type": criterion, "try": seed, "class": "", "status": MISSING}
