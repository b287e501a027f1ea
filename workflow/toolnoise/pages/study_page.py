"""The page of a study: index.html with what everybody sees first, and a data file with the tables.

The first view has the findings, the cells and the figures. What a cell shows is a data file of another job, which the
page loads when somebody asks for it. The page shows the figures that lie beside it.
"""

import html
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base import metric_files
from toolnoise.base.files import read_text, readable, write_text
from toolnoise.base.job import Input, Inputs, Output
from toolnoise.formulas import declared
from toolnoise.formulas.stability import STABILITY as STABILITY_COLUMNS
from toolnoise.measures import control_gate
from toolnoise.measures.what_varies import Rows, rows_by_cell
from toolnoise.pages import claims, first_screen, page_tables
from toolnoise.pages.document import document, part
from toolnoise.pages.first_screen import Measured
from toolnoise.study import figure_files, grid, layout
from toolnoise.study.cells import Cell
from toolnoise.study.figure_kinds import FIGURES, KINDS, caption_in
from toolnoise.study.layout import NARROW
from toolnoise.study.study import Study

# Metric files that have a place of their own on the page, or one row per step.
NO_TABLE = ("stability", "runs", "convergence", "growth", "counts")
STABILITY, CLAIMS = "metrics/stability.csv", "metrics/claims.csv"


class Page(NamedTuple):
    """What a page is made from.

    `cells` are [model, dataset, hardware, variant, seeds], `emulated` the toolings whose noise is emulated, `metrics`
    the metric files of the whole study, each [kind, file]. A figure has its name, whether it is a picture, its files,
    each [format, file], its data, its notebook and its kind. `files` are all that it shows, by their places in
    the study. `synthetic` are the data sets whose pictures are drawn.
    """

    study: str
    cells: Sequence[Sequence[Any]]
    emulated: Sequence[str]
    figures: Sequence[Mapping[str, Any]]
    metrics: Sequence[Sequence[str]]
    files: Mapping[str, Path]
    synthetic: Sequence[str] = ()

    @property
    def seeds(self) -> dict[Cell, Sequence[int]]:
        """The seeds of each cell."""
        return {Cell(*names): seeds for *names, seeds in self.cells}


def show(study: Input, shows: Inputs, gates: Inputs = (), *, out: Output, out_tables: Output) -> None:
    """Write the page of a study: `shows` is all that it shows or links to, `gates` the verdicts on control cells."""
    about = grid.load(study)
    within = about.path("results/{study}/")
    page = page_of(about, {name.removeprefix(within): Path(name) for name in (*shows, *gates)})
    # All is made before anything is written: a file that is refused leaves the old page as it was.
    made = {
        out_tables: part("tables", all_tables(page)),
        out: document(first(page)),
    }
    for path, text in made.items():
        write_text(path, text)


def page_of(study: Study, files: Mapping[str, Path]) -> Page:
    """What a page of a study is made from."""
    start = len(study.path("results/{study}/"))
    collected = figure_files.collected(study)
    whole = collected | {"claims": study.path(layout.CLAIMS)}
    return Page(
        study=study.name,
        cells=[[*cell, list(seeds)] for cell, seeds in study.seeds.items()],
        emulated=study.emulated(),
        figures=[
            {
                "name": one.name,
                "picture": KINDS[one.notebook].category == FIGURES,
                "kind": one.notebook,
                "files": [
                    [suffix, f"{study.path(layout.FIGURE, figure=one.name)[start:]}.{suffix}"]
                    for suffix in KINDS[one.notebook].formats
                ],
                "data": [whole[kind][start:] for kind in figure_files.shown(study, one) if kind in whole],
                "notebook": study.path(layout.NOTEBOOK, figure=one.name)[start:],
            }
            for one in sorted(study.figures, key=lambda one: KINDS[one.notebook].category)
        ],
        metrics=[[kind, name[start:]] for kind, name in collected.items()],
        files=files,
        synthetic=figure_files.synthetic(study, study.datasets).get("synthetic", ()),
    )


