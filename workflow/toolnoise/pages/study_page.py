"""The page of a study, index.html: its findings, its figures, its cells, the claims, and how it was made.

What a cell shows is a page of its own, which another job writes (`cell_page`).
"""

import html
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from toolnoise.base import metric_files
from toolnoise.base.files import read_text, readable, write_text
from toolnoise.base.job import Input, Inputs, Output
from toolnoise.formulas import declared
from toolnoise.formulas.stability import STABILITY
from toolnoise.measures import control_gate
from toolnoise.measures.what_varies import Rows, rows_by_cell
from toolnoise.pages import first_screen
from toolnoise.pages.document import document
from toolnoise.pages.first_screen import Measured
from toolnoise.papers.claims import judging
from toolnoise.study import grid, layout
from toolnoise.study.cells import Cell
from toolnoise.study.entries import dataset_name
from toolnoise.study.figure_kinds import FIGURES, KINDS, caption_in
from toolnoise.study.study import Study


def show(study: Input, shows: Inputs, gates: Inputs = (), *, out: Output) -> None:
    """Write the page of a study: `shows` is all that it shows or links to, `gates` the verdicts on control cells."""
    about = grid.load(study)
    write_text(out, document("study.html", **contents(about, {*shows, *gates})))


def contents(study: Study, files: set[str]) -> dict[str, Any]:
    """What the template of a study's page fills in, from those files of the study that are there."""
    collected = [study.path(layout.COLLECTED, file="stability")]
    table = metric_files.read([path for path in collected if path in files], STABILITY)
    measured = {cell: rows for cell, rows in rows_by_cell(table).items() if cell in study.seeds}
    gates = {cell: control_gate.verdict(path) for cell, path in _gates(study) if path in files}
    about = Measured(measured, gates, study.seeds, study.emulated(), study.synthetic())
    chart = first_screen.chart(about)
    first = next((source.cell for source in chart.sources), None)
    labels = {name: label for name, label in declared.labels().items() if name in declared.USUAL}
    return {
        "study": study.name,
        "sentence": first_screen.sentence(about, chart),
        "chart": chart,
        "examples": _examples(study, first, files),
        "figures": [_figure(study, one) for one in study.figures if KINDS[one.notebook].category == FIGURES],
        "tables": [_table(study, one) for one in study.figures if KINDS[one.notebook].category != FIGURES],
        "cells": {cell: _named(study, cell) for cell in measured},
        "pages": {cell: within(study, study.path(layout.PAGE_CELL, cell)) for cell in measured},
        "measured": measured,
        "labels": {name: label for name, label in labels.items() if any(name in rows for rows in measured.values())},
        "gates": gates,
        "emulated": study.emulated(),
        "claims": dict(_claims(study.path(layout.CLAIMS))) if study.path(layout.CLAIMS) in files else {},
        "metrics": [within(study, path) for path in sorted(files) if path.endswith(".csv") and "/metrics/" in path],
        "ran": _how_many_ran(study, measured),
    }


def within(study: Study, path: str) -> str:
    """A file's place in the study's results."""
    return path.removeprefix(study.path("results/{study}/"))


def _named(study: Study, cell: Cell) -> tuple[str, str, str, str]:
    return cell.model, dataset_name(cell.dataset, study.synthetic()), cell.hardware, cell.variant


def _gates(study: Study) -> Iterator[tuple[Cell, str]]:
    return ((cell, study.path(layout.GATE, cell)) for cell in study.seeds if cell.variant == "control")


def _examples(study: Study, cell: Cell | None, files: set[str]) -> dict[str, Any] | None:
    """Two examples that two runs of a cell answer differently, if it has any that can be shown."""
    path = study.path(layout.PAGE_EXAMPLES, cell) if cell else ""
    return json.loads(read_text(path)) if path in files else None


def _figure(study: Study, figure: Any) -> dict[str, Any]:
    stem, shown = study.path(layout.FIGURE, figure=figure.name), _links(study, figure)
    title, subtitle, *notes = (*description(Path(f"{stem}.svg")), "", "")
    return shown | {"title": title or figure.name, "subtitle": subtitle, "notes": " ".join(notes)}


def _table(study: Study, figure: Any) -> dict[str, Any]:
    shown = _links(study, figure)
    text = read_text(study.path(layout.FIGURE, figure=figure.name) + ".html")
    title = re.search("<caption>(.*?)</caption>", text, re.DOTALL)
    return shown | {"title": html.unescape(title[1]) if title else figure.name}


def _links(study: Study, figure: Any) -> dict[str, Any]:
    """A figure's name, caption, files by suffix, and notebook."""
    stem = within(study, study.path(layout.FIGURE, figure=figure.name))
    return {
        "name": figure.name,
        "caption": plain(caption_in(figure.notebook, study.name)),
        "files": {suffix: f"{stem}.{suffix}" for suffix in KINDS[figure.notebook].suffixes},
        "notebook": within(study, study.path(layout.NOTEBOOK, figure=figure.name)),
    }


def plain(caption: str) -> str:
    """A caption without the marks of reStructuredText."""
    text = re.sub(r"`([^`<]+) <[^>]+>`_", r"\1", caption)
    return " ".join(re.sub(r"``|(?<!\w)\*|\*(?!\w)", "", text).split())


def description(figure: Path) -> list[str]:
    """What a figure says in words: its title, which is what it found, its subtitle and its notes."""
    with readable(figure, "a figure that render wrote"):
        described = re.search("<dc:description>([^<]+)", read_text(figure))
    return html.unescape(described[1]).strip().splitlines() if described else []


def _claims(path: str) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Each paper with its claims in sentences, on the study and on the published numbers."""
    whole = judging.read(path)
    whole = whole[whole["part"] == judging.WHOLE]
    published = whole[whole["side"] == judging.PUBLISHED].set_index("claim")
    for paper, rows in whole[whole["side"] == judging.STUDY].groupby("paper", sort=False):
        yield (
            paper,
            [
                {
                    "says": row.says,
                    "verdict": row.verdict,
                    "here": judging.sentence(row),
                    "published": judging.sentence(published.loc[row.claim], short=True),
                }
                for row in rows.itertuples()
            ],
        )


def _how_many_ran(study: Study, measured: Mapping[Cell, Rows]) -> str:
    planned = sum(map(len, study.seeds.values()))
    rows = [next(iter(rows.values())) for rows in measured.values()]
    finished, missing = sum(row.runs for row in rows), sum(row.missing for row in rows)
    return f"{finished} of {planned} runs in {len(measured)} cells, {missing or 'none'} diverged"
