"""The report of diff as lines for a person; --json has all of it."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from toolnoise.base.printing import aligned, counted, escaped
from toolnoise.provenance.differences import NULL_OR_MISSING, shown

# Items shown of a long list; --json has all.
SHOWN = 10
# Enough digits to distinguish two digests by eye.
DIGITS = 12
# The metrics in every table of cells, and the one of some programs alone.
TOLD, NOT_OF_ALL = ("churn", "l2_unit", "accuracy_difference"), "mean_absolute_difference"
FLIPS = {
    "a_right_b_wrong": "A right, B wrong",
    "a_wrong_b_right": "A wrong, B right",
    "both_wrong_differently": "both wrong, differently",
}


def as_text(compared: dict[str, Any]) -> str:
    """The differences between A and B."""
    lines = [f"A  {escaped(compared['a'])}", f"B  {escaped(compared['b'])}", ""]
    if compared["kind"] == "results":
        for study in compared["studies"]:
            lines += [f"study {escaped(study['name'])}", *_made_from(study["made_from"]), "", *_study(study), ""]
        lines += [
            f"only in {side.upper()}: study {escaped(name)}" for side in "ab" for name in compared[f"only_{side}"]
        ]
    else:
        told = _run if compared["kind"] == "run" else _cell
        lines += [*_made_from(compared["made_from"]), "", *told(compared)]
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
    missing = _not_compared(runs)
    return f"bit-equal: {', '.join(parts)}" + (f" ({missing})" if missing else ", predictions")


def _not_compared(runs: Sequence[dict[str, Any]]) -> str:
    """The runs whose predictions were not compared, with the reasons; nothing if all were."""
    why = [run["predictions"]["not_compared"] for run in runs if "not_compared" in run["predictions"]]
    of_runs = f" for {len(why)} of {len(runs)} shared runs" if len(runs) > 1 else ""
    return f"dumps of predictions were not compared{of_runs}: {'; '.join(dict.fromkeys(why))}" if why else ""


def _made_from(parts: dict[str, Any]) -> Iterator[str]:
    for part, changes in parts.items():
        if not changes:
            same = "the same" if changes is not None else "not known for both: a statement is missing"
            yield f"{part:<12} {same}"
        for number, change in enumerate(changes or ()):
            yield f"{'' if number else part:<12} {escaped(change['key'])}: {_change(change['a'], change['b'])}"


def _change(old: Any, new: Any) -> str:
    if old is None and new is None:
        return NULL_OR_MISSING
    if isinstance(old, list) and isinstance(new, list) and all(isinstance(item, str) for item in (*old, *new)):
        signs = [f"-{item}" for item in old if item not in new] + [f"+{item}" for item in new if item not in old]
        if signs:
            return escaped(" ".join(signs))
    texts = map(shown, (old, new))
    return escaped(" -> ".join(text[:DIGITS] if re.fullmatch(r"[0-9a-f]{40,64}", text) else text for text in texts))


def _run(compared: dict[str, Any]) -> Iterator[str]:
    parted = compared["parting"]
    epoch, tensors = parted["weights_differ_from_epoch"], parted["tensors_that_differ_then"]
    noise = ", including the emulated noise" if any(parted["emulated_noise"]) else ""
    told = {
        "initial weights": {True: "the same", False: "differ", None: "not known for both"}[parted["initial_equal"]],
        "draws": _since(parted["draws_differ_from_epoch"]) + noise,
        "moved bit": _unless_equal(map(_moved, parted["moved_bit"])),
        "weights": _weights(parted) + (f", in {counted(len(tensors), 'tensor')}: {_some(tensors)}" if epoch else ""),
        "epochs": _unless_equal(map(str, parted["epochs"])),
        "status": _unless_equal(parted["status"]),
        "history": "" if epoch or parted["history_equal"] else _since(parted["history_differs_from_epoch"]),
        **{name.replace("_", " "): _ends(parted[name]) for name in ("test_accuracy", "test_loss", "train_loss")},
    }
    yield from (f"{name:<16} {text}" for name, text in told.items() if text)
    yield ""
    if parted["tensors_not_shared"]:
        yield f"tensors in only one of them, or with different shapes: {_some(parted['tensors_not_shared'])}"
    if apart := [row for row in parted["tensors"] if row["l2"] != 0]:
        yield f"weights at the end: l2_unit {_number(parted['l2_unit'])}, l2_raw {_number(parted['l2_raw'])}"
        rows = [(row["tensor"], _number(row["relative_l2"]), _number(row["l2"])) for row in apart[:SHOWN]]
        yield from aligned([("tensor", "relative L2", "L2"), *rows])
        yield f"... and {len(apart) - SHOWN} more\n" if len(apart) > SHOWN else ""
    for number, row in enumerate(compared["other_arrays"]["differ"][:SHOWN]):
        yield f"{'' if number else 'other arrays':<16} {escaped(row['array'])}: {escaped(row['first'])}"
    if (count := len(compared["other_arrays"]["differ"])) > SHOWN:
        yield f"... and {count - SHOWN} more"
    yield from _predictions(compared)


def _unless_equal(pair: Iterator[str] | Sequence[str]) -> str:
    one, other = pair
    return "" if one == other else f"{one} -> {other}"


def _moved(move: Any) -> str:
    if not isinstance(move, dict):
        return "none" if move is None else escaped(shown(move))
    place = f"{move.get('tensor')} {move.get('index')}"
    return escaped(f"{place} {'up' if move.get('up') else 'down'} after epoch {move.get('after_epoch')}")


def _predictions(run: dict[str, Any]) -> Iterator[str]:
    found, what = run["predictions"], "numbers" if "numbers" in run["predictions"] else "examples"
    if "not_compared" in found:
        yield _not_compared([run])
    elif found["logits_bit_equal"]:
        yield f"predictions bit-equal: all {found[what]} {what}"
    elif what == "numbers":
        by = [_number(found[name]) for name in ("mean_absolute_difference", "largest_difference")]
        differ = f"{found['differ']} of {found[what]} numbers differ"
        yield f"predictions: {differ}, by {by[0]} on average and at most {by[1]}"
    else:
        yield f"predictions: churn {_number(found['churn'])}, {len(found['differ'])} of {found[what]} examples"
        kinds = FLIPS if "accuracy" in found else {"differ": "without labels"}
        yield from (
            f"  {told:<24} {len(found[kind]):>5}  {_some(found[kind])}".rstrip() for kind, told in kinds.items()
        )


def _cell(compared: dict[str, Any]) -> Iterator[str]:
    runs, summary = compared["runs"], compared["summary"]
    # What programs of values or losses leave has no churn.
    apart = NOT_OF_ALL if summary["metrics"][NOT_OF_ALL]["n_runs"] else "churn"
    rows = [("seed", "weights", "test accuracy", apart, "l2_unit")]
    for run in runs:
        parted = run["parting"]
        weights = "bit-equal" if run["equal"] else _weights(parted)
        numbers = _number(run["predictions"].get(apart)), _number(parted["l2_unit"])
        rows.append((str(run["seeds"][0]), weights, _ends(parted["test_accuracy"]), *numbers))
    yield from (*aligned(rows), "") if runs else ()
    yield from _only(compared["seeds"], "seed")
    if others := dict.fromkeys(row["array"] for run in runs for row in run["other_arrays"]["differ"]):
        yield f"other arrays that differ: {_some([*others])}"
    yield from filter(None, [_not_compared(runs)])
    yield f"{summary['bit_equal']} of {summary['runs']} shared runs bit-equal"
    if summary["bit_equal"] < summary["runs"]:
        metrics = [(name, about) for name, about in summary["metrics"].items() if about["n_runs"] or name in TOLD]
        means = [(name, *map(_number, (about["value"], about["low"], about["high"]))) for name, about in metrics]
        counts = [str(about["n_runs"]) for _, about in metrics]
        rows = [(*mean[:2], f"[{mean[2]}, {mean[3]}]", count) for mean, count in zip(means, counts, strict=True)]
        yield from aligned([("mean of", "value", "95 %", "runs"), *rows])


def _study(compared: dict[str, Any]) -> Iterator[str]:
    yield f"{compared['bit_equal']} files equal, {compared['but_for_times']} of them except times"
    for row in compared["differ"][:SHOWN]:
        yield f"differs: {escaped(row['path'])}, {escaped(row['first'])}"
    if (count := len(compared["differ"])) > SHOWN:
        yield f"... and {count - SHOWN} more differ"
    yield from _only(compared, "file")
    if compared["no_plain_files"]:
        yield f"not plain files, not read: {_some(compared['no_plain_files'])}"
    if compared["not_compared"]:
        yield f"measured times, not compared: {_some(compared['not_compared'])}"
    for cell in compared["cells"]:
        if "damaged" in cell:
            yield f"cannot be compared: {escaped(cell['cell'])}: {escaped(cell['damaged'])}"
    whole = [cell for cell in compared["cells"] if "damaged" not in cell]
    with_numbers = any(cell["summary"]["metrics"][NOT_OF_ALL]["n_runs"] for cell in whole if "summary" in cell)
    told = [*TOLD, *([NOT_OF_ALL] if with_numbers else [])]
    if whole:
        yield ""
        yield from aligned([("cell", "runs", "first epoch", *told), *(_row(cell, told) for cell in whole)])


def _row(cell: dict[str, Any], told: Sequence[str]) -> tuple[str, ...]:
    name = escaped(cell["cell"])
    if "summary" not in cell:
        return name, f"only in {cell['only'].upper()}" if "only" in cell else "bit-equal", "", *[""] * len(told)
    summary = cell["summary"]
    equal = f"{summary['bit_equal']} of {summary['runs']} bit-equal"
    if missing := summary["predictions_not_compared"]:
        equal += f", predictions of {missing} not compared"
    means = [_number(summary["metrics"][metric]["value"]) for metric in told]
    return name, equal, str(summary["first_epoch_that_differs"] or "none"), *means


def _only(compared: dict[str, Any], what: str) -> Iterator[str]:
    for side in "ab":
        if names := compared[f"only_{side}"]:
            yield f"only in {side.upper()}: {counted(len(names), what)}: {_some(names)}"


def _some(values: Sequence[Any]) -> str:
    more = f", ... ({len(values)})" if len(values) > SHOWN else ""
    return escaped(", ".join(map(str, values[:SHOWN])) + more)


def _weights(parted: dict[str, Any]) -> str:
    epoch = parted["weights_differ_from_epoch"]
    differ_unseen = not epoch and not parted["weights_bit_equal"]
    return "differ at the end, which the digests in the histories do not show" if differ_unseen else _since(epoch)


def _since(epoch: int | None) -> str:
    return f"differ from epoch {epoch} on" if epoch else "the same in every epoch"


def _ends(values: Sequence[float | None]) -> str:
    value_a, value_b = values
    change = f" ({value_b - value_a:+.4g})" if None not in values and value_a != value_b else ""
    return f"{_number(value_a)} -> {_number(value_b)}{change}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
