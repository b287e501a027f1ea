"""`tn.compare_runs`, `compare_predictions`, `compare_values`, `compare_questions`: is one method better than another?

Each compares every further arm with the first. What the arms are decides which function is meant.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from toolnoise.api import arguments
from toolnoise.api.results import Result, rows_of
from toolnoise.base.errors import BadArgument, BadInput
from toolnoise.comparison import arms as examples
from toolnoise.comparison import comparison, comparison_text, label_files
from toolnoise.comparison.arms import PREDICTIONS, Arm
from toolnoise.comparison.comparison_text import Block, laid_out
from toolnoise.comparison.label_files import Truth
from toolnoise.comparison.metric_names import NAMES
from toolnoise.formulas.outcomes import LOSSES, VALUES


def compare_runs(
    *tables: Any,
    metric: str | Sequence[str],
    by: str | None = None,
    seed: str | None = None,
    session: str | None = None,
    last: bool = False,
    best: bool = False,
    lower: arguments.Directed = False,
    higher: arguments.Directed = False,
    paired: bool = False,
    against: str | None = None,
    all_pairs: bool = False,
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

    asked = arguments.asked_of_tables(
        metric, by=by, seed=seed, session=session, last=last, best=best, lower=lower, higher=higher, paired=paired
    )
    runs = read_runs(arguments.metric_tables(tables), asked)
    found = compared_metrics.compare(runs, against, all_pairs=all_pairs)
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
    paths, kind = arguments.paths(arms[0]), LOSSES if losses else VALUES
    if paths is not None:
        kind = kind_of_numbers(paths, kind if losses else None) or kind
    if kind == LOSSES and labels is not None:
        raise BadArgument("labels", "found it with losses", "none: a loss is no prediction of a label")
    if kind == VALUES and labels is None and paths is not None:
        labels = examples.data_of(paths)
    if kind == LOSSES:
        return _on_examples(arms, kind, None, paired=paired)
    if arguments.is_path(labels):
        truth = label_files.numbers(str(labels))
    else:
        truth = label_files.numbers_of_array("labels", arguments.array("labels", labels))
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
    files = [arguments.paths(log) for log in logs]
    if None in files:
        raise BadArgument("LOGS", f"found {type(logs[files.index(None)]).__name__}", "a path, or a list of paths")
    arms = read_logs_of_arms([log for log in files if log], Asked(metric, cluster), paired=paired)
    found = compared_questions.compare_all(arms, cluster, paired=paired)
    scale, unit = (100, ", points") if found[0].shares else (1, "")
    label = f"difference in {found[0].metric}{unit}"
    return _result(compared_questions.blocks(found), compared_questions.as_json(found), "difference", label, scale)


def labels_of(labels: Any, first: Any = None) -> Truth:
    """The labels in a file or an array, or those that the first arm has."""
    if arguments.is_path(labels):
        return label_files.read(str(labels))
    if labels is not None:
        return label_files.labels_of_array("labels", arguments.array("labels", labels))
    if (paths := arguments.paths(first)) is not None:
        return examples.labels_of(paths)
    # Right and wrong answers, run x N, need none; whatever else does is told so.
    name = arguments.name_of_arm(0)
    run = arguments.arrays(name, first)[0]
    if run.ndim == 0 or run.dtype.kind not in "biu":
        allowed = "labels; or compare_runs, if these are metrics of runs"
        raise BadInput(name, "", f"found {run.dtype} of shape {run.shape}, and no labels", allowed)
    return Truth("", None, run.shape[-1])


def arm_of(name: str, arm: Any, kind: str, truth: Truth | None) -> Arm:
    """The runs of an arm: those in its files, or in its arrays, which have a name for messages."""
    if (paths := arguments.paths(arm)) is not None:
        return examples.read_arm(paths, kind, truth)
    return examples.read_arrays(name, arguments.arrays(name, arm), kind, truth)


def _on_examples(arms: Sequence[Any], kind: str, truth: Truth | None, *, paired: bool) -> Result:
    """Arms compared by what their runs say of examples."""
    read = [arm_of(arguments.name_of_arm(place), arm, kind, truth) for place, arm in enumerate(arms)]
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
    """What was found; one quantity of each pair of arms is drawn."""
    pairs = values.get("comparisons", [values])
    rows = [{"a": pair["a"]["name"], "b": pair["b"]["name"], **row} for pair in pairs for row in rows_of(pair)]
    drawn = _drawn(pairs, quantity, label, scale)
    return Result(laid_out(blocks), values, rows, drawn, [block.rows for block in blocks])


def _drawn(
    pairs: Sequence[Mapping[str, Any]], quantity: str, label: str, scale: float = 1
) -> tuple[str, list[dict[str, Any]]]:
    """What is drawn of each pair of arms, below what it is called."""
    rows = []
    for pair in pairs:
        value, low, high = (end and scale * end for end in pair[quantity].values())
        name = f"{pair['b']['name']} - {pair['a']['name']}"
        rows.append({"quantity": name, "value": value, "low": low, "high": high})
    return label, rows
