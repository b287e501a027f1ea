"""`tn.compare`: is one method better than another?"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from toolnoise.api import given, tables
from toolnoise.api.results import Compared, of_intervals, rows_of
from toolnoise.base.errors import BadInput
from toolnoise.comparison import arms as arms_on_examples
from toolnoise.comparison import comparison, comparison_text, label_files, read_arms
from toolnoise.comparison.arms import PREDICTIONS, Arm
from toolnoise.comparison.comparison_text import WORDS, Block, laid_out
from toolnoise.comparison.designs import Assumption
from toolnoise.comparison.evals import compared_logs, log_files, logs_text
from toolnoise.comparison.evals.scored import Asked as Scores
from toolnoise.comparison.label_files import Truth
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
    kind = sniff(
        named, metrics, arms_on_examples.kind_asked(values=values, losses=losses), correct=correct, cluster=cluster
    )
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
    if kind != PREDICTIONS and by_label:
        raise BadInput("command line", "--by-label", f"found {kind}", "many labels, of 0 and 1")
    if kind == PREDICTIONS and labels is None and named[0] is None:
        tables.require_predictions(_name(0), arms[0])
    truth = _truth(labels, arms[0], named[0], kind)
    asked = truth.asked if truth and by_label else ()
    if truth and by_label and not asked:
        what = f"found labels of {truth.source} that are not many, of 0 and 1, for each example"
        raise BadInput("command line", "--by-label", what, "examples x labels")
    read = [_read(place, arm, kind, truth) for place, arm in enumerate(arms)]
    arms_on_examples.require_comparable(read, paired, same_start)
    found = comparison.compare_all(read, assumption, asked)
    words = WORDS[found[0].kind]
    label = f"difference in {words.name}" + f",{words.unit}" * bool(words.unit)
    blocks, as_json = comparison_text.blocks(found), comparison_text.as_json(found)
    return _result(blocks, as_json, f"{words.key}difference", label, words.scale)


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


def _truth(labels: Any, first: Any, paths: list[str] | None, kind: str) -> Truth | None:
    """The labels or the true values: in an array, in a file, or those that the first arm has or its study."""
    if kind == LOSSES:
        if labels is not None:
            allowed = "none: a loss is no prediction of a label"
            raise BadInput("command line", "--labels", "found it with losses", allowed)
        return None
    if kind == PREDICTIONS:
        if labels is not None:
            return given.labels(labels)
        # Right and wrong answers, run x N, need none; whatever else does is told so.
        count = None if paths else given.arrays(_name(0), first)[0].shape[-1]
        return arms_on_examples.labels_of(paths) if paths else Truth("", None, count)
    if labels is None and paths is not None:
        labels = arms_on_examples.data_of(paths)
    if given.is_path(labels):
        return label_files.numbers(str(labels))
    return label_files.of_numbers("labels", given.array("labels", labels))


def _read(place: int, arm: Any, kind: str, truth: Truth | None) -> Arm:
    if (paths := given.paths(arm)) is not None:
        return arms_on_examples.read(paths, kind, truth)
    return arms_on_examples.of_arrays(_name(place), given.arrays(_name(place), arm), kind, truth)
