"""Tables about a data set that figures use in place of the data: the examples per label, and the names of classes."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from toolnoise.base import metric_files
from toolnoise.base.job import Input, Output
from toolnoise.base.metric_files import Columns
from toolnoise.base.printing import make_printable
from toolnoise.datasets import prepared
from toolnoise.datasets.prepared import PARTS
from toolnoise.formulas.outcomes import ALL

COUNTS: Columns = {"dataset": str, "split": str, "group": str, "label": str, "count": int}
LABELS: Columns = {"dataset": str, "label": str, "name": str}


def count(dataset: str, data: Input, *, out: Output) -> None:
    """Write the counts of a prepared data set, overall and in each of its groups, as a metric file."""
    prepared_data, rows = prepared.load(data), []
    for part in PARTS:
        split = getattr(prepared_data, part)
        for group, member in {ALL: np.ones(len(split.labels), bool), **prepared_data.members(split)}.items():
            by_label = np.bincount(split.labels[member], minlength=len(prepared_data.classes)).tolist()
            rows.append((dataset, part, group, ALL, sum(by_label)))
            rows += [(dataset, part, group, str(label), number) for label, number in enumerate(by_label)]
    metric_files.write_metrics(out, COUNTS, rows)


def write_names(dataset: str, data: Input, *, out: Output) -> None:
    """Write the names of the classes of a prepared data set, by label."""
    classes = prepared.load(data).classes
    metric_files.write_metrics(out, LABELS, [(dataset, label, name) for label, name in enumerate(classes)])


def names_in(files: Sequence[str | Path], dataset: str) -> list[str]:
    """The names of a data set's classes from metric files, by label, escaped for drawing; empty if all are numbers."""
    rows = metric_files.read_metrics(files, LABELS)
    names = rows[rows["dataset"] == dataset]["name"].tolist()
    # Matplotlib reads a text between two dollar signs as a formula, and SVG allows no unprintable characters.
    return [] if all(name.isdigit() for name in names) else [make_printable(name).replace("$", r"\$") for name in names]
