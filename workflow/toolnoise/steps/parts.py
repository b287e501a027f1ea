"""The rows of the jobs that make the parts of a study; and what they measure."""

from toolnoise.estimate import rows as estimate
from toolnoise.papers.classes import rows as classes
from toolnoise.papers.frameworks import rows as frameworks
from toolnoise.papers.growth import rows as growth
from toolnoise.papers.language import rows as language
from toolnoise.papers.layers import rows as layers
from toolnoise.papers.overhead import rows as overhead
from toolnoise.papers.remedies import rows as remedies
from toolnoise.programs import rows as programs
from toolnoise.steps import table
from toolnoise.steps.step import Step
from toolnoise.study import layout
from toolnoise.study.study import Figure, Study

# By the verb of the command line, in the order of the data.
ROWS: dict[str, Step] = {
    **table.ROWS,
    **programs.ROWS,
    **classes.ROWS,
    **estimate.ROWS,
    **frameworks.ROWS,
    **growth.ROWS,
    **language.ROWS,
    **layers.ROWS,
    **overhead.ROWS,
    **remedies.ROWS,
}

# The columns of each kind of metric file of a study as a whole, by the name of the kind.
COLUMNS = {write.metric: write.columns for step in ROWS.values() for write in step.writes.values() if write.metric}


def metric_files(study: Study, figure: Figure | None = None) -> dict[str, list[str]]:
    """The metric files of every part of the study, or of what a figure shows, by kind."""
    by_kind: dict[str, list[str]] = {}
    for step in ROWS.values():
        for write in step.writes.values():
            if write.metric:
                places = [place for place in step.where.all(study) if figure is None or figure.shows(place)]
                by_kind.setdefault(write.metric, []).extend(study.path(write.pattern, place) for place in places)
    return by_kind


def collected(study: Study) -> dict[str, str]:
    """The metric files of the study as a whole, by kind."""
    kinds = (kind for kind, files in metric_files(study).items() if files)
    return {kind: study.path(layout.COLLECTED, file=layout.FILE_OF.get(kind, kind)) for kind in kinds}


def gates(study: Study, figure: Figure | None = None) -> list[str]:
    """The verdicts on the control cells of the study, or on those that a figure shows."""
    return [study.path(layout.GATE, cell) for cell in study.controls if figure is None or figure.shows(cell)]
