"""The names that a data set's files give its classes, as a metric file: figures are drawn without the data."""

from collections.abc import Sequence
from pathlib import Path

from toolnoise.base import metric_files
from toolnoise.base.job import Input, Output
from toolnoise.base.metric_files import Columns
from toolnoise.base.printing import escaped
from toolnoise.datasets import prepared

LABELS: Columns = {"dataset": str, "label": str, "name": str}


def write(dataset: str, data: Input, *, out: Output) -> None:
    """Write the names of the classes of a prepared data set, by label."""
    classes = prepared.load(data).classes
    metric_files.write(out, LABELS, [(dataset, label, name) for label, name in enumerate(classes)])


def names_in(files: Sequence[str | Path], dataset: str) -> list[str]:
    """The names of a data set's classes in metric files, by label, escaped for figures; empty if they are numbers."""
    rows = metric_files.read(files, LABELS)
    names = rows[rows["dataset"] == dataset]["name"].tolist()
    # Matplotlib reads a text between two dollars as a formula, and an SVG may not have unprintable characters.
    return [] if all(name.isdigit() for name in names) else [escaped(name).replace("$", r"\$") for name in names]
