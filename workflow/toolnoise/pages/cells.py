"""A cell's part of a study's page: its runs, their curves and values, and where its runs part.

It is a file of its own that the page loads when somebody asks for the cell, so that the page of a large study opens at
once. Curves are thinned to `points` epochs, evenly, with the first and the last; numbers have a few digits. The answer
of `toolnoise diff` is there for every two runs of a small cell, and for the first run and each other one of a large
cell.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from toolnoise.base import metric_files
from toolnoise.base.errors import BadInput
from toolnoise.base.files import write_text
from toolnoise.datasets import prepared
from toolnoise.dumps import stacks
from toolnoise.metrics.per_run import RUNS
from toolnoise.metrics.stability import STABILITY
from toolnoise.provenance.diff import histories
from toolnoise.provenance.page.document import part
from toolnoise.training import runs
from toolnoise.training.runs import Run

CURVES = ("train_loss", "test_loss", "train_accuracy", "test_accuracy")
NOT_DRAWN = ("epoch", "weights_sha256", "tensors_sha256")
DIGITS = 5
DRAWN = 4  # of a curve
# Digits of a digest of weights: enough to tell two runs apart.
DIGEST = 6
# Every two runs of a cell of at most so many are compared.
ALL_PAIRS = 6
# Tensors and examples that an answer lists; `toolnoise diff` has all.
LISTED = 5
FLIPS = ("a_right_b_wrong", "a_wrong_b_right", "both_wrong_differently")


def show(
    cell: Sequence[str],
    points: int,
    data: str | Path,
    logits: str | Path,
    index: str | Path,
    records: Sequence[str],
    metrics: str | Path,
    values: str | Path,
    out: str | Path,
) -> None:
    """Write a cell's part of the page."""
    found = [runs.read(record) for record in records]
    parted = list(partings_in(found, logits, index, data))
    write_text(out, part(name(cell), about(found, points, metrics, values) | {"partings": parted}))


def partings_in(
    found: Sequence[Run], logits: str | Path, index: str | Path, data: str | Path
) -> Iterator[dict[str, Any]]:
    """Where the runs of a cell part, with the flips of their predictions where they left scores."""
    scores = layers(logits, index)
    return partings(found, scores, labels(data) if scores else np.empty(0))


def layers(logits: str | Path, index: str | Path) -> dict[int, np.ndarray]:
    """The logits of a cell's runs by seed, without those of diverged runs; none where a program left no logits."""
    dump = stacks.read_predictions(logits, index)
    if dump.logits.ndim < 3:
        return {}
    return {seed: layer for seed, layer, lost in zip(dump.seeds, dump.logits, dump.diverged, strict=True) if not lost}


def labels(data: str | Path) -> np.ndarray:
    """The labels of a data set's test examples."""
    return prepared.load(data).test.labels


def name(cell: Sequence[str]) -> str:
    """The name of a cell's part."""
    return "/".join(("cells", *cell))


def about(found: Sequence[Run], points: int, metrics: str | Path, values: str | Path) -> dict[str, Any]:
    """Everything but the partings of runs."""
    tables = [run.history() for run in found]
    at = thinned(max(map(len, tables), default=0), points)
    measured = metric_files.read(metrics, STABILITY)
    of_runs = metric_files.read(values, RUNS)
    single = of_runs[of_runs["group"] == "all"]
    spec = found[0].record["spec"]
    return {
        "spec": {key: value for key, value in spec.items() if key not in ("seed", "draw")},
        "epochs": at,
        "runs": [_run(run, rows, at) for run, rows in zip(found, tables, strict=True)],
        "curves": {
            curve: [[number(rows[epoch - 1][curve], DRAWN) for epoch in at if epoch <= len(rows)] for rows in tables]
            for curve in curves(tables)
        },
        "values": {
            metric: {str(row.seed): number(row.value) for row in rows.itertuples()}
            for metric, rows in single.groupby("metric", sort=False)
        },
        "measures": {
            row.metric: [*map(number, (row.value, row.ci_low, row.ci_high)), row.n_runs, row.n_missing]
            for row in measured[measured["group"] == "all"].itertuples()
        },
    }


def curves(tables: Sequence[Sequence[Mapping[str, str]]]) -> list[str]:
    """The columns of the histories that are drawn; a training program of others has what it left."""
    columns = [column for column in tables[0][0] if column not in NOT_DRAWN]
    drawn = [column for column in columns if all(_is_number(row.get(column, "")) for rows in tables for row in rows)]
    return [curve for curve in CURVES if curve in drawn] or drawn


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def thinned(epochs: int, points: int) -> list[int]:
    """At most `points` of so many epochs, the first and the last among them."""
    return sorted({round(float(one)) for one in np.linspace(1, epochs, min(points, epochs))}) if epochs else []


def number(value: str | float, digits: int = DIGITS) -> float | None:
    """A number with a few digits, or None: JSON has no NaN."""
    value = float(value)
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None


def _run(run: Run, rows: Sequence[Mapping[str, str]], at: Sequence[int]) -> dict[str, Any]:
    record = run.record
    return {
        "seed": run.seed,
        "status": record["status"],
        "epochs": len(rows),
        "seconds": number(sum(record.get("seconds", {}).values())),
        "resumed": list(record.get("resumed_after", [])),
        "moved_bit": record.get("moved_bit"),
        "emulated": record.get("emulated_noise"),
        "initial": record.get("initial_sha256", "")[:DIGEST],
        "weights": "".join(rows[epoch - 1]["weights_sha256"][:DIGEST] for epoch in at if epoch <= len(rows)),
    }


def partings(found: Sequence[Run], logits: Mapping[int, np.ndarray], right: np.ndarray) -> Iterator[dict[str, Any]]:
    """Where two runs part, for the pairs that are compared beforehand, from logits by seed and the labels."""
    pairs = itertools.combinations(found, 2)
    for one, other in pairs if len(found) <= ALL_PAIRS else ((found[0], other) for other in found[1:]):
        try:
            parted = histories.parting(one, other)
        except BadInput as error:
            yield {"seeds": [one.seed, other.seed], "not_compared": str(error)}
            continue
        flips = {}
        if one.seed in logits and other.seed in logits:
            flips = histories.flips(logits[one.seed], logits[other.seed], right)
        yield {"seeds": [one.seed, other.seed], **_answer(parted, flips)}


def _answer(parted: Mapping[str, Any], flips: Mapping[str, Any]) -> dict[str, Any]:
    """What the page says of two runs, in the words' order of `toolnoise diff`."""
    tensors = parted["tensors_that_differ_then"]
    return {
        "initial_equal": parted["initial_equal"],
        "draws_from": parted["draws_differ_from_epoch"],
        "weights_from": parted["weights_differ_from_epoch"],
        "tensors": tensors[:LISTED],
        "n_tensors": len(tensors),
        "equal": parted["weights_bit_equal"] and parted["history_equal"] and flips.get("logits_bit_equal", True),
        "l2_unit": None if parted["l2_unit"] is None else number(parted["l2_unit"]),
        "churn": number(flips["churn"]) if flips else None,
        "flips": {name: [len(flips[name]), flips[name][:LISTED]] for name in FLIPS if name in flips},
    }
