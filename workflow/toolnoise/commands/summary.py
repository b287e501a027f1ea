"""The summary of a finished study: one line per cell, and the verdicts on claims."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from toolnoise.base import files, metric_files
from toolnoise.base.printing import aligned
from toolnoise.claims import sentences
from toolnoise.claims.judging import CLAIMS, WHOLE
from toolnoise.metrics.stability import STABILITY
from toolnoise.study import layout
from toolnoise.study.cells import Cell
from toolnoise.study.grid import Study

# The metrics of a cell that are shown; all but the last are fractions.
SHOWN = ("accuracy_mean", "accuracy_sd", "churn", "l2_unit")


def as_text(study: Study) -> str:
    """A table with accuracy, churn, weight distance and the control gate, the path of the page, and the verdicts."""
    rows = [("model", "data set", "hardware", "variant", "runs", "accuracy %", "churn %", "L2 (unit)", "control")]
    lines = aligned(rows + [_row(cell) for cell in _cells(study)])
    emulated = study.emulated()
    if emulated:
        lines.append(f"implementation noise is emulated (reduction order) on: {', '.join(emulated)}")
    lines.append(f"the page: {study.path(layout.PAGE)}")
    verdicts = _verdicts(study)
    if verdicts is None:
        lines.append("no verdicts on claims yet: snakemake claims")
    else:
        lines += ["", "Verdicts on claims:", *sentences.paragraphs(verdicts)]
    return "\n".join(lines)


def as_json(study: Study) -> dict[str, Any]:
    """The same as plain values, in fractions. What is undefined is null; so is `claims` before there are verdicts."""
    verdicts = _verdicts(study)
    return {
        "cells": list(_cells(study)),
        "emulated": list(study.emulated()),
        "page": study.path(layout.PAGE),
        "claims": None
        if verdicts is None
        else verdicts.loc[verdicts["part"] == WHOLE, ["paper", "claim", "says", "side", "verdict"]].to_dict("records"),
    }


def _cells(study: Study) -> Iterator[dict[str, Any]]:
    found = metric_files.read([study.path(layout.COLLECTED, file="stability")] if study.cells else [], STABILITY)
    found = found[found["group"] == "all"]
    values = {Cell(*row[:4]): {} for row in found.itertuples(index=False)}
    for row in found.itertuples(index=False):
        values[Cell(*row[:4])][row.metric] = row
    for cell, metrics in values.items():
        mean = metrics["accuracy_mean"]
        numbers = {name: None if math.isnan(metrics[name].value) else float(metrics[name].value) for name in SHOWN}
        control = cell.variant == "control"
        # None of another variant, and of one run, which has nothing to equal.
        bit_equal = files.read_json(study.path(layout.GATE, cell))["bit_equal"] if control else None
        runs = {"runs": int(mean.n_runs), "diverged": int(mean.n_missing)}
        yield {**cell._asdict(), **runs, **numbers, "control_bit_equal": bit_equal}


def _row(cell: dict[str, Any]) -> tuple[str, ...]:
    mean, spread, churn, distance = (cell[name] for name in SHOWN)
    missing = f" ({cell['diverged']} diverged)" if cell["diverged"] else ""
    gate = "bit-equal" if cell["control_bit_equal"] else "one run: not checked"
    return (
        *(cell[name] for name in Cell._fields),
        f"{cell['runs']}{missing}",
        f"{_number(mean, 100, 2)} ± {_number(spread, 100, 2)}",
        _number(churn, 100, 2),
        _number(distance, 1, 4),
        gate if cell["variant"] == "control" else "",
    )


def _verdicts(study: Study) -> pd.DataFrame | None:
    claims = study.path(layout.CLAIMS)
    return metric_files.read(claims, CLAIMS) if Path(claims).exists() else None


def _number(value: float | None, scale: float, digits: int) -> str:
    """A number in decimals; what they would round to zero has an exponent, and a plain 0 is exact."""
    if value is None:
        return "n/a"
    if value == 0:
        return "0"
    scaled = value * scale
    decimals = f"{scaled:.{digits}f}"
    return decimals if float(decimals) else f"{scaled:.1e}".replace("e-0", "e-")
