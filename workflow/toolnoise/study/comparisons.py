"""Which cells are put into a ratio: each variant over ALGO+IMPL and over ALGO, and M-bn over M.

A numerator and its denominator share task, tooling and seeds, so most of their runs share their draws.
"""

from collections.abc import Collection, Iterator

from toolnoise.study.cells import Cell, Variants

DENOMINATORS = ("algo_impl", "algo")


def with_batch_norm(cell: Cell) -> Cell:
    """The cell of the same model with batch normalisation: M-bn for a model M."""
    return cell._replace(model=f"{cell.model}-bn")


def comparisons(place: Variants, cells: Collection[Cell]) -> Iterator[tuple[Cell, Cell]]:
    """Every numerator with its denominator, which is a cell of the task on the tooling."""
    mine = [cell for cell in cells if cell[:3] == place]
    for variant in DENOMINATORS:
        whole = Cell(*place, variant)
        if whole in mine:
            yield from ((cell, whole) for cell in mine if cell != whole)
    yield from ((with_batch_norm(cell), cell) for cell in mine if with_batch_norm(cell) in cells)
