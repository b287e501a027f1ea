"""The summary of a finished study: its findings on one screen, or the verdicts on claims."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from toolnoise.base import metric_files, shapes
from toolnoise.base.errors import as_given
from toolnoise.base.metric_files import part_of
from toolnoise.base.noise_sources import ALGORITHMIC
from toolnoise.base.printing import align_columns, span_text
from toolnoise.formulas.equal_runs import BIT_EQUAL
from toolnoise.formulas.outcomes import ALL
from toolnoise.formulas.per_run import RUNS
from toolnoise.formulas.stability import STABILITY
from toolnoise.measures import control_gate, what_varies
from toolnoise.measures.what_varies import CHURN, UNKNOWN, VARIES, Rows, extent_text
from toolnoise.papers.claims import judging
from toolnoise.papers.claims.judging import OPEN, REFUTED, STUDY, SUPPORTED, WHOLE, paragraphs_of_verdicts
from toolnoise.study import layout
from toolnoise.study.cells import Cell
from toolnoise.study.entries import dataset_name
from toolnoise.study.study import Study
from toolnoise.study.variants import variant_named

AGAIN = "toolnoise summary"
# The metrics of a cell in JSON; all but the last are fractions.
METRICS = ("accuracy_mean", "accuracy_sd", "churn", "l2_unit")
# The most lines of the tables, and the most runs whose records are read for their times.
MOST, MOST_TIMED = 9, 2000
# The keys that are read from a run's record.
TIMED = {"seconds?": {"*": shapes.AMOUNT}, "observed?": {"device?": shapes.TEXT, "cpu?": shapes.TEXT}}
Cells = Mapping[Cell, Rows]


def as_text(study: Study) -> str:
    """The findings, in at most 15 lines, and the page's path."""
    page = study.path(layout.PAGE)
    is_packed = Path(page).exists() and not Path(as_given(page)).exists()
    where = f"the page: {as_given(page)}{' (unpack the archive to open it)' * is_packed}"
    return "\n".join([*_findings(study), *_claims_decided(study), where])


def claims_text(study: Study) -> str:
    """The verdicts on claims in sentences."""
    verdicts = _verdicts(study)
    return (
        "no verdicts on claims yet: snakemake claims"
        if verdicts is None
        else "\n".join(paragraphs_of_verdicts(verdicts))
    )


def as_json(study: Study) -> dict[str, Any]:
    """Every cell with its numbers, in fractions, and the verdicts on claims. Undefined values are null."""
    verdicts = _verdicts(study)
    whole = None if verdicts is None else verdicts[verdicts["part"] == WHOLE]
    return {
        "cells": list(_cells(study)),
        "emulated": list(study.emulated()),
        "synthetic": list(study.synthetic()),
        "page": as_given(study.path(layout.PAGE)),
        "claims": None if whole is None else whole[["paper", "claim", "says", "side", "verdict"]].to_dict("records"),
    }


def _claims_decided(study: Study) -> list[str]:
    """A line with the number of decided claims, among all claims that concern the study; no line if none does."""
    verdicts = _verdicts(study)
    if verdicts is None:
        return []
    counted = Counter(verdicts[(verdicts["part"] == WHOLE) & (verdicts["side"] == STUDY)]["verdict"])
    decided = counted[SUPPORTED] + counted[REFUTED]
    about = decided + counted[OPEN]
    return [f"enough runs to decide {decided} of {about} claims: {AGAIN} --claims"] if about else []


def _verdicts(study: Study) -> pd.DataFrame | None:
    """The verdicts on claims; None if they were not made yet."""
    path = study.path(layout.CLAIMS)
    return judging.read_verdicts(path) if Path(path).exists() else None


