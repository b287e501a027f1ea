"""The job of growth: how the differences between runs from equal starts grow."""

from toolnoise.steps.reads import WEIGHTS
from toolnoise.steps.step import Read, Step, Where, Work, metric
from toolnoise.study import layout
from toolnoise.study.cells import Variants
from toolnoise.study.study import Study


def _recorded(study: Study, place: Variants) -> list[str]:
    """The records of all runs of the cells that are compared."""
    cells = dict.fromkeys(cell for both in study.growing()[place] for cell in both)
    return [record for cell in cells for record in study.runs(layout.RECORD, cell)]


ROWS = {
    "measure-growth": Step(
        "measure_growth",
        "measure how the differences between runs from equal starts grow, step by step",
        where=Where(
            Variants, Study.growing, "grid", "a recipe with record_steps, and two cells of a task with equal draws"
        ),
        parameters=lambda study, place: {
            **place._asdict(),
            "references": [[list(cell) for cell in both] for both in study.growing()[place]],
        },
        reads={"records": Read(_recorded, WEIGHTS, several=True)},
        writes={"out": metric("growth", "{model}/{dataset}/{hardware}", "toolnoise.papers.growth.metric")},
        work=Work("toolnoise.papers.growth.measure:measure"),
    ),
}
