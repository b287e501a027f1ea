"""The differences between the outcomes of two runs of a program, bit for bit, and in words."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from toolnoise.base.times import is_time
from toolnoise.checking import tensors, unmodified
from toolnoise.checking.outcome import EPOCH, EpochTable, Outcome
from toolnoise.formulas.outcome_files import GROUPS, HISTORY, LABELS, LOGITS, LOSSES, METRIC, PREDICTIONS


class Difference(NamedTuple):
    """What differs, by files; numbers are None where an outcome has no such file or where it does not differ.

    `changed` of `examples` predictions differ, `largest` is the largest difference of a logit or a value, `tensors` are
    the names of those that differ, `n_tensors` all there are. `times` are metrics that look like times: what differs in
    them makes no file differ. `epoch` and `column` are the first in which histories differ. `outputs` says how other
    files differ that the program writes.
    """

    files: list[str]
    changed: int | None
    examples: int | None
    largest: float | None
    metrics: dict[str, tuple[float | None, float | None]]
    times: dict[str, tuple[float | None, float | None]]
    tensors: list[str]
    n_tensors: int
    epoch: int | None
    column: str | None
    outputs: dict[str, str] = {}  # noqa: RUF012 (nothing changes it)


def between(outcome: Outcome, other: Outcome) -> Difference:
    """All that differs; `files` is empty if nothing does."""
    kinds = {LOGITS: "logits", PREDICTIONS: "predictions", _file_of_losses(outcome): "losses", LABELS: "labels"}
    arrays = ({name: getattr(each, kind) for name, kind in kinds.items()} for each in (outcome, other))
    files = tensors.names_of_unequal(*arrays)
    printed = _metrics(outcome.printed, other.printed)
    changed = _metrics(outcome.metric or {}, other.metric or {}) | printed
    metrics = {name: pair for name, pair in changed.items() if not is_time(name)}
    weights = tensors.names_of_unequal(outcome.weights or {}, other.weights or {})
    epoch, column = _first(outcome.history, other.history)
    files += [METRIC] if metrics.keys() - printed.keys() else []
    files += [name for name in metrics if name in printed]
    files += ["weights"] if weights or (outcome.weights is None) != (other.weights is None) else []
    files += [HISTORY] if column else []
    files += [GROUPS] if tensors.names_of_unequal(outcome.groups, other.groups) else []
    changes = {name: unmodified.change(name, file, other.files[name]) for name, file in outcome.files.items()}
    outputs = {name: change for name, change in changes.items() if change}
    files += outputs
    answers = outcome.answers, other.answers
    comparable = answers[0] is not None and answers[1] is not None and len(answers[0]) == len(answers[1])
    return Difference(
        files,
        int(np.count_nonzero(tensors.unequal(*answers))) if comparable else None,
        len(answers[0]) if comparable else None,
        _largest(outcome, other),
        metrics,
        {name: pair for name, pair in changed.items() if name not in metrics},
        weights,
        len({**(outcome.weights or {}), **(other.weights or {})}),
        epoch,
        column,
        outputs,
    )


def timed(outcome: Outcome) -> list[str]:
    """The columns and metrics that are not compared."""
    columns = outcome.history.columns if outcome.history else []
    tables = ((HISTORY, columns), (METRIC, outcome.metric or {}), ("the output", outcome.printed))
    return [f"{name} of {file}" for file, names in tables for name in names if is_time(name)]


def _metrics(values: Mapping[str, float], others: Mapping[str, float]) -> dict[str, tuple[float | None, float | None]]:
    pairs = {name: (values.get(name), others.get(name)) for name in {**values, **others}}
    # The shortest text that gives a number back: zeros have signs, NaNs are equal.
    return {name: pair for name, pair in pairs.items() if repr(pair[0]) != repr(pair[1])}


def _file_of_losses(outcome: Outcome) -> str:
    return next((name for name in LOSSES if (outcome.folder / name).is_file()), LOSSES[0])


def _largest(outcome: Outcome, other: Outcome) -> float | None:
    # Without the padding of losses, which is no number.
    losses = [None if each.losses is None else each.answers for each in (outcome, other)]
    for a, b in ((outcome.logits, other.logits), (outcome.predictions, other.predictions), losses):
        if a is not None and b is not None and a.shape == b.shape and a.dtype.kind == "f":
            return float(np.abs(a.astype(np.float64) - b).max())
    return None


def _first(history: EpochTable | None, other: EpochTable | None) -> tuple[int | None, str | None]:
    """The first epoch and the first column in it that differ."""
    if history is None or other is None:
        return None, None if history is other else EPOCH
    if history.columns != other.columns:
        different = [
            name for name in (*history.columns, *other.columns) if (name in history.columns) != (name in other.columns)
        ]
        return None, (different or history.columns)[0]
    for a, b in zip(history.rows, other.rows, strict=False):
        for column, value, others in zip(history.columns, a, b, strict=True):
            if value != others and not is_time(column):
                return int(a[0]), column
    if len(history.rows) != len(other.rows):
        longer = max(history.rows, other.rows, key=len)
        return int(longer[min(len(history.rows), len(other.rows))][0]), EPOCH
    return None, None


def parts(changed: Difference) -> list[str]:
    """What differs between two runs, in a person's words."""
    lines = []
    # The rows of a file that --output names are its own: they may be weights.
    if changed.examples and not any(name.endswith(".npy") for name in changed.outputs):
        lines.append(f"predictions: {share(changed)}")
    if changed.largest is not None:
        lines.append(f"largest difference of a logit or value: {size(changed.largest)}")
    lines += [f"{name}: {both(*pair)}" for name, pair in changed.metrics.items()]
    if changed.tensors:
        lines.append(
            f"weights: {len(changed.tensors)} of {changed.n_tensors} tensors, the first is {changed.tensors[0]}"
        )
    lines += [f"{name}: {change}" for name, change in changed.outputs.items()]
    if changed.column:
        where = "the columns" if changed.epoch is None else f"epoch {changed.epoch}"
        lines.append(f"history: first in {where}, column {changed.column}")
    return lines


def share(changed: Difference) -> str:
    """How many predictions differ."""
    if not changed.examples:
        return ""
    return f"{changed.changed} of {changed.examples} ({100 * changed.changed / changed.examples:.3g} %)"


def of_noise(changed: Difference, noise: int | None) -> str:
    """The answers that differ, as a share of those that a new seed changes."""
    if not changed.files:
        return ""
    if not noise or changed.changed is None:
        return "unknown"
    return f"{changed.changed / noise:.2g}"


def both(value: float | None, other: float | None) -> str:
    """Two numbers that differ, with all their digits if three of them are alike."""
    short = tuple("missing" if each is None else size(each) for each in (value, other))
    return " and ".join(short if short[0] != short[1] else (repr(value), repr(other)))


def size(value: float | None) -> str:
    """A number, if there is one."""
    return "" if value is None else f"{value:.3g}"
