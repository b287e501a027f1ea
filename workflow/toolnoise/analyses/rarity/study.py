"""The figure of rare groups."""

from toolnoise.study.kind import Kind

KINDS = {
    "rarity": Kind(
        ("stability", "counts", "part_sizes"),
        lambda grid: (grid.rare, lambda cell: f"{cell.hardware}-{cell.model}"),
        needs="a model on a tooling with two data sets or more that have a group_share of the same group",
        takes=("width",),
        caption="""
            Is a rare group noisier, or only smaller? Study *{study}* trains with several shares of one group and tests
            on the same examples. The first three columns show the group's error rate, the SD of that rate and the
            group's churn against its share. Dashed: the SD or churn that follows from the number of the group's test
            examples if all examples are equally noisy. Dotted: the one that follows from how often the group's examples
            err. Bands contain 95 % of such studies. The last column varies the number of test examples instead, by
            averaging over all parts of the group of that size.
        """,
    ),
}
