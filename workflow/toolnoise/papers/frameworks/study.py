"""The figures and the table of two toolings, and of two that have other frameworks."""

from toolnoise.study.cells import Cell
from toolnoise.study.figure_grid import Grid
from toolnoise.study.kind import TABLES, Feed, Kind, by_task


def _paired(grid: Grid) -> list[Cell]:
    """Cells of tasks that two toolings train from equal draws."""
    tasks = {pair.task for pair in grid.study.pairs if grid.seeds.keys() >= set(pair.cells)}
    return [cell for cell in grid.usual if cell.task in tasks]


def _framed(grid: Grid) -> Feed:
    """Cells of tasks on toolings that use two frameworks, by task."""
    pairs = [pair for pair in grid.study.frameworks if grid.seeds.keys() >= set(pair.cells)]
    framed = {(*pair.task, name) for pair in pairs for name in (pair.hardware, pair.other_hardware)}
    return [cell for cell in grid.usual if cell[:3] in framed], by_task


_FRAMEWORKS = "two toolings of different engines with a variant of control or algo"
KINDS = {
    "across_toolings": Kind(
        ("stability", "runs", "cross_tooling"),
        lambda grid: (_paired(grid), by_task),
        needs="two toolings with a variant of control or algo",
        takes=("width",),
        rank=5,
        caption="""Noise within and across toolings for one task of study *{study}*. Under the name of a tooling:
            run-to-run noise, as in figure 6 of Zhuang et al. (arXiv:2106.11872); small dots are the runs. Under the
            names of two (↔): run s on one tooling compared with run s on another. Both have bit-equal initial weights,
            batches and augmentation, so they differ only by the implementation. The paper does not have this
            comparison.""",
    ),
    "frameworks": Kind(
        ("stability", "runs", "cross_tooling", "frameworks"),
        _framed,
        needs=_FRAMEWORKS,
        also=("identical",),
        takes=("width",),
        caption="""One task on the frameworks of study *{study}*. Under the name of a framework: run-to-run noise; small
            dots are the runs. Under the names of two (↔): run s on one framework compared with run s on another. Both
            have bit-equal initial weights, batches and augmentation, so they differ only by the framework. Control
            within one framework should be exactly 0. Pham et al. (doi:10.1145/3324884.3416545) compare frameworks
            without shared draws.""",
    ),
    "framework_parts": Kind(
        ("frameworks", "partings"),
        _framed,
        needs=_FRAMEWORKS,
        also=("identical",),
        takes=("width",),
        caption="""The difference between two frameworks in study *{study}*, split into inference and training. Left:
            the whole churn between run s on both frameworks, the churn when the other framework predicts with the same
            trained networks, and the rest, which is due to training. Right: how far apart the test losses of run s are
            after each epoch.""",
    ),
    "partings": Kind(
        ("partings",),
        _framed,
        needs=_FRAMEWORKS,
        also=("identical",),
        category=TABLES,
        caption="""Where and when the trainings of study *{study}* diverge between frameworks, although they start from
            bit-equal weights and see the same batches: the first epoch and layer whose digests in the histories differ,
            and the final differences of losses and layers, each with its 95 % confidence interval over runs. Control
            replicates are bit-equal, so they have no interval.""",
    ),
}
