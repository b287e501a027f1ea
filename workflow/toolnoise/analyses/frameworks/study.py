"""The figures and the table of two toolings, and of two that have other frameworks."""

from toolnoise.study.kind import TABLES, Kind, by_task

_FRAMEWORKS = "two toolings of different engines with a variant of control or algo"
KINDS = {
    "across_toolings": Kind(
        ("stability", "runs", "cross_tooling"),
        lambda grid: (grid.paired, by_task),
        needs="two toolings with a variant of control or algo",
        takes=("width",),
        rank=5,
        caption="""
            Noise within and across toolings for one task of study *{study}*. Under the name of a tooling: run-to-run
            noise, as in figure 6 of Zhuang et al. (arXiv:2106.11872); small dots are the runs. Under the names of two
            (↔): run s on one tooling compared with run s on another. Both have bit-equal initial weights, batches and
            augmentation, so they differ only by the implementation. The paper does not have this comparison.
        """,
    ),
    "frameworks": Kind(
        ("stability", "runs", "cross_tooling", "frameworks"),
        lambda grid: (grid.framed, by_task),
        needs=_FRAMEWORKS,
        also=("identical",),
        takes=("width",),
        caption="""
            One task on the frameworks of study *{study}*. Under the name of a framework: run-to-run noise; small dots
            are the runs. Under the names of two (↔): run s on one framework compared with run s on another. Both have
            bit-equal initial weights, batches and augmentation, so they differ only by the framework. Control within
            one framework should be exactly 0. Pham et al. (doi:10.1145/3324884.3416545) compare frameworks without
            shared draws.
        """,
    ),
    "framework_parts": Kind(
        ("frameworks", "partings"),
        lambda grid: (grid.framed, by_task),
        needs=_FRAMEWORKS,
        also=("identical",),
        takes=("width",),
        caption="""
            The difference between two frameworks in study *{study}*, split into inference and training. Left: churn
            between run s on both in all, churn of the same trained networks predicted on the other framework, and what
            is left for training. Right: how far the test loss of run s has parted after each epoch.
        """,
    ),
    "partings": Kind(
        ("partings",),
        lambda grid: (grid.framed, by_task),
        needs=_FRAMEWORKS,
        also=("identical",),
        category=TABLES,
        caption="""
            Where and when the trainings of study *{study}* diverge between frameworks, although they start from
            bit-equal weights and see the same batches: the first epoch and layer whose digests in the histories differ,
            and the final differences of losses and layers, each with its 95 % confidence interval over runs. Control
            replicates are bit-equal, so they have no interval.
        """,
    ),
}
