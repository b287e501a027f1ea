"""The report of diff as lines for a person, by the names that --json has, which also has all of each list."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolnoise.base.printing import aligned, escaped
from toolnoise.provenance.diff import NULL_OR_MISSING, shortened

# Items shown of a long list, and rows of a long table.
SHOWN = 10
# Enough digits to distinguish two digests by eye.
DIGITS = 12
# What is told as A's and B's.
PAIRS = ("emulated_noise", "moved_bit", "epochs", "status", "test_accuracy", "test_loss", "train_loss", "accuracy")
LABELS = {
    "initial_equal": "initial weights equal",
    "only_a": "only in A",
    "only_b": "only in B",
    "but_for_times": "equal except times",
}


def as_text(compared: Mapping[str, Any]) -> str:
    """The differences between A and B."""
    lines = [f"A  {escaped(compared['a'])}", f"B  {escaped(compared['b'])}", ""]
    told = {"run": _run, "cell": _cell, "results": _study}[compared["kind"]]
    for part in compared.get("studies", [compared]):
        lines += [f"study {escaped(part['name'])}"] if "name" in part else []
        lines += [*_made_from(part["made_from"]), "", *told(part), ""]
    if compared["kind"] == "results":
        lines += _facts({f"only_{side}": compared[f"only_{side}"] for side in "ab"})
        equal = "every file except times"
    else:
        missing = _not_compared(compared.get("runs", [compared]))
        equal = "weights and other arrays, history except times" + (f" ({missing})" if missing else ", predictions")
    lines += ["", f"bit-equal: {equal}" if compared["equal"] else "they differ"]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))


def _not_compared(runs: Sequence[Mapping[str, Any]]) -> str:
    """The runs whose predictions were not compared, with the reasons; nothing if all were."""
    why = [run["predictions"]["not_compared"] for run in runs if "not_compared" in run["predictions"]]
    of_runs = f" for {len(why)} of {len(runs)} shared runs" if len(runs) > 1 else ""
    return f"dumps of predictions were not compared{of_runs}: {'; '.join(dict.fromkeys(why))}" if why else ""


def _made_from(parts: Mapping[str, Any]) -> Iterator[str]:
    for part, rows in parts.items():
        told = [f"{escaped(row['key'])}: {_change(row['a'], row['b'])}" for row in rows or ()]
        told = told or ["the same" if rows is not None else "not known for both: a statement is missing"]
        yield from (f"{'' if number else part:<12} {line}" for number, line in enumerate(told))


def _change(old: Any, new: Any) -> str:
    if old is None and new is None:
        return NULL_OR_MISSING
    if isinstance(old, list) and isinstance(new, list) and all(isinstance(item, str) for item in (*old, *new)):
        signs = [f"-{item}" for item in old if item not in new] + [f"+{item}" for item in new if item not in old]
        if signs:
            return escaped(" ".join(signs))
    texts = map(shortened, (old, new))
    return escaped(" -> ".join(text[:DIGITS] if re.fullmatch(r"[0-9a-f]{40,64}", text) else text for text in texts))


def _run(compared: Mapping[str, Any]) -> Iterator[str]:
    parted = dict(compared["parting"])
    tensors = [row for row in parted.pop("tensors") if row["l2"] != 0]
    arrays = [f"{escaped(row['array'])}: {escaped(row['first'])}" for row in compared["other_arrays"]["differ"]]
    yield from (*_facts(parted), "", *_table(tensors[:SHOWN]), *_more(tensors), "", *arrays[:SHOWN], *_more(arrays))
    yield from ("", "predictions", *_facts(compared["predictions"]))


def _cell(compared: Mapping[str, Any]) -> Iterator[str]:
    rows = []
    for run in compared["runs"]:
        parted, predictions = run["parting"], run["predictions"]
        row = {"seed": run["seeds"][0], "equal": run["equal"], "first_epoch": parted["weights_differ_from_epoch"]}
        row |= {name: predictions[name] for name in ("churn", "mean_absolute_difference") if name in predictions}
        rows.append(row | {"l2_unit": parted["l2_unit"], "test_accuracy": _pair(*parted["test_accuracy"])})
    yield from (*_table(rows), "")
    arrays = dict.fromkeys(row["array"] for run in compared["runs"] for row in run["other_arrays"]["differ"])
    yield from _facts({**compared["seeds"], "other_arrays_that_differ": [*arrays], **compared["summary"]})
    means = [{"mean_of": name, **about} for name, about in compared["summary"]["metrics"].items() if about["n_runs"]]
    yield from ("", *_table(means), "", _not_compared(compared["runs"]))


def _study(compared: Mapping[str, Any]) -> Iterator[str]:
    yield from _facts({name: value for name, value in compared.items() if name not in ("name", "differ", "cells")})
    differ, rows = compared["differ"], []
    yield from (f"differs: {escaped(row['path'])}, {escaped(row['first'])}" for row in differ[:SHOWN])
    yield from _more(differ)
    for cell in compared["cells"]:
        summary = dict(cell.get("summary", {}))
        means = {name: about["value"] for name, about in summary.pop("metrics", {}).items() if about["n_runs"]}
        equal = f"only in {cell['only'].upper()}" if "only" in cell else cell["equal"]
        rows.append({"cell": cell["cell"], "equal": equal, **summary, **means})
        if "damaged" in cell:
            yield f"cannot be compared: {escaped(cell['cell'])}: {escaped(cell['damaged'])}"
    yield from ("", *_table(rows))


def _facts(values: Mapping[str, Any]) -> Iterator[str]:
    """A line for each value but those that are absent or empty, or have a table."""
    for name, value in values.items():
        if name in PAIRS and value != [None, None]:
            yield f"{_label(name):<26} {_pair(*value)}"
        elif name not in PAIRS and value is not None and value != [] and not isinstance(value, dict):
            yield f"{_label(name):<26} {_text(value)}"


def _table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Rows as aligned columns, by the names in all of them."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[_text(row[name]) if name in row else "" for name in names] for row in rows]
    return aligned([[_label(name) for name in names], *cells]) if rows else []


def _more(values: Sequence[Any]) -> list[str]:
    return [f"... and {len(values) - SHOWN} more"] if len(values) > SHOWN else []


def _label(name: str) -> str:
    return LABELS.get(name, name.replace("_", " "))


def _pair(a: Any, b: Any) -> str:
    change = f" ({b - a:+.4g})" if isinstance(a, float) and isinstance(b, float) else ""
    return _text(a) if a == b else f"{_text(a)} -> {_text(b)}{change}"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        more = ", ..." if len(value) > SHOWN else ""
        return escaped(f"{len(value)}: {', '.join(map(str, value[:SHOWN]))}{more}")
    return escaped(shortened(value))
