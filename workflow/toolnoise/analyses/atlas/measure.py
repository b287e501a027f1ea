"""From dumps and runs of one task on many toolings to metric files: how far apart the toolings end, and why."""

from collections.abc import Sequence
from hashlib import sha256
from itertools import combinations
from pathlib import Path

import numpy as np

from toolnoise.analyses.atlas import metric as atlas
from toolnoise.analyses.atlas.metric import ATLAS, ATLAS_FACTORS, ATLAS_TOOLINGS, ToolingPart
from toolnoise.base import metric_files
from toolnoise.base.errors import BadInput
from toolnoise.formulas.accuracy import predictions
from toolnoise.formulas.churn import pairwise_churn
from toolnoise.formulas.weights import pairwise_l2, unit
from toolnoise.measures.reading import draws_on_toolings
from toolnoise.training import runs
from toolnoise.training.runs import Run


def measure(
    model: str,
    dataset: str,
    cells: Sequence[tuple[str, str]],
    logits: Sequence[str],
    records: Sequence[str],
    out: str | Path,
    out_factors: str | Path,
    out_toolings: str | Path,
) -> None:
    """Write the differences of every two toolings, what explains them, and what the toolings are.

    `cells` has the tooling and the variant of each dump. A draw that a tooling lacks, or that diverged there, is left
    out on all of them and counted as missing.
    """
    toolings, planned = draws_on_toolings(cells, logits, records)
    shared = [draw for draw in sorted(planned) if all(draw in draws for draws in toolings.values())]
    if not shared:
        raise BadInput(out, "", "no draw has finished on every tooling", "one draw or more")
    missing = len(planned) - len(shared)
    parts = [_part(draws[shared[0]][1]) for draws in toolings.values()]
    stack = [[draws[draw] for draw in shared] for draws in toolings.values()]
    values = _alike([[scores for scores, _ in drawn] for drawn in stack], stack)
    vectors = _alike([[run.trained_vector() for _, run in drawn] for drawn in stack], stack)
    digests = np.array([[_digest(*pair) for pair in drawn] for drawn in stack])
    histories = _alike([[_of_epochs(run) for _, run in drawn] for drawn in stack], stack)
    units = np.array([unit(block) for block in vectors])
    measured = {
        "churn": atlas.distances(pairwise_churn, np.array([predictions(block) for block in values]), 1),
        "l2_unit": atlas.distances(pairwise_l2, units, 2),
        "logits_relative_difference": atlas.distances(atlas.relative, values, 2),
    }
    alike, first = atlas.equal(digests), atlas.partings(histories)
    task, names = (model, dataset), list(toolings)
    metric_files.write(
        out,
        ATLAS,
        [
            (*task, names[tooling], names[other], metric, group, *estimate, count, missing)
            for tooling, other in combinations(range(len(names)), 2)
            for (metric, group, estimate), count in atlas.pair(measured, alike, first, tooling, other)
        ],
    )
    metric_files.write(
        out_factors,
        ATLAS_FACTORS,
        [
            (*task, factor, metric, pairs, *estimate, len(shared), missing)
            for factor, metric, pairs, estimate in atlas.factors(parts, measured, alike)
        ],
    )
    spec = [draws[shared[0]][1].spec.hardware.json for draws in toolings.values()]
    metric_files.write(
        out_toolings,
        ATLAS_TOOLINGS,
        [
            (*task, name, *part, tooling.get("environment", ""))
            for name, part, tooling in zip(names, parts, spec, strict=True)
        ],
    )


def _alike(parts: list[list[np.ndarray]], stack: list[list[tuple[np.ndarray, Run]]]) -> np.ndarray:
    """What was read of each run, tooling x draw, as one array; runs of one task have it in one shape."""
    first = parts[0][0].shape
    for row, of_runs in zip(parts, stack, strict=True):
        for part, (_, run) in zip(row, of_runs, strict=True):
            if part.shape != first:
                what = f"found logits, weights or epochs of shape {part.shape}"
                raise BadInput(run.folder, "", what, f"{first}, as those of {stack[0][0][1].folder}")
    return np.array(parts)


def _of_epochs(run: Run) -> np.ndarray:
    return np.array([row["weights_sha256"] for row in run.history()])


def _part(run: Run) -> ToolingPart:
    tooling = run.spec.hardware.json
    try:
        version = run.record["observed"]["versions"][tooling["engine"]]
    except (KeyError, TypeError):
        place = run.folder / "run.json"
        raise BadInput(place, "observed", "no version of the engine", "the record that train wrote") from None
    return ToolingPart(tooling["engine"], version, tooling["kernels"], tooling["isa"], str(tooling["threads"]))


def _digest(logits: np.ndarray, run: Run) -> str:
    """A digest of all that a run gives: its logits and every tensor."""
    weights, _ = runs.weight_digests(run.weights())
    return sha256(np.ascontiguousarray(logits).tobytes() + weights.encode()).hexdigest()
