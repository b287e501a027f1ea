"""`tn.noise`: how far runs of one method are apart, and how far chance alone would put them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import log_softmax

from toolnoise import streams
from toolnoise.api import arguments
from toolnoise.api.compare import arm_of, labels_of
from toolnoise.api.results import POINTS, Result, in_percent, plain, row_of
from toolnoise.base.errors import BadInput
from toolnoise.base.printing import counted
from toolnoise.comparison import arms
from toolnoise.comparison.arms import PREDICTIONS, RIGHTS, Arm
from toolnoise.comparison.label_files import Truth
from toolnoise.formulas import Row, stability
from toolnoise.formulas.equal_runs import BIT_EQUAL
from toolnoise.formulas.outputs import kind
from toolnoise.formulas.weights import Apart

NULLS = ("accuracy_sd_independent_null", "accuracy_sd_binomial_null")


def noise(predictions: Any, labels: Any, *, seed: int = 0) -> Result:
    """How far runs are apart: accuracy, its SD, churn, cross-entropy of scores, by class, each with an interval.

    Beside the SD stand those that the same errors would give if examples erred independently. Predictions are as for
    `tn.churn`, or a file; `seed` is that of the bootstrap.

    >>> import numpy as np
    >>> import toolnoise as tn
    >>> labels = np.arange(60) % 3
    >>> runs = [np.where(np.arange(60) % (5 + run), labels, 0) for run in range(4)]
    >>> found = tn.noise(runs, labels)
    >>> round(found["accuracy_mean"]["value"], 3), round(found["churn"]["value"], 3)
    (0.921, 0.142)
    """
    of_all = labels_of(labels)
    paths = arguments.paths(predictions) or []
    if len(paths) == 1:  # scores of one file are kept: those of many need not fit into memory together
        answers = arms.read_file(paths[0], PREDICTIONS, of_all)
    else:
        answers = arm_of("predictions", predictions, PREDICTIONS, of_all)
    if answers.kind == RIGHTS or of_all.answers is None or of_all.units > 1:
        raise BadInput("predictions", "", "found no class for each example", "classes or scores, and one label each")
    rows = _measured(answers, of_all.answers, streams.key(seed, streams.ANALYSIS, 0, "noise"))
    by_group: dict[str, dict[str, Any]] = {}
    for metric, group, estimate in rows:
        by_group.setdefault(group, {})[metric] = plain(estimate)
    whole = by_group.pop("all")
    values = {"runs": answers.runs, "examples": of_all.examples, **whole, "classes": by_group}
    return Result(_text(rows, answers.runs, of_all), values, [row_of(*row) for row in rows])


def _measured(answers: Arm, labels: np.ndarray, stream: int) -> list[Row]:
    classes = 1 + max(int(answers.answers.max()), int(labels.max()))
    weights = Apart({}, equal=False)
    groups: dict[str, np.ndarray] = {}
    logits = None if answers.scores is None or answers.entropies is None else _logits(answers.scores)
    # The logarithm of a probability of 0 has no correlation: rows without a value are left out.
    with np.errstate(invalid="ignore"):
        rows = stability.stability(answers.answers, labels, classes, groups, weights, stream, scores=logits)
    together = [np.arange(answers.runs)]
    rows += stability.of_all_draws(answers.answers, labels, classes, groups, together, rows)
    # Of the runs, only their answers are known, not their bits.
    return [row for row in rows if not np.isnan(row[-1].value) and row[0] != BIT_EQUAL]


def _logits(scores: np.ndarray) -> np.ndarray:
    """Scores as logits; if a run has probabilities, all runs as logarithms of these, as correlations need them."""
    kinds = [kind(run) for run in scores]
    if "probabilities" not in kinds:
        return scores
    scores = scores.astype(np.result_type(scores, np.float32), copy=False)
    with np.errstate(divide="ignore"):
        logs = [
            np.log(run) if of == "probabilities" else log_softmax(run, axis=-1)
            for run, of in zip(scores, kinds, strict=True)
        ]
    return np.stack(logs)


def _text(rows: Sequence[Row], runs: int, labels: Truth) -> str:
    of = {metric: estimate for metric, group, estimate in rows if group == "all"}
    mean, sd, churned = (of.get(name) for name in ("accuracy_mean", "accuracy_sd", "churn"))
    lines = [f"{counted(runs, 'run')} of {labels.examples} examples"]
    lines += [f"accuracy {in_percent(mean)}"] if mean else []
    lines += [f"SD of accuracy {in_percent(sd, ' points')}"] if sd else ["SD of accuracy and churn: from two runs on"]
    nulls = [f"{POINTS * of[name].value:.3g}" for name in NULLS if name in of]
    lines += [f"  if examples erred independently: {nulls[0]} points"] if sd and nulls else []
    lines += [f"churn {in_percent(churned)}: the share of examples on which two runs differ"] if churned else []
    return "\n".join(lines)
