"""What a study found, on one screen: how much each source of noise changes, and where the accuracy of all hides it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from toolnoise.base import metric_files, shapes
from toolnoise.base.metric_files import part_of
from toolnoise.base.printing import aligned, span
from toolnoise.formulas.outcomes import ALL
from toolnoise.formulas.per_run import RUNS
from toolnoise.formulas.stability import STABILITY
from toolnoise.measures import control_gate, what_varies
from toolnoise.measures.what_varies import CHURN, UNKNOWN, VARIES, Rows, extent
from toolnoise.study import layout
from toolnoise.study.cells import Cell
from toolnoise.study.entries import dataset_name
from toolnoise.study.study import Study

# Lines of the tables, and runs whose records are read for their times.
MOST, MOST_TIMED = 9, 2000
# What is read of a run's record.
TIMED = {"seconds?": {"*": shapes.AMOUNT}, "observed?": {"device?": shapes.TEXT, "cpu?": shapes.TEXT}}
Cells = Mapping[Cell, Rows]


def lines(study: Study) -> Iterator[str]:
    """The findings, each on a line of at most 100 columns."""
    table = metric_files.read([study.path(layout.COLLECTED, file="stability")] if study.cells else [], STABILITY)
    measured = what_varies.rows_by_cell(table)
    yield _head(study, measured, table)
    yield from _emulated(study)
    variants = {
        variant: {cell: measured[cell] for cell in cells} for variant, cells in what_varies.by_variant(measured).items()
    }
    churns = [
        _row(study, variant, VARIES.get(variant, variant), CHURN, chosen)
        for variant, cells in variants.items()
        if (chosen := {cell: rows for cell, rows in cells.items() if CHURN in rows})
    ]
    # Values, losses and metrics of several tasks have several units.
    numbers = [
        _row(study, variant, f"{VARIES.get(variant, variant)}, {cell.model}", measure, {cell: rows})
        for variant, cells in variants.items()
        for cell, rows in cells.items()
        if CHURN not in rows and (measure := what_varies.spread(rows))
    ]
    room = MOST - 2 * bool(churns) - 2 * bool(numbers)
    first = room if not numbers else max(room - len(numbers), room // 2)
    yield from _table(("what varies", "the share of answers that change", "runs", "accuracy %"), churns, first)
    left = room - min(len(churns), first)
    yield from _table(("what varies", "how far a number moves", "runs", "its mean, error or loss"), numbers, left)
    yield from _hidden(study)


def _table(heading: tuple[str, ...], rows: Sequence[tuple[str, ...]], room: int) -> Iterator[str]:
    """A table of so many rows; if there are more, its last line says so."""
    shown = rows if len(rows) <= room else rows[: room - 1]
    if shown:
        yield from aligned([heading, *shown])
    if rows[len(shown) :]:
        yield f"... and {len(rows) - len(shown)} more"


def _head(study: Study, measured: Cells, table: pd.DataFrame) -> str:
    """How much ran, how long it took where, and what about it is no training of a real device on real data."""
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


def _emulated(study: Study) -> Iterator[str]:
    if emulated := study.emulated():
        where = ", ".join(emulated) if len(emulated) < 4 else f"{len(emulated)} toolings"
        yield f"implementation noise is emulated (reduction order) on {where}"


def _took(study: Study) -> str:
    """The time of all trainings and the processors, from the records of the runs."""
    places = [Path(study.path(layout.RECORD, cell, seed=seed)) for cell in study.cells for seed in study.seeds[cell]]
    read = [place for place in places if place.exists()] if len(places) <= MOST_TIMED else []
    records = [shapes.read(place, TIMED, "the record of a run") for place in read]
    seconds = sum(sum(record.get("seconds", {}).values()) for record in records)
    machines = [record.get("observed", {}) for record in records]
    devices = dict.fromkeys(
        machine.get("cpu", "") if machine.get("device") in (None, "cpu") else machine["device"] for machine in machines
    )
    named = ", ".join(filter(None, devices))
    return f"{span(seconds)} of training" + (f" on {named}" if named else "") if seconds else ""


def _row(study: Study, variant: str, called: str, measure: str, cells: Cells) -> tuple[str, ...]:
    """A variant: what its runs change in its tasks, how many runs a task has, and how good they are."""
    changed = [rows[measure] for rows in cells.values()]
    shares = measure == CHURN
    means = [next((row for name, row in rows.items() if name.endswith("_mean")), UNKNOWN) for rows in cells.values()]
    counts = {row.runs: f"{row.draws} draws" if row.repeated else f"{row.runs}" for row in changed}
    least, most = counts[min(counts)], counts[max(counts)]
    if least != most and least.endswith(draws := " draws") and most.endswith(draws):
        least = least.removesuffix(draws)
    moved = f"{'SD ' * measure.endswith('_sd')}{what_varies.changes(changed, shares=shares)}"
    return (
        called,
        _nothing(study, cells) if variant == "control" else moved,
        " to ".join(dict.fromkeys((least, most))),
        extent([row.value * (100 if shares else 1) for row in means]),
    )


def _nothing(study: Study, cells: Iterable[Cell]) -> str:
    """The verdict on Control."""
    return what_varies.nothing([control_gate.verdict(study.path(layout.GATE, cell)) for cell in cells])


def _hidden(study: Study) -> Iterator[str]:
    """The part of a test set whose accuracy ranges most over the runs of one cell with most that varies."""
    path = study.path(layout.COLLECTED, file="runs")
    table = metric_files.read([path] if Path(path).exists() else [], RUNS)
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
        of_all, of_part = extent(values[whole]), extent(values[place])
        yield f"accuracy hides it: from run to run {of_all} % of all are right, but {of_part} % of {widest},"
        cell[1] = dataset_name(cell[1], study.synthetic())
        yield f"  the widest range of {among} classes and sub-groups ({'/'.join(cell)}, {len(values[place])} runs)"
