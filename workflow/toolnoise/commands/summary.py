"""The summary of a finished study: its findings on one screen, or one line per cell, or the verdicts on claims."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from toolnoise.base import metric_files
from toolnoise.base.errors import as_given
from toolnoise.base.noise_sources import ALGORITHMIC
from toolnoise.base.printing import aligned
from toolnoise.commands import findings
from toolnoise.formulas.equal_runs import BIT_EQUAL
from toolnoise.formulas.stability import STABILITY
from toolnoise.measures import control_gate
from toolnoise.papers.claims import judging
from toolnoise.papers.claims.judging import OPEN, REFUTED, STUDY, SUPPORTED, WHOLE, paragraphs
from toolnoise.programs import adopted_arms
from toolnoise.study import layout
from toolnoise.study.cells import Cell
from toolnoise.study.entries import dataset_name
from toolnoise.study.study import Study
from toolnoise.study.variants import variant

AGAIN = "toolnoise summary"
# The metrics of a cell that are shown; all but the last are fractions.
SHOWN = ("accuracy_mean", "accuracy_sd", "churn", "l2_unit")


def as_text(study: Study) -> str:
    """The findings, in at most 15 lines; where more of them can be read; and the page's path."""
    lines = [*findings.lines(study), *adopted_arms.summary(study), *_claims_decided(study)]
    cells = f"each cell: {AGAIN} --cells; " if study.cells else ""
    return "\n".join([*lines, f"{cells}the page: {as_given(study.path(layout.PAGE))}"])


def claims(study: Study) -> str:
    """The verdicts on claims in sentences."""
    verdicts = _verdicts(study)
    return "no verdicts on claims yet: snakemake claims" if verdicts is None else "\n".join(paragraphs(verdicts))


def table(study: Study) -> str:
    """A table of the cells with accuracy, churn, weight distance and the control gate, and what is known of some."""
    cells = [cell | {"dataset": dataset_name(cell["dataset"], study.synthetic())} for cell in _cells(study)]
    classified = [cell for cell in cells if any(cell[name] is not None for name in SHOWN) or "measured" not in cell]
    rows = [("model", "data set", "hardware", "variant", "runs", "accuracy %", "churn %", "L2 (unit)", "control")]
    lines = aligned(rows + [_row(cell) for cell in classified]) if classified else []
    lines += _others(cells)
    lines += map(_without_effect, filter(lambda cell: cell["without_effect"], cells))
    emulated = study.emulated()
    if emulated:
        lines.append(f"implementation noise is emulated (reduction order) on: {', '.join(emulated)}")
    adopted = [name for name, model in study.config["models"].items() if "adopted" in model]
    if adopted:
        lines.append(f"adopted, how they were made is not known here: {', '.join(adopted)}")
    return "\n".join(lines)


def as_json(study: Study) -> dict[str, Any]:
    """The same as plain values, in fractions. What is undefined is null."""
    values = {
        "cells": list(_cells(study)),
        "emulated": list(study.emulated()),
        "synthetic": list(study.synthetic()),
        "page": as_given(study.path(layout.PAGE)),
    }
    verdicts = _verdicts(study)
    whole = None if verdicts is None else verdicts[verdicts["part"] == WHOLE]
    told = None if whole is None else whole[["paper", "claim", "says", "side", "verdict"]].to_dict("records")
    return values | adopted_arms.summary_values(study) | {"claims": told}


def _claims_decided(study: Study) -> list[str]:
    """How many of the claims that the study is about it decides, in one line; nothing if it is about none."""
    verdicts = _verdicts(study)
    if verdicts is None:
        return []
    counted = Counter(verdicts[(verdicts["part"] == WHOLE) & (verdicts["side"] == STUDY)]["verdict"])
    decided = counted[SUPPORTED] + counted[REFUTED]
    about = decided + counted[OPEN]
    return [f"enough runs to decide {decided} of {about} claims: {AGAIN} --claims"] if about else []