def _cells(study: Study) -> Iterator[dict[str, Any]]:
    table = _stability(study)
    for place, rows in table[table["group"] == ALL].groupby(list(Cell._fields), sort=False):
        cell = Cell(*place)
        values = {row.metric: None if math.isnan(row.value) else float(row.value) for row in rows.itertuples()}
        # A training program may leave values or a metric instead of classes.
        means = [name for name in values if name.endswith("_mean")] if "accuracy_mean" not in values else []
        others = [name for mean in means for name in (mean, f"{mean.removesuffix('_mean')}_sd")]
        others += [name for name in ("mean_absolute_difference",) if name in values]
        yield {
            **cell._asdict(),
            "runs": int(rows["n_runs"].iloc[0]),
            "diverged": int(rows["n_missing"].iloc[0]),
            **{name: values.get(name) for name in METRICS},
            **({"measured": {name: values.get(name) for name in others}} if others else {}),
            # None for other variants, and for a single run, which cannot be compared.
            "control_bit_equal": control_gate.read_verdict(study.path(layout.GATE, cell))
            if cell.variant == "control"
            else None,
            # The table may have a cell that the study no longer has.
            "without_effect": _varying(study, cell) if values.get(BIT_EQUAL) == 1 and cell in study.seeds else [],
        }


def _varying(study: Study, cell: Cell) -> list[str]:
    """The algorithmic sources that vary in a cell, as far as known; none for adopted runs."""
    model = study.config["models"][cell.model]
    separated = [] if "adopted" in model else model.get("sources", ALGORITHMIC)
    return [source for source in variant_named(cell.variant).varying if source in separated]


# The findings of a study: how much each source of noise changes, and where the accuracy of all hides it
# ------------------------------------------------------------------------------------------------------


def _stability(study: Study) -> pd.DataFrame:
    return metric_files.read_metrics([study.path(layout.COLLECTED, file="stability")] if study.cells else [], STABILITY)


