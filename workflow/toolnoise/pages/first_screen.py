"""What a study's page says first: one sentence, and how much each source of noise changes in one task.

The words for a source and for how much it changes are those of `toolnoise summary`.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from toolnoise.base.noise_sources import DRAW
from toolnoise.measures import what_varies
from toolnoise.measures.what_varies import CHURN, CONTROL, VARIES, Row, Rows
from toolnoise.study.cells import Cell
from toolnoise.study.entries import dataset_name

# The chart ends at this multiple of the largest mean: a long interval must not shorten all others.
MOST_OF_MEAN = 2
# Percent of the chart's width: where it begins, and its length.
BEGIN, LENGTH = 2, 94


class Measured(NamedTuple):
    """A study's cells with their measures, the verdicts on Control, the seeds, and toolings whose noise is emulated.

    `synthetic` are the data sets whose pictures are drawn.
    """

    cells: Mapping[Cell, Rows]
    gates: Mapping[Cell, bool | None]
    seeds: Mapping[Cell, Sequence[int]]
    emulated: Sequence[str]
    synthetic: Sequence[str] = ()


class Source(NamedTuple):
    """A row of the chart: what varies, its task if that is another one, what it changes, in words, and its runs.

    `marks` are the places of the mean and of the ends of its interval, in percent of the width; an end may be beyond.
    """

    cell: Cell
    called: str
    task: str
    says: str
    runs: str
    value: float
    marks: tuple[float, float, float]


class Chart(NamedTuple):
    """How much each source changes in the task that has most of them, with the ticks of its axis."""

    measure: str
    task: str
    sources: Sequence[Source]
    ticks: Sequence[tuple[float, str]]


def chart(study: Measured) -> Chart:
    """The first figure. A source that its task lacks is that of the first task that has it."""
    spreads = {cell: name for cell, rows in study.cells.items() if (name := what_varies.spread(rows))}
    tasks = [cell[:3] for cell in spreads]
    main = max(tasks, key=tasks.count, default=())
    measure = next((name for cell, name in spreads.items() if cell[:3] == main), "")
    scale = 100 if measure == CHURN else 1
    shown: list[tuple[Cell, Row]] = []
    for cells in reversed(what_varies.by_variant(spreads).values()):
        # Numbers of other tasks have other units.
        alike = [cell for cell in cells if spreads[cell] == measure and (measure == CHURN or cell[:3] == main)]
        if alike:
            cell = next((cell for cell in alike if cell[:3] == main), alike[0])
            shown.append((cell, study.cells[cell][measure]))
    shown.sort(key=lambda pair: pair[0][:3] != main)
    means = [row.value for _, row in shown if not math.isnan(row.value)]
    highs = [row.high for _, row in shown if not math.isnan(row.high)]
    most = min(max([*means, *highs], default=0), MOST_OF_MEAN * max(means, default=0)) or 1 / scale

    def place(value: float) -> float:
        return round(BEGIN + LENGTH * value / most, 2)

    sources = [
        Source(
            cell,
            _called(study, cell),
            "" if cell[:3] == main else _task(study, cell),
            what_varies.nothing([study.gates.get(cell)])
            if cell.variant == CONTROL
            else what_varies.changes([row], shares=measure == CHURN),
            f"{row.runs} run{'s'[: row.runs != 1]}" + (f" of {draws} seeds" if (draws := _draws(study, cell)) else ""),
            row.value,
            tuple(map(place, row[:3])),
        )
        for cell, row in shown
    ]
    step = _step(scale * most)
    ticks = [(place(at * step / scale), f"{at * step:g}") for at in range(int(scale * most / step) + 1)]
    return Chart(measure, _task(study, main) if main else "", sources, ticks)


def sentence(study: Measured, shown: Chart) -> str:
    """What changes where most varies, and where nothing does."""
    if not study.cells:
        return "No cell has been measured yet."
    known = [source for source in shown.sources if not source.task and source.cell.variant != CONTROL]
    known = [source for source in known if not math.isnan(source.value)]
    if not known:
        return "Too few runs to say what changes."
    first = known[0]
    amount = first.says.partition(" (")[0]
    if shown.measure == CHURN:
        said = f"{amount} of the answers of {shown.task} change with {first.called}"
    else:
        said = f"Runs of {shown.task} are {amount} apart ({shown.measure.replace('_', ' ')}) with {first.called}"
    control = next((source.cell for source in shown.sources if source.cell.variant == CONTROL), None)
    fixed = {True: "nothing changes with everything fixed", False: "runs differ even with everything fixed"}
    return "; ".join([said, *([fixed[bit_equal]] if (bit_equal := study.gates.get(control)) is not None else [])]) + "."


def _called(study: Measured, cell: Cell) -> str:
    """What varies in a cell. Noise that is emulated is never shown as that of a tooling."""
    called = VARIES.get(cell.variant, cell.variant)
    is_emulated = cell.hardware in study.emulated and "impl" in cell.variant
    if not is_emulated:
        return called
    return f"{called[:-1]}, emulated)" if called.endswith(")") else f"{called} (emulated)"


def _task(study: Measured, cell: Sequence[str]) -> str:
    return f"{cell[0]} on {dataset_name(cell[1], study.synthetic)}"


def _draws(study: Measured, cell: Cell) -> int:
    """How many draws of what it fixes a cell has, or 0 if it has one."""
    draws = len({seed // DRAW for seed in study.seeds.get(cell, ())})
    return draws if draws > 1 else 0


def _step(most: float) -> float:
    """The distance of the ticks of an axis: 1, 2 or 5 times a power of ten, at most five of them."""
    power = 10 ** math.floor(math.log10(most / 5))
    return next(step * power for step in (1, 2, 5, 10) if most / (step * power) <= 5)
