"""The figure of the atlas."""

from toolnoise.study.kind import Kind, by_task

KINDS = {
    "atlas": Kind(
        ("atlas", "atlas_factors", "atlas_toolings"),
        lambda grid: ([cell for cell in grid.cells if cell in grid.study.atlas], by_task),
        needs="a block with atlas",
    ),
}