def first(page: Page) -> dict[str, Any]:
    """The block of index.html: what the first view shows."""
    table = metric_files.read([page.files[STABILITY]] if STABILITY in page.files else [], STABILITY_COLUMNS)
    measured, seeds, gates = rows_by_cell(table), page.seeds, _gates(page)
    of_study = Measured(measured, gates, seeds, page.emulated, page.synthetic)
    hero = first_screen.hero(of_study)
    block = {
        "study": page.study,
        "sentences": list(first_screen.sentences(of_study, hero)),
        "hero": hero,
        "facts": [("Runs", _how_many_ran(page, measured))],
        "emulated": list(page.emulated),
        "synthetic": list(page.synthetic),
        "measures": {name: list(label) for name, label in declared.labels().items()},
        "of_runs": {name: list(label) for name, label in declared.OF_RUNS.items()},
        "usual": list(declared.USUAL),
        "cells": [
            {
                "cell": list(cell),
                "seeds": list(seeds[cell]),
                "equal": gates.get(cell),
                "values": {name: page_tables.estimate(rows[name]) for name in declared.labels() if name in rows},
            }
            for cell, rows in measured.items()
            if cell in seeds
        ],
        "figures": [_figure(figure, page) for figure in page.figures],
        "logs": f"../../logs/{page.study}",
    }
    if CLAIMS in page.files:
        block["claims"] = list(claims.by_paper(page.files[CLAIMS]))
    return block


def all_tables(page: Page) -> dict[str, Any]:
    """Every table of a notebook, and the metric files that have no other place on the page."""
    rendered = {
        table["name"]: page_tables.rendered(page.files[dict(table["files"])["html"]])
        for table in page.figures
        if not table["picture"]
    }
    return rendered | {
        f"metrics-{kind}": page_tables.measured(page.files[name], name, page.synthetic)
        for kind, name in page.metrics
        if kind not in NO_TABLE and name in page.files
    }


def plain(caption: str) -> str:
    """A caption without the marks of reStructuredText."""
    text = re.sub(r"`([^`<]+) <[^>]+>`_", r"\1", caption)
    return " ".join(re.sub(r"``|(?<!\w)\*|\*(?!\w)", "", text).split())


def _figure(figure: Mapping[str, Any], page: Page) -> dict[str, Any]:
    shown = {key: figure[key] for key in ("name", "picture", "data", "notebook")}
    files = dict(figure["files"])
    shown |= {"files": files, "caption": plain(caption_in(figure["kind"], page.study))}
    if not figure["picture"]:
        title = page_tables.rendered(page.files[files["html"]])["title"]
        return shown | {"title": title or figure["name"]}
    title, *described = _description(page.files[files["svg"]]) or [figure["name"]]
    if narrow := narrow_form(figure, page):
        # In a column there is no room for what explains the marks: the page says it in words.
        shown |= {NARROW: narrow, "marks": described[1] if len(described) > 1 else ""}
    return shown | {"title": title}


def narrow_form(figure: Mapping[str, Any], page: Page) -> str:
    """The file of a figure for small screens; nothing if it has none."""
    name = dict(figure["files"]).get("svg", "").removesuffix("svg") + f"{NARROW}.svg"
    return name if name in page.files else ""


def _description(figure: Path) -> list[str]:
    """What a figure says in words: its title, which is what it found, its subtitle and its notes."""
    with readable(figure, "a figure that render wrote"):
        described = re.search("<dc:description>([^<]+)", read_text(figure))
    return html.unescape(described[1]).strip().splitlines() if described else []


def _gates(page: Page) -> dict[Cell, bool | None]:
    """The verdicts on the control cells that have one."""
    files = {cell: "/".join(("control", *cell[:3])) + ".json" for cell in page.seeds if cell.variant == "control"}
    return {cell: control_gate.verdict(page.files[name]) for cell, name in files.items() if name in page.files}


def _how_many_ran(page: Page, measured: Mapping[Cell, Rows]) -> str:
    planned = sum(map(len, page.seeds.values()))
    means = [next(iter(rows.values())) for rows in measured.values()]
    finished, missing = sum(row[3] for row in means), sum(row[4] for row in means)
    lost = f", {missing} missing (diverged)" if missing else ", none missing"
    return f"{finished} of {planned} runs in {len(measured)} cells{lost}"
