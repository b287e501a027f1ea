"""The figures of a study: each kind, executed for the toolings and tasks that feed it."""

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from toolnoise.base.errors import BadInput
from toolnoise.study.catalogue import KINDS
from toolnoise.study.cells import Cell
from toolnoise.study.figure_grid import Grid
from toolnoise.study.kind import Subject
from toolnoise.study.study import Figure


def possible(
    grid: Grid, excluded: Mapping[str, Collection[Cell]] = MappingProxyType({})
) -> dict[str, tuple[Figure, ...]]:
    """The figures of each kind that a study's cells and networks have data for; `excluded` maps kinds to cells."""
    of_kind = {}
    for name, kind in KINDS.items():
        hidden = excluded.get(name, ())
        figures = _figures(name, *kind.feed(grid.without(hidden)))
        of_kind[name] = tuple(
            figure._replace(excluded=tuple(cell for cell in hidden if figure.shows(cell))) for figure in figures
        )
    return of_kind


def of_study(grid: Grid, excluded: Mapping[str, Collection[Cell]], file: str | Path) -> tuple[Figure, ...]:
    """The figures of the kinds that a study requests, or of every kind; a requested kind without data is refused."""
    figures, requested = possible(grid, excluded), grid.config.get("figures")
    for number, kind in enumerate(requested or ()):
        if kind not in figures:
            raise BadInput(file, f"figures[{number}]", f"found {kind!r}", f"allowed: {', '.join(sorted(figures))}")
        # The part that `only` leaves of a grid need not have data for every requested figure.
        if not figures[kind] and "only" not in grid.config:
            raise BadInput(file, "figures", f"the grid has no data for {kind!r}", f"it needs {KINDS[kind].needs}")
    return tuple(itertools.chain.from_iterable(figures[kind] for kind in (figures if requested is None else requested)))


def _figures(kind: str, cells: Iterable[Subject], part: Callable[[Any], str] | None) -> Iterator[Figure]:
    """One figure of all these cells, or one for each part of them."""
    parts: dict[str, list[Subject]] = {}
    for cell in cells:
        parts.setdefault(f"{kind}-{part(cell)}" if part else kind, []).append(cell)
    for name, members in parts.items():
        hardware = dict.fromkeys(cell.hardware for cell in members)
        tasks = dict.fromkeys(cell.task for cell in members)
        yield Figure(name, kind, tuple(hardware), tuple(tasks))
