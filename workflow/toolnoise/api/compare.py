"""`tn.compare`: is one method better than another?"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from toolnoise.api import given, tables
from toolnoise.api.results import Compared, of_intervals, rows_of
from toolnoise.base.errors import BadInput
from toolnoise.comparison import (
    array_files,
    compared_numbers,
    comparison,
    comparison_text,
    label_files,
    numbers,
    numbers_text,
    prediction_files,
    read_arms,
)
from toolnoise.comparison.comparison_text import Block, laid_out
from toolnoise.comparison.designs import Assumption
from toolnoise.comparison.evals import compared_logs, log_files, logs_text
from toolnoise.comparison.evals.scored import Asked as Scores
from toolnoise.comparison.label_files import Labels, Values
from toolnoise.comparison.numbers import Numbers
from toolnoise.comparison.prediction_files import Answers
from toolnoise.comparison.sniff import sniff
from toolnoise.comparison.tables import arguments
from toolnoise.formulas.outcomes import LOSSES


def compare(
    *arms: Any,
    labels: Any = None,
    paired: bool = False,
    same_start: bool = False,
    values: bool = False,
    losses: bool = False,
    by_label: bool = False,
    metric: str | Sequence[str] | None = None,
    by: str | None = None,
    seed: str | None = None,
    session: str | None = None,
    last: bool = False,
    best: bool = False,
    lower: bool | str | Sequence[str] = False,
    higher: bool | str | Sequence[str] = False,
    against: str | None = None,
    all_pairs: bool = False,
    correct: bool = False,
    cluster: str | None = None,
) -> Compared:
    """Compare each further arm with the first; arguments are the options of `toolnoise compare`.

    An arm is a path, a list of paths, one a run, or an array: classes, N or run x N, or scores, N x class or
    run x N x class; or a list of arrays, one a run. `labels` are N of them, or their file. With `values` arms are what
    a regression predicts, with `losses` those of tokens.

    With `metric`, arms have one number a run: one table of all or one of each, as files or as DataFrames (`by`, `seed`
    and `session` name columns), or numbers. `lower` and `higher` are metrics, or True for all. Logs of
    lm-evaluation-harness and Inspect are known by what they have.

    >>> import toolnoise as tn
    >>> found = tn.compare([0.91, 0.92, 0.93, 0.90], [0.95, 0.93, 0.96, 0.94], metric="accuracy")
    >>> round(found["comparisons"][0]["pvalue"], 4)
    0.0167

    >>> import numpy as np
    >>> labels = np.arange(60) % 3
    >>> a = [np.where(np.arange(60) % (5 + run), labels, 0) for run in range(4)]
    >>> b = [np.where(np.arange(60) % (9 + run), labels, 0) for run in range(4)]
    >>> found = tn.compare(np.array(a), np.array(b), labels=labels)
    >>> round(found["accuracy_difference"]["value"], 3), found["a"]["n_runs"]
    (0.035, 4)
    """
    named = [given.paths(arm) for arm in arms]
    metrics = given.texts(metric) or []
    of_predictions = {"labels": labels, "values": values, "losses": losses, "by_label": by_label}
    of_tables = given.of_tables(by=by, seed=seed, session=session, last=last, best=best, lower=lower, higher=higher)
    of_pairs = {"against": against, "all_pairs": all_pairs}
    assumption: Assumption = "paired" if paired else "same start" if same_start else "independent"
    kind = sniff(named, metrics, numbers.kind_asked(values=values, losses=losses), correct=correct, cluster=cluster)
    if kind == "questions":
        _require_two(arms)
        given.refuse(of_predictions, "found logs of language models", "no labels: logs have their scores")
        given.refuse(of_tables | of_pairs, "is for tables, found logs of language models")
        if paired and same_start:
            raise BadInput("command line", "--paired", "found --same-start, too", "one of them")
        return _of_logs([paths for paths in named if paths], metrics, cluster, assumption)
    if kind == "metrics":
        given.refuse(of_predictions | {"same_start": same_start}, "is for predictions, found with --metric")
        return tables.compare(arms, arguments.of(metrics, **of_tables, paired=paired), against, all_pairs=all_pairs)
    given.refuse(of_tables | of_pairs, "is for tables, found without --metric")
    _require_two(arms)
    if kind != "predictions":
        if by_label:
            raise BadInput("command line", "--by-label", f"found {kind}", "many labels, of 0 and 1")
        measured = _numbers(arms, named, kind, labels)
        read_arms.require_possible(measured, paired, same_start)
        return _of_numbers(measured, assumption)
    if labels is None and named[0] is None:
        tables.require_predictions(_name(0), arms[0])
    of_all = _labels(labels, arms[0])
    if by_label and not of_all.asked:
        what = f"found labels of {of_all.source} that are not many, of 0 and 1, for each example"
        raise BadInput("command line", "--by-label", what, "examples x labels")
    answers = [_answers(place, arm, of_all) for place, arm in enumerate(arms)]
    read_arms.require_comparable(answers, paired, same_start)
    return _of_predictions(answers, of_all, assumption, of_all.asked if by_label else ())


def _of_logs(
    files: Sequence[Sequence[str]], metrics: Sequence[str], cluster: str | None, assumption: Assumption
) -> Compared:
    """Logs of language models, by the one score that is named or that they have."""
    if len(metrics) > 1:
        raise BadInput("command line", "--metric", f"found {len(metrics)}", "one with logs of language models")
    arms = log_files.read_all(files, Scores(next(iter(metrics), None), cluster), paired=assumption == "paired")
    logs = compared_logs.compare_all(arms, cluster, assumption)
    scale, unit = (100, ", points") if logs[0].shares else (1, "")
    label = f"difference in {logs[0].metric}{unit}"
    return _result(logs_text.blocks(logs), logs_text.as_json(logs), "difference", label, scale)


def _of_numbers(arms: Sequence[Numbers], assumption: Assumption) -> Compared:
    """The errors of a regression, or the losses of tokens."""
    found = compared_numbers.compare_all(arms, assumption)
    label = f"difference in {numbers_text.name_of(found[0])}"
    return _result(numbers_text.blocks(found), numbers_text.as_json(found), "difference", label)


def _of_predictions(
    arms: Sequence[Answers], labels: Labels, assumption: Assumption, by_label: Sequence[str]
) -> Compared:
    """Classes, scores, or right and wrong answers."""
    judged, right = read_arms.right_or_wrong(arms, labels)
    found = comparison.compare_all(judged, right, assumption, by_label)
    blocks, values = comparison_text.blocks(found), comparison_text.as_json(found)
    return _result(blocks, values, "accuracy_difference", "difference in accuracy, points", 100)


def _require_two(arms: Sequence[Any]) -> None:
    if len(arms) < 2:
        raise BadInput("command line", "ARMS", f"found {len(arms)}", "two or more arms")


def _result(
    blocks: Sequence[Block], values: Mapping[str, Any], quantity: str, label: str, scale: float = 1
) -> Compared:
    """What was found; drawn is one quantity of each pair of arms."""
    pairs = values.get("comparisons", [values])
    drawn = [
        {name: end and scale * end for name, end in zip(("value", "low", "high"), pair[quantity].values(), strict=True)}
        | {"quantity": f"{pair['b']['name']} - {pair['a']['name']}"}
        for pair in pairs
    ]
    tables = [block.rows for block in blocks]
    return Compared(laid_out(blocks), values, partial(_rows, pairs), of_intervals(label, drawn), tables=tables)


def _rows(pairs: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    return [{"a": pair["a"]["name"], "b": pair["b"]["name"], **row} for pair in pairs for row in rows_of(pair)]


def _name(place: int) -> str:
    """What an array is called that is the arm at this place."""
    return f"arm {read_arms.NAMES[place % len(read_arms.NAMES)]}"


def _labels(labels: Any, first: Any) -> Labels:
    if labels is None:
        if (paths := given.paths(first)) is not None:
            return read_arms.labels_of(paths)
        # Right and wrong answers, run x N, need none; whatever else does is told so.
        return Labels("", None, given.arrays(_name(0), first)[0].shape[-1])
    return given.labels(labels)


def _answers(place: int, arm: Any, labels: Labels) -> Answers:
    if (paths := given.paths(arm)) is not None:
        return read_arms.read(paths, labels)
    name = _name(place)
    runs = [prediction_files.of_array(name, array, labels)._replace(scores=None) for array in given.arrays(name, arm)]
    return read_arms.joined(name, runs, labels)


def _numbers(arms: Sequence[Any], named: Sequence[list[str] | None], kind: str, labels: Any) -> list[Numbers]:
    if kind == LOSSES and labels is not None:
        raise BadInput("command line", "--labels", "found it with losses", "none: a loss is no prediction of a label")
    truth = None if kind == LOSSES else _truth(labels, named[0])
    found = []
    for place, (arm, paths) in enumerate(zip(arms, named, strict=True)):
        if paths is None:
            found.append(_numbers_of(_name(place), given.arrays(_name(place), arm), truth))
        else:
            found.append(numbers.read_arm(paths, kind, truth))
    numbers.require_alike(found)
    return found


def _truth(labels: Any, first: list[str] | None) -> Values:
    """The true values: an array, or in a file, which is that of the study if the first arm is its dump."""
    if labels is None and first is not None:
        labels = prediction_files.data_of(read_arms.files_of(first[0])[0])
    if given.is_path(labels):
        return label_files.numbers(str(labels))
    array = given.array("labels", labels)
    array_files.require_array("labels", array, 3)
    return label_files.numbers_of("labels", array)


def _numbers_of(name: str, arrays: Sequence[np.ndarray], truth: Values | None) -> Numbers:
    """The losses in an arm's arrays, or values beside the true ones."""
    if truth is None:
        return numbers.of_losses(name, arrays)
    return numbers.joined(name, [numbers.of_values(Values(name, array), truth) for array in arrays])
