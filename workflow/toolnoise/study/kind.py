"""A kind of figure or table: a notebook of its name, the metric files it reads and the cells that it needs."""

from collections.abc import Callable, Iterable
from inspect import cleandoc
from typing import Any, NamedTuple

from toolnoise.study.cells import Cell, Network
from toolnoise.study.figure_grid import Grid

Subject = Cell | Network

LAST = 100  # the rank of a kind that follows all that have one

# The page shows the categories in the order of their names.
TABLE_2, FIGURES, TABLES, PUBLISHED = "1 Table 2: accuracy", "2 Figures", "3 Further tables", "4 Published and ours"

NARROW = "narrow"  # before the suffix of a figure's form for small screens

# What figures by sub-groups need.
SUB_GROUPS = "a data set with sub-groups: faces, celeba with groups, or text with frequency"

# Selects the cells or networks that a kind shows, and the part of the figure's name that splits them into figures.
Feed = tuple[Iterable[Subject], Callable[[Any], str] | None]


class Kind(NamedTuple):
    """A notebook: the metric files it reads, the cells it needs, and its category on the page.

    `also` lists metric files that it reads if the study has them, `files` those of the repository that it reads.
    `takes` names what else of the study it takes (steps/whole.py, `TAKEN` of analyses). The page shows kinds in the
    order of their `rank`, and those of one rank in the order of their folders. The caption is reStructuredText.
    """

    reads: tuple[str, ...]
    feed: Callable[[Grid], Feed]
    caption: str  # with {study} for the name of the study
    needs: str = "a cell that is not `excluded_from` it, and to be named in `figures`, where a study has that key"
    category: str = FIGURES
    also: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    rank: int = LAST

    @property
    def formats(self) -> tuple[str, ...]:
        """The suffixes of the files that one would download; the page shows the first."""
        return ("svg", "pdf", "png") if self.category == FIGURES else ("html", "csv", "md", "tex")

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The suffixes of all files that it writes. What can be as narrow as a column has a form for small screens."""
        return (*self.formats, f"{NARROW}.svg") if "width" in self.takes else self.formats

    def caption_in(self, study: str) -> str:
        """The caption in a study of that name."""
        return cleandoc(self.caption).format(study=study)


def by_tooling(place: Subject) -> str:
    """A figure for each tooling."""
    return place.hardware


def by_task(cell: Cell) -> str:
    """A figure for each task."""
    return f"{cell.model}-{cell.dataset}"


def by_place(cell: Cell) -> str:
    """A figure for each task on each tooling."""
    return f"{cell.hardware}-{by_task(cell)}"
