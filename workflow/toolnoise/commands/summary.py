"""The summary of a finished study: one line per cell, and the verdicts on claims."""

import math
from collections.abc import Iterator
from pathlib import Path

from toolnoise.base import files, metric_files
from toolnoise.base.printing import aligned
from toolnoise.claims import sentences
from toolnoise.claims.judging import CLAIMS
from toolnoise.metrics.stability import STABILITY
from toolnoise.study import layout
from toolnoise.study.cells import Cell
from toolnoise.study.grid import Study


def summarise(study: Study) -> str:
    """A table with accuracy, churn, weight distance and the control gate, the path of the page, and the verdicts."""
    rows = [("model", "data set", "hardware", "variant", "runs", "accuracy %", "churn %", "L2 (unit)", "control")]
    rows += _rows(study)
    lines = aligned(rows)
    emulated = study.emulated()
    if emulated:
        lines.append(f"implementation noise is emulated (reduction order) on: {', '.join(emulated)}")
    lines.append(f"the page: {study.path(layout.REPORT)}")
    claims = study.path(layout.CLAIMS)
    if Path(claims).exists():
        lines += ["", "Verdicts on claims:", *sentences.paragraphs(metric_files.read(claims, CLAIMS))]
    else:
        lines.append("no verdicts on claims yet: snakemake claims")
    return "\n".join(lines)


def _rows(study: Study) -> Iterator[tuple[str, ...]]:
    found = metric_files.read([study.path(layout.COLLECTED, file="stability")] if study.cells else [], STABILITY)
    found = found[found["group"] == "all"]
    values = {Cell(*row[:4]): {} for row in found.itertuples(index=False)}
    for row in found.itertuples(index=False):
        values[Cell(*row[:4])][row.metric] = row
    for cell, metrics in values.items():
        mean, churn = metrics["accuracy_mean"], metrics["churn"]
        missing = f" ({mean.n_missing} diverged)" if mean.n_missing else ""
        yield (
            *cell,
            f"{mean.n_runs}{missing}",
            f"{_number(mean.value, 100, 2)} ± {_number(metrics['accuracy_sd'].value, 100, 2)}",
            _number(churn.value, 100, 2),
            _number(metrics["l2_unit"].value, 1, 4),
            _gate(study, cell),
        )


def _gate(study: Study, cell: Cell) -> str:
    if cell.variant != "control":
        return ""
    verdict = files.read_json(study.path(layout.GATE, cell))["bit_equal"]
    return "bit-equal" if verdict else "one run: not checked"


def _number(value: float, scale: float, digits: int) -> str:
    return "n/a" if math.isnan(value) else f"{value * scale:.{digits}f}"
