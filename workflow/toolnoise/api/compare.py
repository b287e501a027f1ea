"""Is one method better than another (`tn.compare_...`), and how much do its runs differ (`tn.noise`, `tn.churn`)?

Each function is for one kind of arms: metrics of runs, predictions, values or losses, or answers to questions.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import log_softmax

from toolnoise import streams
from toolnoise.api import values as inputs
from toolnoise.api.values import POINTS, Result, estimate_as_dict, in_percent, row_of, rows_of
from toolnoise.base.errors import BadArgument, BadInput
from toolnoise.base.printing import counted
from toolnoise.comparison import arms as examples
from toolnoise.comparison import comparison, comparison_text, label_files
from toolnoise.comparison.arms import PREDICTIONS, RIGHTS, Arm
from toolnoise.comparison.comparison_text import Block, laid_out
from toolnoise.comparison.label_files import Truth
from toolnoise.comparison.naming import NAMES
from toolnoise.formulas import Row
from toolnoise.formulas import churn as formula
from toolnoise.formulas.equal_runs import BIT_EQUAL
from toolnoise.formulas.outcomes import LOSSES, VALUES
from toolnoise.formulas.outputs import kind_of_scores
from toolnoise.formulas.weights import Apart
from toolnoise.stats.jackknife import pairwise_jackknife

# The kinds of values that have a churn, by NumPy's letters; all others are numbers.
KINDS = {"U": "texts", "S": "texts", "b": "True and False"}
OF_CHURN = "run x N whole numbers or texts, with tokens or pixels in one axis; or run x N x class scores with fractions"
NULLS = ("accuracy_sd_independent_null", "accuracy_sd_binomial_null")


def compare_runs(
    *tables: Any,
    metric: str | Sequence[str],
    by: str | None = None,
    seed: str | None = None,
    session: str | None = None,
    last: bool = False,
    best: bool = False,
    lower: inputs.Directed = False,
    higher: inputs.Directed = False,
    paired: bool = False,
    against: str | None = None,
) -> Result:
    """Compare arms by metrics of their runs: one table of all arms, or one of each.

    A table is a path, a list of paths, one a run, a DataFrame, or a list of numbers. `by`, `seed` and `session` name
    columns; `last` or `best` says which of several steps counts; `lower` and `higher` are metrics, or True for all.

    >>> import toolnoise as tn
    >>> found = tn.compare_runs([0.91, 0.92, 0.93, 0.90], [0.95, 0.93, 0.96, 0.94], metric="accuracy")
    >>> round(found["comparisons"][0]["pvalue"], 4)
    0.0167
    """
    from toolnoise.comparison import compared_metrics
    from toolnoise.comparison.metric_runs import read_runs

    asked = inputs.asked_of_tables(
        metric, by=by, seed=seed, session=session, last=last, best=best, lower=lower, higher=higher, paired=paired
    )
    runs = read_runs(inputs.metric_tables(tables), asked)
    found = compared_metrics.compare(runs, against)
    values, block = compared_metrics.as_json(runs, found), compared_metrics.block(runs, found)
    # Other metrics have other units.
    first = [pair for pair in values["comparisons"] if pair["metric"] == found[0].metric]
    label = f"difference in {found[0].metric}{', points' * (found[0].unit == 'points')}"
    rows = [
        {"a": pair["a"]["name"], "b": pair["b"]["name"], "quantity": pair["metric"]}
        | dict(zip(("value", "low", "high"), pair["difference"].values(), strict=True))
        | {name: pair[name] for name in ("pvalue", "pvalue_holm", "test")}
        for pair in values["comparisons"]
    ]
    return Result(laid_out([block]), values, rows, _drawn(first, "difference", label), [block.rows])


def compare_predictions(*arms: Any, labels: Any = None, paired: bool = False) -> Result:
    """Compare arms by what their runs predict for examples with labels.

    An arm is a path, a list of paths, one a run, or an array: classes, N or run x N, or scores, N x class or
    run x N x class; or a list of arrays, one a run. `labels` are N of them, or their file; a study's dump has its own.

    >>> import numpy as np
    >>> import toolnoise as tn
    >>> labels = np.arange(60) % 3
    >>> a = [np.where(np.arange(60) % (5 + run), labels, 0) for run in range(4)]
    >>> b = [np.where(np.arange(60) % (9 + run), labels, 0) for run in range(4)]
    >>> found = tn.compare_predictions(np.array(a), np.array(b), labels=labels)
    >>> round(found["accuracy_difference"]["value"], 3), found["a"]["n_runs"]
    (0.035, 4)
    """
    _require_number(arms)
    return _on_examples(arms, PREDICTIONS, labels_of(labels, arms[0]), paired=paired)


def compare_values(*arms: Any, labels: Any = None, losses: bool = False, paired: bool = False) -> Result:
    """Compare arms by what a regression predicts for the true values in `labels`, or by `losses` of tokens.

    Arms are as for `compare_predictions`: N or N x column; losses are N x token, with NaN for padding.

    >>> import toolnoise as tn
    >>> found = tn.compare_values([[1.5, 2.5], [1.4, 2.5]], [[1.1, 2.1], [1.2, 2.1]], labels=[1.0, 2.0])
    >>> round(found["difference"]["value"], 3)
    -0.35
    """
    from toolnoise.comparison.sniff import kind_of_numbers

    _require_number(arms)
    paths, kind = inputs.paths_of_arm(arms[0]), LOSSES if losses else VALUES
    if paths is not None:
        kind = kind_of_numbers(paths, kind if losses else None) or kind
    if kind == LOSSES and labels is not None:
        raise BadArgument("labels", "found it with losses", "none: a loss is no prediction of a label")
    if kind == VALUES and labels is None and paths is not None:
        labels = examples.data_of(paths)
    if kind == LOSSES:
        return _on_examples(arms, kind, None, paired=paired)
    if inputs.is_path(labels):
        truth = label_files.read_numbers(str(labels))
    else:
        truth = label_files.numbers_of_array("labels", inputs.as_array("labels", labels))
    return _on_examples(arms, kind, truth, paired=paired)


def compare_questions(
    *logs: Any, metric: str | None = None, cluster: str | None = None, paired: bool = False
) -> Result:
    """Compare language models by their answers to questions: logs of lm-evaluation-harness or Inspect, or tables.

    A log is a path, or a list of paths, one a run. `metric` is a score that the logs have; questions alike in the field
    `cluster` are one draw.
    """
    from toolnoise.comparison import compared_questions
    from toolnoise.comparison.question_logs import Asked
    from toolnoise.comparison.sniff import read_logs_of_arms

    _require_number(logs)
    files = [inputs.paths_of_arm(log) for log in logs]
    if None in files:
        raise BadArgument("LOGS", f"found {type(logs[files.index(None)]).__name__}", "a path, or a list of paths")
    arms = read_logs_of_arms([log for log in files if log], Asked(metric, cluster), paired=paired)
    found = compared_questions.compare_all(arms, cluster, paired=paired)
    scale, unit = (100, ", points") if found[0].shares else (1, "")
    label = f"difference in {found[0].metric}{unit}"
    return _result(compared_questions.blocks(found), compared_questions.as_json(found), "difference", label, scale)


def labels_of(labels: Any, first: Any = None) -> Truth:
    """The labels in a file or an array, or those of the first arm."""
    if inputs.is_path(labels):
        return label_files.read_labels(str(labels))
    if labels is not None:
        return label_files.labels_of_array("labels", inputs.as_array("labels", labels))
    if (paths := inputs.paths_of_arm(first)) is not None:
        return examples.labels_of(paths)
    # Right and wrong answers, run x N, need no labels; other arms are refused without labels.
    name = inputs.name_of_arm(0)
    run = inputs.arrays_of_arm(name, first)[0]
    if run.ndim == 0 or run.dtype.kind not in "biu":
        allowed = "labels; or compare_runs, if these are metrics of runs"
        raise BadInput(name, "", f"found {run.dtype} of shape {run.shape}, and no labels", allowed)
    return Truth("", None, run.shape[-1])


def arm_of(name: str, arm: Any, kind: str, truth: Truth | None) -> Arm:
    """The runs of an arm, from its files or arrays; `name` is its name for messages."""
    if (paths := inputs.paths_of_arm(arm)) is not None:
        return examples.read_arm(paths, kind, truth)
    return examples.read_arrays(name, inputs.arrays_of_arm(name, arm), kind, truth)


def _on_examples(arms: Sequence[Any], kind: str, truth: Truth | None, *, paired: bool) -> Result:
    """Compare arms by the answers of their runs for examples."""
    read = [arm_of(inputs.name_of_arm(place), arm, kind, truth) for place, arm in enumerate(arms)]
    examples.require_comparable(read, paired=paired)
    found = comparison.compare_all(read, paired=paired)
    words = comparison_text.WORDS[found[0].kind]
    label = f"difference in {words.name}" + f",{words.unit}" * bool(words.unit)
    blocks, values = comparison_text.blocks(found), comparison_text.as_json(found)
    return _result(blocks, values, f"{words.key}difference", label, words.scale)


def _require_number(arms: Sequence[Any]) -> None:
    if len(arms) < 2:
        raise BadArgument("ARMS", f"found {len(arms)}", "two or more arms; or metric, if one table has metrics of all")
    if len(arms) > len(NAMES):
        raise BadArgument("ARMS", f"found {len(arms)} arms", f"at most {len(NAMES)}")


def _result(blocks: Sequence[Block], values: Mapping[str, Any], quantity: str, label: str, scale: float = 1) -> Result:
    """The result of comparisons; its plot has one quantity for each pair of arms."""
    pairs = values.get("comparisons", [values])
    rows = [{"a": pair["a"]["name"], "b": pair["b"]["name"], **row} for pair in pairs for row in rows_of(pair)]
    drawn = _drawn(pairs, quantity, label, scale)
    return Result(laid_out(blocks), values, rows, drawn, [block.rows for block in blocks])


def _drawn(
    pairs: Sequence[Mapping[str, Any]], quantity: str, label: str, scale: float = 1
) -> tuple[str, list[dict[str, Any]]]:
    """The label of the plot, and the values to plot: one quantity for each pair of arms."""
    rows = []
    for pair in pairs:
        value, low, high = (end and scale * end for end in pair[quantity].values())
        name = f"{pair['b']['name']} - {pair['a']['name']}"
        rows.append({"quantity": name, "value": value, "low": low, "high": high})
    return label, rows


def churn(predictions: Any) -> Result:
    """The share of examples that two runs answer differently: its mean over pairs of runs, with a 95 % interval.

    Predictions are an array, run x N classes or run x N x class scores, or a list of arrays, one a run.

    >>> import toolnoise as tn
    >>> tn.churn([[0, 1, 2, 0], [0, 1, 1, 0], [0, 2, 2, 0]])["churn"]["value"]
    0.3333333333333333
    """
    arrays = inputs.arrays_of_arm("predictions", predictions)
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
    values = {"runs": runs, "examples": examples, "churn": estimate_as_dict(found)}
    return Result(text, values, [row_of("churn", "all", found)])


def _classes(array: np.ndarray, several: bool) -> np.ndarray:
    """Predicted classes, [S, N], from classes or scores of one or more runs; of one run if `several` arrays exist."""
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise BadInput("predictions", "", "found a number that is not finite", "classes, or finite scores")
    # Scores must have fractions, since whole numbers in three axes may be the classes of tokens or pixels. A single
    # fraction for each example, such as the output of a sigmoid or a regression, gives no class.
    scored = array.ndim > 0 and array.dtype.kind == "f" and bool((array != np.floor(array)).any())
    classless = scored and (array.shape[-1] == 1 or max(array.shape) == array.size)
    if array.ndim not in ((2, 3) if scored else (1, 2)) or array.size == 0 or classless:
        what = "fractions" if scored else array.dtype
        raise BadInput("predictions", "", f"found {what} of shape {array.shape}", OF_CHURN)
    predicted = np.atleast_2d(array.argmax(axis=-1) if scored else array)
    if several and len(predicted) > 1:
        allowed = "one run in each: N classes, or N x class scores with fractions"
        raise BadInput("predictions", "", f"found shape {array.shape} in a list of arrays", allowed)
    # Without labels, only the shape can show N x run classes, or whole-number scores of N examples, instead of run x N.
    if not scored and len(predicted) > predicted.shape[1]:
        what = f"found {array.shape[0]} x {array.shape[1]} whole numbers or texts, with more runs than examples"
        raise BadInput("predictions", "", what, "run x N classes, or a list of arrays, one a run")
    return predicted


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
    paths = inputs.paths_of_arm(predictions) or []
    if len(paths) == 1:  # keep the scores of one file; the scores of many may not fit into memory together
        answers = examples.read_file(paths[0], PREDICTIONS, of_all)
    else:
        answers = arm_of("predictions", predictions, PREDICTIONS, of_all)
    if answers.kind == RIGHTS or of_all.answers is None or of_all.units > 1:
        raise BadInput("predictions", "", "found no class for each example", "classes or scores, and one label each")
    rows = _measured(answers, of_all.answers, streams.stream_key(seed, streams.ANALYSIS, 0, "noise"))
    by_group: dict[str, dict[str, Any]] = {}
    for metric, group, estimate in rows:
        by_group.setdefault(group, {})[metric] = estimate_as_dict(estimate)
    whole = by_group.pop("all")
    values = {"runs": answers.runs, "examples": of_all.examples, **whole, "classes": by_group}
    return Result(_text(rows, answers.runs, of_all), values, [row_of(*row) for row in rows])


def _measured(answers: Arm, labels: np.ndarray, stream: int) -> list[Row]:
    from toolnoise.formulas import stability

    classes = 1 + max(int(answers.answers.max()), int(labels.max()))
    weights = Apart({}, equal=False)
    groups: dict[str, np.ndarray] = {}
    logits = None if answers.scores is None or answers.entropies is None else _logits(answers.scores)
    # The logarithm of a probability of 0 has no correlation; rows without a value are left out.
    with np.errstate(invalid="ignore"):
        rows = stability.stability(answers.answers, labels, classes, groups, weights, stream, scores=logits)
    together = [np.arange(answers.runs)]
    rows += stability.of_all_draws(answers.answers, labels, classes, groups, together, rows)
    # Only the answers of the runs are known, not their bits.
    return [row for row in rows if not np.isnan(row[-1].value) and row[0] != BIT_EQUAL]


def _logits(scores: np.ndarray) -> np.ndarray:
    """Scores as logits; if a run has probabilities, all runs as log-probabilities, which can be correlated."""
    kinds = [kind_of_scores(run) for run in scores]
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