def _verdicts(study: Study) -> pd.DataFrame | None:
    """The verdicts on claims; None before there are any."""
    path = study.path(layout.CLAIMS)
    return judging.read(path) if Path(path).exists() else None


def _cells(study: Study) -> Iterator[dict[str, Any]]:
    table = metric_files.read([study.path(layout.COLLECTED, file="stability")] if study.cells else [], STABILITY)
    table = table[table["group"] == "all"]
    values = {Cell(*row[:4]): {} for row in table.itertuples(index=False)}
    for row in table.itertuples(index=False):
        values[Cell(*row[:4])][row.metric] = row
    for cell, metrics in values.items():
        numbers = {name: _value(metrics, name) for name in SHOWN}
        control = cell.variant == "control"
        # None of another variant, and of one run, which has nothing to equal.
        bit_equal = control_gate.verdict(study.path(layout.GATE, cell)) if control else None
        some = next(iter(metrics.values()))
        runs = {"runs": int(some.n_runs), "diverged": int(some.n_missing)}
        # Of a training program that leaves values or a metric.
        means = [name for name in metrics if name.endswith("_mean")] if "accuracy_mean" not in metrics else []
        others = [name for mean in means for name in (mean, f"{mean.removesuffix('_mean')}_sd")]
        others += [name for name in ("mean_absolute_difference",) if name in metrics]
        measured = {"measured": {name: _value(metrics, name) for name in others}} if others else {}
        equal = _value(metrics, BIT_EQUAL) == 1
        # A study may have had this cell before.
        without_effect = _varying(study, cell) if equal and cell in study.seeds else []
        verdicts = {"control_bit_equal": bit_equal, "without_effect": without_effect}
        yield {**cell._asdict(), **runs, **numbers, **measured, **verdicts}


def _varying(study: Study, cell: Cell) -> list[str]:
    """The algorithmic sources that vary in a cell; of runs that were there before the study, none is known."""
    model = study.config["models"][cell.model]
    separated = [] if "adopted" in model else model.get("sources", ALGORITHMIC)
    return [source for source in variant(cell.variant).varying if source in separated]


def _without_effect(cell: dict[str, Any]) -> str:
    place, sources = "/".join(cell[name] for name in Cell._fields), ", ".join(cell["without_effect"])
    return f"{place}: the runs are bit-equal, so nothing that they leave depends on {sources}, which may vary"


def _value(metrics: dict[str, Any], name: str) -> float | None:
    """A metric of a cell, if it is defined."""
    return None if name not in metrics or math.isnan(metrics[name].value) else float(metrics[name].value)


def _row(cell: dict[str, Any]) -> tuple[str, ...]:
    mean, spread, churn, distance = (cell[name] for name in SHOWN)
    missing = f" ({cell['diverged']} diverged)" if cell["diverged"] else ""
    return (
        *(cell[name] for name in Cell._fields),
        f"{cell['runs']}{missing}",
        f"{_number(mean, 100, 2)} ± {_number(spread, 100, 2)}",
        _number(churn, 100, 2),
        _number(distance, 1, 4),
        _gate(cell),
    )


def _gate(cell: dict[str, Any]) -> str:
    if cell["variant"] != "control":
        return ""
    return "bit-equal" if cell["control_bit_equal"] else "one run: not checked"


def _others(cells: Sequence[dict[str, Any]]) -> list[str]:
    """A table of what programs measured that leave no classes: each metric with its value."""
    rows = [
        (*(cell[name] for name in Cell._fields), name, _number(value, 1, 4), _gate(cell))
        for cell in cells
        for name, value in cell.get("measured", {}).items()
    ]
    return ["", *aligned([(*Cell._fields, "metric", "value", "control"), *rows])] if rows else []


def _number(value: float | None, scale: float, digits: int) -> str:
    """A number in decimals; what they would round to zero has an exponent, and a plain 0 is exact."""
    if value is None:
        return "n/a"
    if value == 0:
        return "0"
    scaled = value * scale
    decimals = f"{scaled:.{digits}f}"
    return decimals if float(decimals) else f"{scaled:.1e}".replace("e-0", "e-")
