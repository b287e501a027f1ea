"""What layers add to a study: their figure, and the dump of a cell, for estimates."""

from toolnoise.study import layout
from toolnoise.study.analyses import Dump
from toolnoise.study.cells import Cell
from toolnoise.study.kind import Kind, by_place
from toolnoise.study.study import Study

KINDS = {
    "layers": Kind(
        ("layers",),
        lambda grid: ([cell for cell in grid.cells if cell in grid.study.layers], by_place),
        needs="a block with the key layers",
        takes=("width",),
        caption="""Similarity of representations between runs of the same training in study *{study}*, layer by layer:
            linear CKA of corresponding layers with weights, plain and debiased, averaged over pairs of runs, with one
            line per set of sources that may vary. 1 means equal up to a rotation and a factor. CKA is defined by
            Kornblith et al. (arXiv:1905.00414); Summers and Dinneen (arXiv:2103.04514) use it as a measure of
            diversity.""",
    ),
}


def dumps_of(study: Study, cell: Cell) -> list[Dump]:
    """The dump of layers: one forward pass over the test set at most; several if the layers do not fit in memory."""
    return [Dump(layout.GRAMS, 1, 0)] if cell in study.layers else []
