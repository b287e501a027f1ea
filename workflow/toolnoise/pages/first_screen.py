"""What a study's page says first: three sentences (what was trained, what changed, how sure), and churn by source.

The words for a source and for how much it changes are those of `toolnoise summary`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from toolnoise.base.noise_sources import DRAW
from toolnoise.measures import what_varies
from toolnoise.measures.what_varies import CHURN, CONTROL, VARIES, Row, Rows
from toolnoise.pages.page_tables import number
from toolnoise.study.cells import Cell
from toolnoise.study.entries import dataset_name

# The freest variant; a figure calls it ALGO+IMPL.
FREEST = "algo_impl"
# Names that a sentence lists.
LISTED = 4


class Measured(NamedTuple):
    """A study's cells with their measures, the verdicts on Control, the seeds, and toolings whose noise is emulated.

    `synthetic` are the data sets whose pictures are drawn.
    """

    cells: Mapping[Cell, Rows]
    gates: Mapping[Cell, bool | None]
    seeds: Mapping[Cell, Sequence[int]]
    emulated: Sequence[str]
    synthetic: Sequence[str] = ()


def hero(study: Measured) -> dict[str, Any]:
    """How much each source changes in the task that has most of them: what the first figure shows.

    A source that this task lacks is that of its first task, whose name it has; `over` is what all tasks show.
    """
    spreads = {cell: name for cell, rows in study.cells.items() if (name := what_varies.spread(rows))}
    tasks = [cell[:3] for cell in spreads]
    main = max(tasks, key=tasks.count, default=())
    measure = next((name for cell, name in spreads.items() if cell[:3] == main), "")
    rows = []
    for variant, cells in reversed(what_varies.by_variant(spreads).items()):
        # Numbers of other tasks have other units.
        alike = [cell for cell in cells if spreads[cell] == measure and (measure == CHURN or cell[:3] == main)]
        if cell := next((cell for cell in alike if cell[:3] == main), next(iter(alike), None)):
            told = {} if cell[:3] == main else {"where": f"another task: {_where(study, cell)}"}
            if alike[1:] and variant != CONTROL:
                told["over"] = what_varies.changes([study.cells[each][measure] for each in alike], shares=True)
            rows.append(_row(study, cell, study.cells[cell][measure], measure) | told)
    rows.sort(key=lambda row: "where" in row)
    return {"measure": measure, "where": _where(study, main) if main else "", "rows": rows}


def _row(study: Measured, cell: Cell, row: Row, measure: str) -> dict[str, Any]:
    called = VARIES.get(cell.variant, cell.variant) + " (ALGO+IMPL)" * (cell.variant == FREEST)
    if cell.hardware in study.emulated and "impl" in cell.variant:
        # Noise that is emulated is never shown as that of a tooling.
        called = f"{called[:-1]}, emulated)" if called.endswith(")") else f"{called} (emulated)"
    changed = what_varies.changes([row], shares=measure == CHURN)
    return {
        "cell": list(cell),
        "called": called,
        "says": what_varies.nothing([study.gates.get(cell)]) if cell.variant == CONTROL else changed,
        "value": [number((100 if measure == CHURN else 1) * each) for each in row[:3]],
        "runs": f"{row.runs} run{'s'[: row.runs != 1]}"
        + (f" of {draws} seeds" if (draws := _draws(study, cell)) else ""),
    }


def _where(study: Measured, cell: Sequence[str]) -> str:
    model, dataset, hardware = cell[:3]
    return f"{model} on {dataset_name(dataset, study.synthetic)} ({hardware})"


def _draws(study: Measured, cell: Cell) -> int:
    """How many draws of what it fixes a cell has, or 0 if it has one."""
    draws = len({seed // DRAW for seed in study.seeds.get(cell, ())})
    return draws if draws > 1 else 0


def sentences(study: Measured, shown: Mapping[str, Any]) -> Iterator[str]:
    """What was trained, what changed, and how sure that is; `shown` is what the first figure has."""
    if not study.cells:
        yield "No cell has been measured yet."
        return
    rows = [next(iter(rows.values())) for rows in study.cells.values()]
    lost = sum(row.missing for row in rows)
    models, datasets = (dict.fromkeys(cell[place] for cell in study.cells) for place in (0, 1))
    trained_on = _listed(dataset_name(dataset, study.synthetic) for dataset in datasets)
    networks = f"{sum(row.runs for row in rows)} networks ({_listed(models)}) on {trained_on}"
    cells = f"{len(study.cells)} cell{'s'[: len(study.cells) > 1]}"
    yield f"What was trained: {networks}, in {cells}{f'; {lost} more diverged' if lost else ''}."
    yield from _changed(shown)
    yield f"How sure: {'; '.join(_sure(study))}."


def _changed(shown: Mapping[str, Any]) -> Iterator[str]:
    """What changes where most varies, with a new seed alone, and with the implementation alone, in one task."""
    rows = [row for row in shown["rows"] if "where" not in row and row["value"][0] is not None]
    parts = []
    for place, row in enumerate(rows):
        if not place or row["cell"][3] in ("algo", "impl"):
            # Inside of brackets, n follows the interval.
            says = f"{row['says'][:-1]}; " if row["says"].endswith(")") else f"{row['says']} ("
            parts.append(f"{says}{row['runs']}) with {row['called']}")
    by = "in these shares of answers" if shown["measure"] == CHURN else f"by this {shown['measure'].replace('_', ' ')}"
    if parts:
        yield f"What changed: runs of {shown['where']} differ {by}: {', '.join(parts)}."


def _sure(study: Measured) -> Iterator[str]:
    draws = " (over seeds, where each has several runs)" if any(_draws(study, cell) for cell in study.cells) else ""
    yield f"in brackets are 95 % intervals over runs{draws} for these test examples"
    if controls := [cell for cell in study.cells if cell.variant == CONTROL]:
        said = what_varies.nothing([study.gates.get(cell) for cell in controls])
        yield f"with everything fixed (Control), {said.replace('nothing:', 'nothing changes:')}"
    if emulated := [name for name in study.emulated if any(cell.hardware == name for cell in study.cells)]:
        yield f"IMPL is emulated on {_listed(emulated)}: each batch is added up in another order"


def _listed(names: Iterable[str]) -> str:
    """Names as a sentence has them, of many the first and how many more there are."""
    names = list(names)
    *shown, last = names if len(names) <= LISTED else [*names[: LISTED - 1], f"{len(names) - LISTED + 1} more"]
    return f"{', '.join(shown)} and {last}" if shown else last
