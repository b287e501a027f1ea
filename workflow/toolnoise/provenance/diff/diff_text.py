"""The report of diff as lines for a person; --json has all of it."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from toolnoise.base.printing import aligned, escaped
from toolnoise.provenance.diff.changes import NULL_OR_MISSING, shown

# Items shown of a long list; --json has all.
SHOWN = 10
TENSORS_SHOWN = 12
# Enough digits to distinguish two digests by eye.
DIGITS = 12
# The metrics in every table of cells, and those of some programs alone.
TOLD = ("churn", "l2_unit", "accuracy_difference")
NOT_OF_ALL = ("mean_absolute_difference",)


def as_text(compared: dict[str, Any]) -> str:
    """The differences between A and B."""
    lines = [f"A  {escaped(compared['a'])}", f"B  {escaped(compared['b'])}", ""]
    if compared["kind"] == "run":
        lines += [*_made_from(compared["made_from"]), "", *_run(compared)]
    elif compared["kind"] == "cell":
        lines += [*_made_from(compared["made_from"]), "", *_cell(compared)]
    else:
        for study in compared["studies"]:
            lines += [f"study {escaped(study['name'])}", *_made_from(study["made_from"]), "", *_study(study), ""]
        lines += [f"only in {side}: study {escaped(name)}" for side in "ab" for name in compared[f"only_{side}"]]
    return "\n".join([*lines, "", _verdict(compared)]).replace("\n\n\n", "\n\n")


def _verdict(compared: dict[str, Any]) -> str:
    if not compared["equal"]:
        return "they differ"
    if compared["kind"] == "results":
        return "bit-equal: every file except times"
    runs = compared["runs"] if compared["kind"] == "cell" else [compared]
    parts = ["every run's weights" if compared["kind"] == "cell" else "weights", "history except times"]
    if any(run["other_arrays"]["names"] for run in runs):
        parts.append("other arrays of weights.npz except times")
    if missing := _not_compared(runs):
        return f"bit-equal: {', '.join(parts)} ({missing})"
    return f"bit-equal: {', '.join(parts)}, predictions"


def _not_compared(runs: Sequence[dict[str, Any]]) -> str:
    """The runs whose predictions were not compared, with the reasons; nothing if all were."""
    why = [run["predictions"]["not_compared"] for run in runs if "not_compared" in run["predictions"]]
    if not why:
        return ""
    of_runs = f" for {len(why)} of {len(runs)} shared runs" if len(runs) > 1 else ""
    return f"dumps of predictions were not compared{of_runs}: {'; '.join(dict.fromkeys(why))}"


def _made_from(parts: dict[str, Any]) -> Iterator[str]:
    for part, changes in parts.items():
        if changes is None:
            yield f"{part:<12} not known for both: a statement is missing"
        elif not changes:
            yield f"{part:<12} the same"
        else:
            for number, change in enumerate(changes):
                yield f"{'' if number else part:<12} {escaped(change['key'])}: {_change(change['a'], change['b'])}"


def _change(old: Any, new: Any) -> str:
    if old is None and new is None:
        return NULL_OR_MISSING
    if isinstance(old, list) and isinstance(new, list) and all(isinstance(item, str) for item in (*old, *new)):
        signs = [f"-{item}" for item in old if item not in new] + [f"+{item}" for item in new if item not in old]
        if signs:
            return escaped(" ".join(signs))
    return escaped(f"{_short(old)} -> {_short(new)}")


def _short(value: Any) -> str:
    text = shown(value)
    return text[:DIGITS] if re.fullmatch(r"[0-9a-f]{40,64}", text) else text


def _run(compared: dict[str, Any]) -> Iterator[str]:
    parted, predictions = compared["parting"], compared["predictions"]
    initial = {True: "the same", False: "differ", None: "not known for both"}[parted["initial_equal"]]
    yield f"initial weights  {initial}"
    noise = ", including the emulated noise" if any(parted["emulated_noise"]) else ""
    yield f"draws            {_since(parted['draws_differ_from_epoch'])}{noise}"
    if parted["moved_bit"][0] != parted["moved_bit"][1]:
        yield f"moved bit        {' -> '.join(map(_moved, parted['moved_bit']))}"
    epoch, tensors = parted["weights_differ_from_epoch"], parted["tensors_that_differ_then"]
    layers = f", in {len(tensors)} tensor{'s' if len(tensors) > 1 else ''}: {_some(tensors)}" if epoch else ""
    if epoch or parted["weights_bit_equal"]:
        yield f"weights          {_since(epoch)}{layers}"
    else:
        yield "weights          differ at the end, which the digests in the histories do not show"
    if parted["epochs"][0] != parted["epochs"][1]:
        yield f"epochs           {parted['epochs'][0]} -> {parted['epochs'][1]}"
    if parted["status"][0] != parted["status"][1]:
        yield f"status           {parted['status'][0]} -> {parted['status'][1]}"
    if parted["history_differs_from_epoch"] and not epoch:
        yield f"history          {_since(parted['history_differs_from_epoch'])}"
    for name in ("test_accuracy", "test_loss", "train_loss"):
        yield f"{name.replace('_', ' '):<16} {_ends(parted[name])}"
    yield ""
    yield from _tensors(parted)
    yield from _others(compared["other_arrays"]["differ"])
    yield from _flips(predictions)


def _moved(move: Any) -> str:
    if move is None:
        return "none"
    if not isinstance(move, dict):
        return escaped(shown(move))
    place = f"{move.get('tensor')} {move.get('index')}"
    return escaped(f"{place} {'up' if move.get('up') else 'down'} after epoch {move.get('after_epoch')}")


def _tensors(parted: dict[str, Any]) -> Iterator[str]:
    apart = [row for row in parted["tensors"] if row["l2"] != 0]
    if parted["tensors_not_shared"]:
        yield f"tensors in only one of them, or with different shapes: {_some(parted['tensors_not_shared'])}"
    if not apart:
        return
    yield f"weights at the end: l2_unit {_number(parted['l2_unit'])}, l2_raw {_number(parted['l2_raw'])}"
    rows = [(row["tensor"], _number(row["relative_l2"]), _number(row["l2"])) for row in apart[:TENSORS_SHOWN]]
    yield from aligned([("tensor", "relative L2", "L2"), *rows])
    if len(apart) > TENSORS_SHOWN:
        yield f"... and {len(apart) - TENSORS_SHOWN} more"
    yield ""


def _others(differ: list[dict[str, str]]) -> Iterator[str]:
    for number, row in enumerate(differ[:SHOWN]):
        yield f"{'' if number else 'other arrays':<16} {escaped(row['array'])}: {escaped(row['first'])}"
    if len(differ) > SHOWN:
        yield f"... and {len(differ) - SHOWN} more"


def _flips(predictions: dict[str, Any]) -> Iterator[str]:
    if "not_compared" in predictions:
        yield f"dumps of predictions were not compared: {predictions['not_compared']}"
    elif "numbers" in predictions:
        yield from _numbers(predictions)
    elif predictions["logits_bit_equal"]:
        yield f"predictions bit-equal: the logits of all {predictions['examples']} examples"
    else:
        count, examples = len(predictions["differ"]), predictions["examples"]
        yield f"predictions: churn {_number(predictions['churn'])}, {count} of {examples} examples"
        names = {"a_right_b_wrong": "A right, B wrong", "a_wrong_b_right": "A wrong, B right"}
        names |= {"both_wrong_differently": "both wrong, differently"}
        for name, label in names.items():
            if name in predictions:
                yield f"  {label:<24} {len(predictions[name]):>5}  {_some(predictions[name])}".rstrip()
        if "accuracy" not in predictions:
            yield f"  {'without labels':<24} {count:>5}  {_some(predictions['differ'])}"


def _numbers(predictions: dict[str, Any]) -> Iterator[str]:
    if predictions["logits_bit_equal"]:
        yield f"predictions bit-equal: all {predictions['numbers']} numbers"
    else:
        mean, largest = (_number(predictions[name]) for name in ("mean_absolute_difference", "largest_difference"))
        differ = f"{predictions['differ']} of {predictions['numbers']} numbers differ"
        yield f"predictions: {differ}, by {mean} on average and at most {largest}"


def _cell(compared: dict[str, Any]) -> Iterator[str]:
    rows = []
    # What programs of values or losses leave has no churn.
    apart = "churn"
    for run in compared["runs"]:
        parted, predictions = run["parting"], run["predictions"]
        apart = "mean_absolute_difference" if "numbers" in predictions else apart
        weights = "bit-equal" if run["equal"] else _weights(parted)
        accuracy, distance = _ends(parted["test_accuracy"]), _number(parted["l2_unit"])
        rows.append((str(run["seeds"][0]), weights, accuracy, _number(predictions.get(apart)), distance))
    if rows:
        yield from aligned([("seed", "weights", "test accuracy", apart, "l2_unit"), *rows])
        yield ""
    yield from _only(compared["seeds"], "seed")
    if others := dict.fromkeys(row["array"] for run in compared["runs"] for row in run["other_arrays"]["differ"]):
        yield f"other arrays that differ: {_some([*others])}"
    if missing := _not_compared(compared["runs"]):
        yield missing
    yield from _summary(compared["summary"])


def _summary(summary: dict[str, Any]) -> Iterator[str]:
    yield f"{summary['bit_equal']} of {summary['runs']} shared runs bit-equal"
    rows = [
        (metric, _number(about["value"]), f"[{_number(about['low'])}, {_number(about['high'])}]", str(about["n_runs"]))
        for metric, about in summary["metrics"].items()
        if about["n_runs"] or metric in TOLD
    ]
    if summary["bit_equal"] < summary["runs"]:
        yield from aligned([("mean of", "value", "95 %", "runs"), *rows])


def _study(compared: dict[str, Any]) -> Iterator[str]:
    differ = [row["path"] for row in compared["differ"]]
    yield f"{compared['bit_equal']} files equal, {compared['but_for_times']} of them except times"
    for row in compared["differ"][:SHOWN]:
        yield f"differs: {escaped(row['path'])}, {escaped(row['first'])}"
    if len(differ) > SHOWN:
        yield f"... and {len(differ) - SHOWN} more differ"
    yield from _only(compared, "file")
    if compared["no_plain_files"]:
        yield f"not plain files, not read: {_some(compared['no_plain_files'])}"
    if compared["not_compared"]:
        yield f"measured times, not compared: {_some(compared['not_compared'])}"
    damaged = [cell for cell in compared["cells"] if "damaged" in cell]
    for cell in damaged:
        yield f"cannot be compared: {escaped(cell['cell'])}: {escaped(cell['damaged'])}"
    whole = [cell for cell in compared["cells"] if cell not in damaged]
    summaries = [cell["summary"]["metrics"] for cell in whole if "summary" in cell]
    told = [*TOLD, *(name for name in NOT_OF_ALL if any(metrics[name]["n_runs"] for metrics in summaries))]
    if whole:
        yield ""
        yield from aligned([("cell", "runs", "first epoch", *told), *(_row(cell, told) for cell in whole)])


def _row(cell: dict[str, Any], told: Sequence[str]) -> tuple[str, ...]:
    name, nothing = escaped(cell["cell"]), [""] * (1 + len(told))
    if "only" in cell:
        return name, f"only in {cell['only'].upper()}", *nothing
    if "summary" not in cell:
        return name, "bit-equal", *nothing
    summary = cell["summary"]
    metrics = [_number(summary["metrics"][metric]["value"]) for metric in told]
    equal = f"{summary['bit_equal']} of {summary['runs']} bit-equal"
    if missing := summary["predictions_not_compared"]:
        equal += f", predictions of {missing} not compared"
    return name, equal, str(summary["first_epoch_that_differs"] or "none"), *metrics


def _only(compared: dict[str, Any], what: str) -> Iterator[str]:
    for side in "ab":
        if names := compared[f"only_{side}"]:
            yield f"only in {side.upper()}: {len(names)} {what}{'s' if len(names) > 1 else ''}: {_some(names)}"


def _some(values: Sequence[Any]) -> str:
    more = f", ... ({len(values)})" if len(values) > SHOWN else ""
    return escaped(", ".join(map(str, values[:SHOWN])) + more)


def _weights(parted: dict[str, Any]) -> str:
    epoch = parted["weights_differ_from_epoch"]
    return _since(epoch) if epoch or parted["weights_bit_equal"] else "differ at the end"


def _since(epoch: int | None) -> str:
    return f"differ from epoch {epoch} on" if epoch else "the same in every epoch"


def _ends(values: Sequence[float | None]) -> str:
    value_a, value_b = values
    change = f" ({value_b - value_a:+.4g})" if None not in values and value_a != value_b else ""
    return f"{_number(value_a)} -> {_number(value_b)}{change}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
