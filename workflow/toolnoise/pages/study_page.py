"""The page of a study, index.html: its findings, its figures, its cells, the claims, and how it was made.

It begins with a sentence and a chart on how much each source of noise changes in one task, in the words of
`toolnoise summary`. Each cell has a page of its own, which another job writes (`cell_page`).
"""

import html
import json
import math
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base import metric_files, program
from toolnoise.base.files import read_text, readable, replacing, require_small, write_text
from toolnoise.base.job import Input, Inputs, Output, TimedOutput, unrepeatable
from toolnoise.base.noise_sources import DRAW
from toolnoise.formulas import declared
from toolnoise.formulas.stability import STABILITY
from toolnoise.measures import control_gate, what_varies
from toolnoise.measures.what_varies import CHURN, CONTROL, VARIES, Row, Rows, rows_by_cell
from toolnoise.pages.document import fill_template
from toolnoise.papers.claims import judging
from toolnoise.study import grid, layout
from toolnoise.study.cells import Cell
from toolnoise.study.entries import dataset_name
from toolnoise.study.figure_kinds import FIGURES, KINDS, caption_in
from toolnoise.study.study import Study

# The chart ends at this multiple of the largest mean: a long interval must not shorten all others.
MOST_OF_MEAN = 2
# Percent of the chart's width: where it begins, and its length.
BEGIN, LENGTH = 2, 94


def show(study: Input, shows: Inputs, gates: Inputs = (), *, out: Output) -> None:
    """Write the page of a study: `shows` is all that it shows or links to, `gates` the verdicts on control cells."""
    about = grid.load_study(study)
    write_text(out, fill_template("study.html", **contents_of_page(about, {*shows, *gates})))


def contents_of_page(study: Study, files: set[str]) -> dict[str, Any]:
    """The values for the template of a study's page, from the given files of the study."""
    collected = [study.path(layout.COLLECTED, file="stability")]
    table = metric_files.read_metrics([path for path in collected if path in files], STABILITY)
    measured = {cell: rows for cell, rows in rows_by_cell(table).items() if cell in study.seeds}
    gates = {cell: control_gate.read_verdict(path) for cell, path in _gates(study) if path in files}
    about = Measured(measured, gates, study.seeds, study.emulated(), study.synthetic())
    shown = first_chart(about)
    first = next((source.cell for source in shown.sources), None)
    labels = {name: label for name, label in declared.labels_of_measures().items() if name in declared.USUAL}
    return {
        "study": study.name,
        "sentence": first_sentence(about, shown),
        "chart": shown,
        "examples": _examples(study, first, files),
        "figures": [_figure(study, one) for one in study.figures if KINDS[one.notebook].category == FIGURES],
        "tables": [_table(study, one) for one in study.figures if KINDS[one.notebook].category != FIGURES],
        "cells": {cell: _named(study, cell) for cell in measured},
        "pages": {cell: place_in_results(study, study.path(layout.PAGE_CELL, cell)) for cell in measured},
        "measured": measured,
        "labels": {name: label for name, label in labels.items() if any(name in rows for rows in measured.values())},
        "gates": gates,
        "emulated": study.emulated(),
        "claims": dict(_claims(study.path(layout.CLAIMS))) if study.path(layout.CLAIMS) in files else {},
        "metrics": [
            place_in_results(study, path) for path in sorted(files) if path.endswith(".csv") and "/metrics/" in path
        ],
        "ran": _how_many_ran(study, measured),
    }


def place_in_results(study: Study, path: str) -> str:
    """A file's path within the study's results."""
    return path.removeprefix(study.path("results/{study}/"))


def _named(study: Study, cell: Cell) -> tuple[str, str, str, str]:
    return cell.model, dataset_name(cell.dataset, study.synthetic()), cell.hardware, cell.variant


def _gates(study: Study) -> Iterator[tuple[Cell, str]]:
    return ((cell, study.path(layout.GATE, cell)) for cell in study.seeds if cell.variant == "control")


def _examples(study: Study, cell: Cell | None, files: set[str]) -> dict[str, Any] | None:
    """Two examples that two runs of a cell answer differently; None if no example can be shown."""
    path = study.path(layout.PAGE_EXAMPLES, cell) if cell else ""
    return json.loads(read_text(path)) if path in files else None


def _figure(study: Study, figure: Any) -> dict[str, Any]:
    stem, shown = study.path(layout.FIGURE, figure=figure.name), _links(study, figure)
    title, subtitle, *notes = (*describe_figure(Path(f"{stem}.svg")), "", "")
    return shown | {"title": title or figure.name, "subtitle": subtitle, "notes": " ".join(notes)}


def _table(study: Study, figure: Any) -> dict[str, Any]:
    shown = _links(study, figure)
    text = read_text(study.path(layout.FIGURE, figure=figure.name) + ".html")
    title = re.search("<caption>(.*?)</caption>", text, re.DOTALL)
    return shown | {"title": html.unescape(title[1]) if title else figure.name}


def _links(study: Study, figure: Any) -> dict[str, Any]:
    """A figure's name, caption, files by suffix, and notebook."""
    stem = place_in_results(study, study.path(layout.FIGURE, figure=figure.name))
    return {
        "name": figure.name,
        "caption": plain_caption(caption_in(figure.notebook, study.name)),
        "files": {suffix: f"{stem}.{suffix}" for suffix in KINDS[figure.notebook].suffixes},
        "notebook": place_in_results(study, study.path(layout.NOTEBOOK, figure=figure.name)),
    }