def _findings(study: Study) -> Iterator[str]:
    """The study's findings, each on a line of at most 100 columns."""
    table = _stability(study)
    measured = what_varies.rows_by_cell(table)
    yield _head(study, measured, table)
    if emulated := study.emulated():
        where = ", ".join(emulated) if len(emulated) < 4 else f"{len(emulated)} toolings"
        yield f"implementation noise is emulated (reduction order) on {where}"
    variants = {
        variant: {cell: measured[cell] for cell in cells} for variant, cells in what_varies.by_variant(measured).items()
    }
    churns = [
        _variant_row(study, variant, VARIES.get(variant, variant), CHURN, chosen)
        for variant, cells in variants.items()
        if (chosen := {cell: rows for cell, rows in cells.items() if CHURN in rows})
    ]
    # Values, losses and metrics of different tasks have different units.
    numbers = [
        _variant_row(study, variant, f"{VARIES.get(variant, variant)}, {cell.model}", measure, {cell: rows})
        for variant, cells in variants.items()
        for cell, rows in cells.items()
        if CHURN not in rows and (measure := what_varies.measure_of_spread(rows))
    ]
    room = MOST - 2 * bool(churns) - 2 * bool(numbers)
    first = room if not numbers else max(room - len(numbers), room // 2)
    yield from _limited(("what varies", "the share of answers that change", "runs", "accuracy %"), churns, first)
    left = room - min(len(churns), first)
    yield from _limited(("what varies", "how far a number moves", "runs", "its mean, error or loss"), numbers, left)
    yield from _hidden(study)


def _limited(heading: tuple[str, ...], rows: Sequence[tuple[str, ...]], room: int) -> Iterator[str]:
    """A table of at most `room` rows; if rows are left out, its last line says so."""
    shown = rows if len(rows) <= room else rows[: room - 1]
    if shown:
        yield from align_columns([heading, *shown])
    if rows[len(shown) :]:
        yield f"... and {len(rows) - len(shown)} more"


def _head(study: Study, measured: Cells, table: pd.DataFrame) -> str:
    """The number of runs, their time and devices, and whether runs are adopted or data synthetic."""
    first = table[table["group"] == ALL].groupby(list(Cell._fields), sort=False)[["n_runs", "n_missing"]].first()
    runs, diverged = (int(number) for number in first.sum())
    said = [f"{study.name}: {runs} runs of {len(measured)} cells" + (f", {diverged} diverged" if diverged else "")]
    if all("adopted" in model for model in study.config["models"].values()):
        said.append("adopted, how they were made is not known here")
    elif took := _took(study):
        said.append(took)
    if synthetic := study.synthetic():
        said.append(f"synthetic data: {', '.join(synthetic) if len(synthetic) < 4 else f'{len(synthetic)} data sets'}")
    return "; ".join(said)


def _took(study: Study) -> str:
    """The time of all trainings and the processors, from the records of the runs."""
    places = [Path(study.path(layout.RECORD, cell, seed=seed)) for cell in study.cells for seed in study.seeds[cell]]
    read = [place for place in places if place.exists()] if len(places) <= MOST_TIMED else []
    records = [shapes.read_json_of_shape(place, TIMED, "the record of a run") for place in read]
    seconds = sum(sum(record.get("seconds", {}).values()) for record in records)
    machines = [record.get("observed", {}) for record in records]
    devices = dict.fromkeys(
        machine.get("cpu", "") if machine.get("device") in (None, "cpu") else machine["device"] for machine in machines
    )
    named = ", ".join(filter(None, devices))
    return f"{span_text(seconds)} of training" + (f" on {named}" if named else "") if seconds else ""


def _variant_row(study: Study, variant: str, called: str, measure: str, cells: Cells) -> tuple[str, ...]:
    """A row for a variant: how much its runs differ, the number of runs per task, and how good they are."""
    changed = [rows[measure] for rows in cells.values()]
    shares = measure == CHURN
    means = [next((row for name, row in rows.items() if name.endswith("_mean")), UNKNOWN) for rows in cells.values()]
    counts = {row.runs: f"{row.draws} draws" if row.repeated else f"{row.runs}" for row in changed}
    least, most = counts[min(counts)], counts[max(counts)]
    if least != most and least.endswith(draws := " draws") and most.endswith(draws):
        least = least.removesuffix(draws)
    if variant == "control":
        moved = what_varies.nothing_text([control_gate.read_verdict(study.path(layout.GATE, cell)) for cell in cells])
    else:
        moved = f"{'SD ' * measure.endswith('_sd')}{what_varies.changes_text(changed, shares=shares)}"
    return (
        called,
        moved,
        " to ".join(dict.fromkeys((least, most))),
        extent_text([row.value * (100 if shares else 1) for row in means]),
    )


def _hidden(study: Study) -> Iterator[str]:
    """The part of a test set with the widest range of accuracy over a cell's runs, where most sources vary."""
    path = study.path(layout.COLLECTED, file="runs")
    table = metric_files.read_metrics([path] if Path(path).exists() else [], RUNS)
    table = table[table["metric"] == "accuracy"]
    freest = next((name for name in reversed(VARIES) if name != "control" and (table["variant"] == name).any()), "")
    values: dict[tuple[str, ...], list[float]] = {}
    for row in table[table["variant"] == freest].itertuples(index=False):
        values.setdefault((*row[:4], row.group), []).append(100 * row.value)
    parts = {key: max(found) - min(found) for key, found in values.items() if key[-1] != ALL and found[1:]}
    if not parts:
        return
    *cell, group = place = max(parts, key=parts.get)
    among, whole = sum(key[:4] == place[:4] for key in parts), (*cell, ALL)
    if among > 1 and whole in values:
        widest = f"class {group}" if part_of(group) == "class" else group
        of_all, of_part = extent_text(values[whole]), extent_text(values[place])
        yield f"accuracy hides it: from run to run {of_all} % of all are right, but {of_part} % of {widest},"
        cell[1] = dataset_name(cell[1], study.synthetic())
        yield f"  the widest range of {among} classes and sub-groups ({'/'.join(cell)}, {len(values[place])} runs)"
