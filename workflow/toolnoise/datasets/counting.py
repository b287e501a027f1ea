"""Counts of the examples of each label in a data set, overall and in each of its groups."""

import numpy as np

from toolnoise.base import metric_files
from toolnoise.base.job import Input, Output
from toolnoise.base.metric_files import Columns
from toolnoise.datasets import prepared
from toolnoise.datasets.prepared import PARTS
from toolnoise.formulas.outcomes import ALL

COUNTS: Columns = {"dataset": str, "split": str, "group": str, "label": str, "count": int}


def count(dataset: str, data: Input, *, out: Output) -> None:
    """Write the counts of a prepared data set as a metric file."""
    prepared_data, rows = prepared.load(data), []
    for part in PARTS:
        split = getattr(prepared_data, part)
        for group, member in {ALL: np.ones(len(split.labels), bool), **prepared_data.members(split)}.items():
            by_label = np.bincount(split.labels[member], minlength=len(prepared_data.classes)).tolist()
            rows.append((dataset, part, group, ALL, sum(by_label)))
            rows += [(dataset, part, group, str(label), number) for label, number in enumerate(by_label)]
    metric_files.write(out, COUNTS, rows)