def plain_caption(caption: str) -> str:
    """A caption without the marks of reStructuredText."""
    text = re.sub(r"`([^`<]+) <[^>]+>`_", r"\1", caption)
    return " ".join(re.sub(r"``|(?<!\w)\*|\*(?!\w)", "", text).split())


def describe_figure(figure: Path) -> list[str]:
    """The text of a figure: its title, which is its finding, its subtitle and its notes."""
    with readable(figure, "a figure that render wrote"):
        described = re.search("<dc:description>([^<]+)", read_text(figure))
    return html.unescape(described[1]).strip().splitlines() if described else []


def _claims(path: str) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Each paper with its claims in sentences, on the study and on the published numbers."""
    whole = judging.read_verdicts(path)
    whole = whole[whole["part"] == judging.WHOLE]
    published = whole[whole["side"] == judging.PUBLISHED].set_index("claim")
    for paper, rows in whole[whole["side"] == judging.STUDY].groupby("paper", sort=False):
        yield (
            paper,
            [
                {
                    "says": row.says,
                    "verdict": row.verdict,
                    "here": judging.sentence_of_verdict(row),
                    "published": judging.sentence_of_verdict(published.loc[row.claim], short=True),
                }
                for row in rows.itertuples()
            ],
        )


def _how_many_ran(study: Study, measured: Mapping[Cell, Rows]) -> str:
    planned = sum(map(len, study.seeds.values()))
    rows = [next(iter(rows.values())) for rows in measured.values()]
    finished, missing = sum(row.runs for row in rows), sum(row.missing for row in rows)
    return f"{finished} of {planned} runs in {len(measured)} cells, {missing or 'none'} diverged"


# The start of the page


class Measured(NamedTuple):
    """A study's cells with their measures, the verdicts on Control, the seeds, and toolings whose noise is emulated.

    `synthetic` are the data sets with generated pictures.
    """

    cells: Mapping[Cell, Rows]
    gates: Mapping[Cell, bool | None]
    seeds: Mapping[Cell, Sequence[int]]
    emulated: Sequence[str]
    synthetic: Sequence[str] = ()


class Source(NamedTuple):
    """A row of the chart: what varies, its task if that is not the main one, its effect in words, and its runs.

    `marks` are the places of the mean and of the ends of its interval, in percent of the width; an end may lie outside.
    """

    cell: Cell
    called: str
    task: str
    says: str
    runs: str
    value: float
    marks: tuple[float, float, float]


class Chart(NamedTuple):
    """How much each source changes in the task with the most sources, and the ticks of the axis."""

    measure: str
    task: str
    sources: Sequence[Source]
    ticks: Sequence[tuple[float, str]]


def first_chart(study: Measured) -> Chart:
    """The page's first figure. A source that the main task lacks comes from the first task that has it."""
    spreads = {cell: name for cell, rows in study.cells.items() if (name := what_varies.measure_of_spread(rows))}
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
            what_varies.nothing_text([study.gates.get(cell)])
            if cell.variant == CONTROL
            else what_varies.changes_text([row], shares=measure == CHURN),
            f"{row.runs} run{'s'[: row.runs != 1]}" + (f" of {draws} seeds" if (draws := _draws(study, cell)) else ""),
            row.value,
            tuple(map(place, row[:3])),
        )
        for cell, row in shown
    ]
    step = _step(scale * most)
    ticks = [(place(at * step / scale), f"{at * step:g}") for at in range(int(scale * most / step) + 1)]
    return Chart(measure, _task(study, main) if main else "", sources, ticks)


def first_sentence(study: Measured, shown: Chart) -> str:
    """A sentence on the change where most sources vary, and where no source varies."""
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
    """The name of what varies in a cell. Emulated noise is never shown as a tooling's own noise."""
    called = VARIES.get(cell.variant, cell.variant)
    is_emulated = cell.hardware in study.emulated and "impl" in cell.variant
    if not is_emulated:
        return called
    return f"{called[:-1]}, emulated)" if called.endswith(")") else f"{called} (emulated)"


def _task(study: Measured, cell: Sequence[str]) -> str:
    return f"{cell[0]} on {dataset_name(cell[1], study.synthetic)}"


def _draws(study: Measured, cell: Cell) -> int:
    """The number of draws of a cell's fixed sources, or 0 if the cell has one draw."""
    draws = len({seed // DRAW for seed in study.seeds.get(cell, ())})
    return draws if draws > 1 else 0


def _step(most: float) -> float:
    """The distance of the ticks of an axis: 1, 2 or 5 times a power of ten, at most five of them."""
    power = 10 ** math.floor(math.log10(most / 5))
    return next(step * power for step in (1, 2, 5, 10) if most / (step * power) <= 5)


# Snakemake's own page of a study


@unrepeatable("the page says when Snakemake wrote it")
def write_report(study: Input, shows: Inputs, *, out: TimedOutput) -> None:
    """Write the page of a study, by its resolved form; Snakemake finds the files that it shows by its own rules."""
    # Snakemake holds each file in memory, encoded.
    for file in shows:
        require_small(file)
    with replacing(out) as scratch:
        command = program.python_command("snakemake", "figures", "--snakefile", str(program.path_of_snakefile()))
        options = ["--configfile", study, "--nolock", "--quiet", "--report", str(scratch)]
        done = subprocess.run([*command, *options], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)
