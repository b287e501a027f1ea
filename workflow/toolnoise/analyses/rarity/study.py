"""The figure of rare groups."""

from collections import Counter

from toolnoise.study.cells import Cell
from toolnoise.study.figure_grid import Grid
from toolnoise.study.kind import Kind


def _rare(grid: Grid) -> list[Cell]:
    """Cells of models on toolings that are trained with several shares of one group."""
    group_of = {name: entry["group"] for name, entry in grid.config["datasets"].items() if "group_share" in entry}
    cells = [cell for cell in grid.usual if cell.dataset in group_of]

    def series(cell: Cell) -> tuple[str, ...]:
        return cell.model, cell.hardware, group_of[cell.dataset]

    several = Counter(place for place, _ in {(series(cell), cell.dataset) for cell in cells})
    return [cell for cell in cells if several[series(cell)] > 1]


KINDS = {
    "rarity": Kind(
        ("stability", "counts", "part_sizes"),
        lambda grid: (_rare(grid), lambda cell: f"{cell.hardware}-{cell.model}"),
        needs="a model on a tooling with two data sets or more that have a group_share of the same group",
        takes=("width",),
        caption="""Is a rare group noisier, or only smaller? Study *{study}* trains with several shares of one group and
            tests on the same examples. The first three columns show the group's error rate, the SD of that rate and the
            group's churn against its share. Dashed: the SD or churn that follows from the number of the group's test
            examples if all examples are equally noisy. Dotted: the SD or churn that follows from how often the group's
            examples err. Bands contain 95 % of such studies. The last column varies the number of test examples
            instead, by averaging over all parts of the group of that size.""",
    ),
}
