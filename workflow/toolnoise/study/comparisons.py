"""Which cells are put into a ratio: each variant over ALGO+IMPL and over ALGO, or the authors' own, and M-bn over M.

A numerator and its denominator share task, tooling and seeds, so most of their runs share their draws.
"""

from collections.abc import Collection, Iterator

from toolnoise.study.cells import Cell, Variants
from toolnoise.study.published import VARIANTS

DENOMINATORS = (VARIANTS["algo_impl"], VARIANTS["algo"])


def with_batch_norm(cell: Cell) -> Cell:
    """The cell of the same model with batch normalisation: M-bn for a model M."""
    return cell._replace(model=f"{cell.model}-bn")


def comparisons(place: Variants, cells: Collection[Cell]) -> Iterator[tuple[Cell, Cell]]:
    """Every numerator, which is a cell of the task on the tooling, with its denominator.

    So the ratios of a model need no run of the same model with batch normalisation.
    """
    beside = [cell for cell in cells if cell[:3] == place]
    for variants in DENOMINATORS:
        whole = next((cell for cell in (Cell(*place, variant) for variant in variants) if cell in beside), None)
        if whole:
            yield from ((cell, whole) for cell in beside if cell != whole)
    yield from ((with_batch_norm(cell), cell) for cell in cells if with_batch_norm(cell) in beside)
