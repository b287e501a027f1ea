"""Tables of metrics that are given without --metric, as if they had predictions: which command is meant."""

import shlex
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from toolnoise.base.errors import BadInput
from toolnoise.comparison import column_roles, read_arms
from toolnoise.comparison.tables import frame, layouts
from toolnoise.comparison.tables.directions import words_of

LARGEST = 2**22  # bytes: larger files than any table of metrics, which would be read twice
# What the columns of predictions are called.
PREDICTIONS = {"pred", "label", "example", "pred by run", "correct by run"}


def require_predictions(given: Sequence[Sequence[str]]) -> None:
    """Refuse a table of metrics without --metric: say which command is meant."""
    for arm in given:
        for path in (path for pattern in arm for path in read_arms.files_of(pattern)):
            if metrics := _metrics(path):
                named = f" ({frame.listed(metrics)})" if metrics[0] else ""
                meant = f"toolnoise compare {_typed(given)} --metric {shlex.quote(metrics[0] or 'NAME')}"
                raise BadInput(path, "", f"found metrics{named}, not predictions", meant)


def _typed(given: Sequence[Sequence[str]]) -> str:
    """The arms as a person would type them; of many files the first and the last."""
    shown = [arm if len(arm) < 3 else [arm[0], "...", arm[-1]] for arm in given]
    option = "--arm " if any(len(arm) > 1 for arm in given) else ""
    return " ".join(option + " ".join(part if part == "..." else shlex.quote(part) for part in arm) for arm in shown)


def _metrics(path: str) -> list[str]:
    """The metrics of a CSV that has no predictions; one without a name if its columns are arms or seeds."""
    if Path(path).suffix != ".csv" or not Path(path).is_file() or Path(path).stat().st_size > LARGEST:
        return []
    try:
        table = frame.read(path)
    except BadInput:
        return []  # whoever reads predictions says why
    if table.names == layouts.TENSORBOARD:
        return ["Value"]
    if curves := [name for name in table.names if " - " in name and not layouts.EXTREMES.search(name)]:
        return sorted({name.rpartition(" - ")[2] for name in curves})
    if logged := [name for name in table.names if name.startswith("metrics.")]:
        return logged
    role_of = {name: column_roles.role_of(name) for name in table.names}
    scores = [name for name, role in role_of.items() if role.startswith("score")]
    if len(scores) > 1 or not PREDICTIONS.isdisjoint(role_of.values()):
        return []
    held = dict(zip(table.names, table.columns, strict=True))
    fractions = [name for name, column in held.items() if frame.is_numeric(column) and _fractions(column)]
    if named := [name for name in fractions if not layouts.METRICS.isdisjoint(words_of(name))]:
        return named
    # Scores of classes have a column each, and predictions of a run a line for each example.
    runs = [name for name in held if role_of[name] == "run"]
    others = [frame.texts(column) for name, column in held.items() if name not in fractions]
    if runs and len(set(zip(*others, strict=True))) < table.lines:
        return []
    numbered = [name for name in fractions if role_of[name] == " by run"]
    if len(fractions) == 1 and fractions != [""] and not numbered:
        return fractions
    return [""] if fractions and (runs or numbered or table.names == [""]) else []


def _fractions(column: np.ndarray) -> bool:
    """Whether a column has numbers that are not whole."""
    filled = [float(cell) for cell in frame.texts(column) if cell and frame.csv_columns.is_number(cell)]
    return any(np.isfinite(cell) and cell != np.floor(cell) for cell in filled)
