"""`tn.churn`: the share of examples that two runs of one method answer differently."""

from typing import Any

import numpy as np

from toolnoise.api import arguments
from toolnoise.api.results import Result, in_percent, plain, row_of
from toolnoise.base.errors import BadInput
from toolnoise.formulas import churn as formula
from toolnoise.stats.jackknife import pairwise_jackknife

KINDS = {"U": "texts", "S": "texts", "b": "True and False"}
WANTED = "run x N whole numbers or texts, with tokens or pixels in one axis; or run x N x class scores with fractions"


def churn(predictions: Any) -> Result:
    """The share of examples that two runs answer differently: its mean over pairs of runs, with a 95 % interval.

    Predictions are an array, run x N classes or run x N x class scores, or a list of arrays, one a run.

    >>> import toolnoise as tn
    >>> tn.churn([[0, 1, 2, 0], [0, 1, 1, 0], [0, 2, 2, 0]])["churn"]["value"]
    0.3333333333333333
    """
    arrays = arguments.arrays("predictions", predictions)
    if len(kinds := sorted({KINDS.get(array.dtype.kind, "numbers") for array in arrays})) > 1:
        raise BadInput("predictions", "", f"found {' beside '.join(kinds)}", "one of them in all runs")
    of_runs = [_classes(array, several=len(arrays) > 1) for array in arrays]
    if len(examples_of := sorted({run.shape[1] for run in of_runs})) > 1:
        raise BadInput("predictions", "", f"found runs of {', '.join(map(str, examples_of))} examples", "equal numbers")
    predicted = np.concatenate(of_runs)
    runs, examples = predicted.shape
    if runs < 2:
        raise BadInput("predictions", "", f"found {runs} run", "two or more")
    # Texts and large numbers name classes, too.
    _, places = np.unique(predicted, return_inverse=True)
    found = pairwise_jackknife(formula.churn(places.reshape(runs, examples).astype(np.int64))).within(0, 1)
    text = f"churn {in_percent(found)}: the share of {examples} examples on which two of {runs} runs differ"
    values = {"runs": runs, "examples": examples, "churn": plain(found)}
    return Result(text, values, [row_of("churn", "all", found)])


def _classes(array: np.ndarray, several: bool) -> np.ndarray:
    """Predicted classes, [S, N], from classes or scores of one run or several; of one run if there are more arrays."""
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise BadInput("predictions", "", "found a number that is not finite", "classes, or finite scores")
    # Scores have fractions: whole numbers in three axes may be the classes of tokens or pixels. One fraction for each
    # example, such as what a sigmoid or a regression gives, names no class.
    scored = array.ndim > 0 and array.dtype.kind == "f" and bool((array != np.floor(array)).any())
    classless = scored and (array.shape[-1] == 1 or max(array.shape) == array.size)
    if array.ndim not in ((2, 3) if scored else (1, 2)) or array.size == 0 or classless:
        what = "fractions" if scored else array.dtype
        raise BadInput("predictions", "", f"found {what} of shape {array.shape}", WANTED)
    predicted = np.atleast_2d(array.argmax(axis=-1) if scored else array)
    if several and len(predicted) > 1:
        allowed = "one run in each: N classes, or N x class scores with fractions"
        raise BadInput("predictions", "", f"found shape {array.shape} in a list of arrays", allowed)
    # Without labels, nothing else tells N x run classes, or whole numbers for scores of N examples, from run x N.
    if not scored and len(predicted) > predicted.shape[1]:
        what = f"found {array.shape[0]} x {array.shape[1]} whole numbers or texts, with more runs than examples"
        raise BadInput("predictions", "", what, "run x N classes, or a list of arrays, one a run")
    return predicted
