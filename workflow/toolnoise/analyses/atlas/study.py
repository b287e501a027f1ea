"""The figure of the atlas."""

from toolnoise.study.kind import Kind, by_task

KINDS = {
    "atlas": Kind(
        ("atlas", "atlas_factors", "atlas_toolings"),
        lambda grid: ([cell for cell in grid.cells if cell in grid.study.atlas], by_task),
        needs="a block with atlas",
        caption="""One task on all toolings of study *{study}*. Each run has bit-equal initial weights and batches on
            every tooling, so two runs differ only by their toolings. Square: churn between two toolings, mean over
            draws, in an order in which similar toolings stand together; = marks pairs that are bit-equal in every draw.
            Points: the mean churn and weight distance between toolings that differ only in one part, divided by those
            between two seeds on one tooling, with 95 % jackknife intervals over draws.""",
    ),
}
