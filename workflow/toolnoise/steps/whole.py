"""The rows of the jobs that make a study as a whole: they collect, judge, render and report what its parts measured."""

from collections.abc import Iterable

from toolnoise.base import code_digest, program
from toolnoise.base.errors import BadInput
from toolnoise.papers.classes import class_names
from toolnoise.papers.published import taken
from toolnoise.steps import claims
from toolnoise.steps.parts import COLUMNS, collected, gates, metric_files
from toolnoise.steps.step import Files, Names, Parameters, Read, Step, Where, Work, Write, outputs_of
from toolnoise.study import figure_kinds, layout
from toolnoise.study.cells import MetricFile, Shown, Whole
from toolnoise.study.entries import labels_shown
from toolnoise.study.figure_kinds import FIGURES, KINDS
from toolnoise.study.study import Figure, Study


def summaries(study: Study) -> list[str]:
    """Every metric file of the study as a whole, and the verdicts on claims."""
    return [*collected(study).values(), study.path(layout.CLAIMS)]


def _collected(study: Study, place: MetricFile) -> list[str]:
    """The metric files of this kind, of each cell or pair."""
    return metric_files(study)[place.kind]


def _gates(study: Study, _: Whole) -> list[str]:
    """The verdict on each control cell."""
    return gates(study)


def _figure(study: Study, place: Shown) -> Parameters:
    figure = study.figure(place.figure)
    parameters = {
        "figure": figure.name,
        "notebook": figure.notebook,
        "hardware": list(figure.hardware),
        "tasks": [list(task) for task in figure.tasks],
        "emulated": list(study.emulated()),
        **_synthetic(study, (dataset for _, dataset in figure.tasks)),
    }
    of_study = {name: TAKEN[name](study, figure) for name in KINDS[figure.notebook].takes}
    return parameters | {name: value for name, value in of_study.items() if value is not None}


def _synthetic(study: Study, datasets: Iterable[str]) -> Parameters:
    """Those of some data sets whose pictures are drawn, if there are any."""
    among = set(datasets)
    names = [name for name in study.synthetic() if name in among]
    return {"synthetic": names} if names else {}


# What a notebook may be given of a study, besides the toolings and tasks that it shows.
TAKEN = {
    "batch_sizes": lambda study, figure: dict(
        sorted((model, study.batch_size(model, dataset)) for model, dataset in figure.tasks)
    ),
    "width": lambda study, _: study.config.get("figure_width"),
    "label_of": lambda study, figure: labels_shown(study.config["datasets"], (name for _, name in figure.tasks)),
    "class_names": class_names.of_figure,
    "accelerators": taken.accelerators,
    "differences": taken.differences,
    "sources": taken.sources,
}


def shown(study: Study, figure: Figure) -> dict[str, list[str]]:
    """The metric files that a figure is rendered from, by kind."""
    kind, by_kind = KINDS[figure.notebook], metric_files(study, figure)
    # Verdicts are on the study as a whole, whatever a figure shows of it.
    by_kind["claims"] = [study.path(layout.CLAIMS)]
    return {name: by_kind[name] for name in (*kind.reads, *(name for name in kind.also if name in collected(study)))}


def _shown(study: Study, place: Shown) -> list[list[str]]:
    """The metric files that the figure needs, each with its kind."""
    return [[kind, *files] for kind, files in shown(study, study.figure(place.figure)).items()]


def _everything_shown(study: Study, _: Whole) -> list[str]:
    """All metric files of the whole study, and all its figures and tables."""
    figures = (Shown(figure.name) for figure in study.figures)
    return [*summaries(study), *(name for place in figures for name, _ in _rendered(study, place))]


def _page(study: Study, _: Whole) -> Parameters:
    """What the page says of the study besides what its files have; all paths are places in the study.

    Whatever has an order is a list: the keys of parameters are sorted where they are written down.
    """
    files, start = collected(study) | {"claims": study.path(layout.CLAIMS)}, len(study.path("results/{study}/"))
    figures = sorted(study.figures, key=lambda one: KINDS[one.notebook].category)
    return {
        "study": study.name,
        "cells": [[*cell, list(seeds)] for cell, seeds in study.seeds.items()],
        "emulated": list(study.emulated()),
        **_synthetic(study, study.datasets),
        "metrics": [[kind, name[start:]] for kind, name in collected(study).items()],
        "figures": [
            {
                "name": one.name,
                "picture": KINDS[one.notebook].category == FIGURES,
                "kind": one.notebook,
                "files": [
                    [suffix, f"{study.path(layout.FIGURE, figure=one.name)[start:]}.{suffix}"]
                    for suffix in KINDS[one.notebook].formats
                ],
                "data": [files[kind][start:] for kind in shown(study, one) if kind in files],
                "notebook": study.path(layout.NOTEBOOK, figure=one.name)[start:],
            }
            for one in figures
        ],
    }


