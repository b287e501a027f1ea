"""The job that measures a cell writes its runs as identical runs, too: it takes the place of the kernel's."""

from toolnoise.steps.step import Work, metric
from toolnoise.steps.table import ROWS as KERNEL
from toolnoise.study import layout

_MEASURE = KERNEL["measure"]
_METRIC = "toolnoise.papers.identical.metric"

ROWS = {
    "measure": _MEASURE._replace(
        parameters=lambda study, cell: _MEASURE.parameters(study, cell) | {"identical": study.config["identical"]},
        writes={
            **{option: _MEASURE.writes[option] for option in ("out", "out-runs")},
            "out-identical": metric("identical", layout.CELL, _METRIC, timed=True),
            "out-convergence": metric("convergence", layout.CELL, _METRIC, timed=True),
            "out-ensembles": _MEASURE.writes["out-ensembles"],
        },
        work=Work("toolnoise.papers.identical.measure:measure"),
    ),
}
