"""The figures of a study: each kind, executed for the toolings and tasks that feed it."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from toolnoise.base.errors import BadInput
from toolnoise.study.catalogue import KINDS
from toolnoise.study.cells import Cell
from toolnoise.study.figure import Figure
from toolnoise.study.figure_grid import Grid
from toolnoise.study.kind import Subject


def possible(
    grid: Grid, excluded: Mapping[str, Collection[Cell]] = MappingProxyType({})
) -> dict[str, tuple[Figure, ...]]:
    """The figures of each kind that a study's cells and networks have data for; `excluded` maps kinds to cells."""
    found = {}
    for name, kind in KINDS.items():
        hidden = excluded.get(name, ())
        figures = _figures(name, *kind.feed(grid.without(hidden)))
        found[name] = tuple(
            figure._replace(excluded=tuple(cell for cell in hidden if figure.shows(cell))) for figure in figures
        )
    return found


def chosen(
    possible: Mapping[str, tuple[Figure, ...]], kinds: Sequence[str] | None, file: str | Path
) -> Iterator[Figure]:
    """The figures of the kinds that a study requests, or of every kind; a requested kind without data is refused."""
    for kind in possible if kinds is None else kinds:
        if kinds and not possible[kind]:
            raise BadInput(file, "figures", f"the grid has no data for {kind!r}", f"it needs {KINDS[kind].needs}")
        yield from possible[kind]


def _figures(kind: str, cells: Iterable[Subject], part: Callable[[Any], str] | None) -> Iterator[Figure]:
    """One figure of all these cells, or one for each part of them."""
    parts: dict[str, list[Subject]] = {}
    for cell in cells:
        parts.setdefault(f"{kind}-{part(cell)}" if part else kind, []).append(cell)
    for name, mine in parts.items():
        hardware, tasks = dict.fromkeys(cell.hardware for cell in mine), dict.fromkeys(cell.task for cell in mine)
        yield Figure(name, kind, tuple(hardware), tuple(tasks))