def _on_the_page(study: Study, place: Whole) -> list[str]:
    """All metric files of the whole study, all its figures and tables, and the part of each cell."""
    return [*_everything_shown(study, place), *(study.path(layout.PAGE_CELL, cell) for cell in study.cells)]


def _web(_: Parameters) -> tuple[str, ...]:
    """The page's template, styles and scripts."""
    return tuple(map(code_digest.name_of, sorted(program.PACKAGE.glob("pages/web/*"))))


def _rendered(study: Study, place: Shown) -> Names:
    return outputs_of(ROWS["render"], place, _figure(study, place), study.name)


def _check_rendered(parameters: Parameters, files: Files) -> None:
    """A notebook writes each of its files under one name, and reads the kinds of metric files that it needs."""
    kind, out = KINDS[parameters["notebook"]], files["out"]
    if {f"{out[0].rpartition('.')[0]}.{suffix}" for suffix in kind.suffixes} != set(out):
        wanted = f"one path with each of {', '.join(kind.suffixes)}"
        raise BadInput("command line", "--out", f"found {', '.join(out)}", wanted)
    names = [name for name, *_ in files["read"]]
    if not set(kind.reads) <= set(names) <= {*kind.reads, *kind.also}:
        wanted = f"it reads {', '.join(kind.reads)}" + (f", and may read {', '.join(kind.also)}" if kind.also else "")
        raise BadInput("command line", "--read", f"{parameters['figure']} given {', '.join(names)}", wanted)
    empty = next((name for name, *paths in files["read"] if not paths and name in kind.reads), None)
    if empty:
        raise BadInput("command line", "--read", f"found {empty} without a file", "a kind and its files")


# The root: all jobs that a whole study needs come before it, and its statement has the digests of theirs.
PAGE = "write-page"

ROWS = {
    "collect": Step(
        "collect_{kind}",
        "put metric files together",
        where=Where(
            MetricFile,
            lambda study: map(MetricFile, collected(study)),
            "grid",
            "a kind of metric file that it measures",
        ),
        parameters=lambda _, place: {"kind": place.kind},
        reads={"metrics": Read(_collected, several=True)},
        writes={"out": Write(layout.COLLECTED)},
        work=Work(
            "toolnoise.measures.collect:collect",
            implied=lambda parameters: {"columns": COLUMNS[parameters["kind"]]},
            further=lambda parameters: (COLUMNS[parameters["kind"]].partition(":")[0],),
        ),
    ),
    **claims.ROWS,
    "render": Step(
        "render_{notebook}",
        "execute a notebook",
        where=Where(
            Shown,
            lambda study: (Shown(figure.name) for figure in study.figures),
            "figures",
            "a figure or table that its grid can feed",
        ),
        parameters=_figure,
        reads={"read": Read(_shown, several=True)},
        writes={"out": Write(layout.FIGURE + ".{suffix}"), "executed": Write(layout.NOTEBOOK)},
        work=Work(
            "toolnoise.figures.render:render",
            check=_check_rendered,
            further=lambda parameters: code_digest.imports_of(figure_kinds.notebook_of(parameters["notebook"])),
            files=lambda parameters: (
                figure_kinds.notebook_of(parameters["notebook"]),
                *KINDS[parameters["notebook"]].files,
            ),
        ),
    ),
    PAGE: Step(
        "write_page",
        "write a study's page",
        where=Where(Whole, lambda _: (Whole(),), "study", "its page"),
        parameters=_page,
        reads={"shows": Read(_on_the_page, several=True), "gates": Read(_gates, several=True, optional=True)},
        writes={"out": Write(layout.PAGE), "out-tables": Write(layout.PAGE_PARTS + "/tables.js")},
        work=Work("toolnoise.pages.study_page:show", files=_web),
    ),
    "report": Step(
        "write_report",
        "write Snakemake's report on a study",
        where=Where(Whole, lambda _: (Whole(),), "study", "its report"),
        parameters=lambda study, _: {"study": study.name, "figure_kinds": list(study.figure_kinds)},
        reads={"shows": Read(_everything_shown, several=True)},
        writes={"out": Write(layout.REPORT, timed=True)},
        work=Work(
            "toolnoise.figures.snakemake_report:write",
            further=lambda _: (figure_kinds.__name__,),
            files=lambda _: tuple(f"workflow/report/{name}.rst" for name in ("workflow", "metrics", "figure")),
        ),
        unrepeatable="the page says when Snakemake wrote it",
        needed=False,
    ),
}
