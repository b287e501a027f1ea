"""Reads dumps: memory-mapped arrays, each with an index of its contents."""

from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toolnoise.base import arrays, shapes
from toolnoise.base.errors import BadInput
from toolnoise.base.noise_sources import DRAWN
from toolnoise.base.shapes import COUNT, FLAG, INTEGER, TEXT, Shape
from toolnoise.formulas import outputs
from toolnoise.formulas.likeliest import CUT, LIKELIEST
from toolnoise.formulas.outcomes import LEFT, LOGITS
from toolnoise.stats.draws import Drawn

SOME = 1000  # examples that show whether a network ends in a softmax
# The parts of an index that are read.
INDEX: Shape = {"shape": [COUNT], "seeds": [INTEGER], "diverged": [FLAG], "outcome?": TEXT}
# The draws of a source; null if runs share no draw of this source.
DRAWS = shapes.ValueKind(
    "a list of each run's draws, or null",
    lambda value: value is None or (isinstance(value, list) and all(map(INTEGER.fits, value))),
)

PREDICTED: Shape = {
    "draws": {**dict.fromkeys(DRAWN, DRAWS), "*": DRAWS},
    "spec": {"study_seed": INTEGER},
    "metrics?": [TEXT],
    "lengths?": [COUNT],
}


class Predictions(NamedTuple):
    """Logits (run x example x class) with the seed, the status and the draws of each run."""

    logits: np.ndarray
    seeds: list[int]
    diverged: list[bool]
    drawn: list[Drawn]

    @property
    def finished(self) -> np.ndarray:
        """Which runs finished, and so can be measured."""
        return ~np.array(self.diverged, bool)

    @property
    def kept(self) -> np.ndarray:
        """The logits of the finished runs; they stay in their file if all runs finished."""
        return self.logits if self.finished.all() else self.logits[self.finished]

    @property
    def kept_draws(self) -> list[Drawn]:
        """The draws of the finished runs."""
        return list(compress(self.drawn, self.finished))


def read_predictions(logits: str | Path, index: str | Path) -> Predictions:
    """Read a dump and check that it is whole and fits its index."""
    stack, entry = read_stack(logits, index, {"seeds": 0, "diverged": 0}, "predict", PREDICTED)
    if stack.dtype == np.float32:
        require_logits(logits, stack, entry["diverged"])
    elif stack.dtype == LIKELIEST:
        if np.isnan(stack["label"][~np.array(entry["diverged"], bool)]).any():
            raise BadInput(logits, "", "found undefined numbers", "the log-probability of every label")
    elif not np.isfinite(stack).all():
        raise BadInput(logits, "", "found infinite or undefined numbers", "finite ones, as dump-outcomes writes them")
    return Predictions(stack, entry["seeds"], entry["diverged"], _drawn(index, entry))


def _drawn(index: str | Path, entry: dict[str, Any]) -> list[Drawn]:
    """The draws of each run; studies with equal seeds have equal draws."""
    draws, runs = entry["draws"], len(entry["seeds"])
    if any(numbers is not None and len(numbers) != runs for numbers in draws.values()):
        raise BadInput(index, "draws", "not a list of each source's draws", f"one draw for each of the {runs} runs")
    study = entry["spec"]["study_seed"]
    return [
        {source: None if numbers is None else (study, numbers[run]) for source, numbers in draws.items()}
        for run in range(runs)
    ]


def require_logits(path: str | Path, stack: np.ndarray, diverged: list[bool]) -> None:
    """Refuse a stack [S, ..., N, C] of softmax outputs: training, entropies, ensembles, correlations need logits.

    The logits must be finite. Only diverged runs, which are not measured, may have other values.
    """
    finished = np.flatnonzero(~np.array(diverged, bool))
    for run in finished:
        # A sum in float64 of finite float32s is finite.
        if not np.isfinite(stack[run].sum(dtype=np.float64)):
            raise BadInput(path, f"[{run}]", "found infinite or undefined logits", "finite ones: it did not diverge")
    if len(finished) and outputs.kind_of_scores(stack[finished[0]][..., :SOME, :]) == "probabilities":
        raise BadInput(path, "", "found probabilities", "logits, so a network without a softmax at its end")


def read_stack(
    logits: str | Path, index: str | Path, axes: dict[str, int], verb: str, keys: Shape
) -> tuple[np.ndarray, dict[str, Any]]:
    """Read a verb's dump and its index, whose lists name the entries along these axes of the dump."""
    entry = shapes.read_json_of_shape(index, {**INDEX, **keys}, f"the index that {verb} wrote")
    stack = arrays.read_npy(logits)
    outcome = entry.get("outcome")
    kind = LIKELIEST if outcome == CUT else np.dtype(LEFT.get(outcome, LEFT[LOGITS]).dtype)
    if list(stack.shape) != entry["shape"] or stack.dtype != kind:
        wanted = f"{kind} of shape {tuple(entry['shape'])}, as {Path(index).name} says"
        raise BadInput(logits, "", f"found {stack.dtype} of shape {stack.shape}", wanted)
    for key, axis in axes.items():
        if len(entry[key]) != stack.shape[axis]:
            what = "runs" if key in ("seeds", "diverged") else key
            raise BadInput(index, key, f"found {len(entry[key])}", f"one for each of the {stack.shape[axis]} {what}")
    return stack, entry
