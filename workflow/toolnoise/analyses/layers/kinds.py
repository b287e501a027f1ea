"""The figure of layers."""

from toolnoise.study.kind import Kind, by_place

KINDS = {
    "layers": Kind(
        ("layers",),
        lambda grid: ([cell for cell in grid.cells if cell in grid.study.layers], by_place),
        needs="a block with the key layers",
        takes=("width",),
    ),
}
