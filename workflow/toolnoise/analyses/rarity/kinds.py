"""The figure of rare groups."""

from toolnoise.study.kind import Kind

KINDS = {
    "rarity": Kind(
        ("stability", "counts", "part_sizes"),
        lambda grid: (grid.rare, lambda cell: f"{cell.hardware}-{cell.model}"),
        needs="a model on a tooling with two data sets or more that have a group_share of the same group",
        takes=("width",),
    ),
}
