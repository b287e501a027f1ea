"""Combine the metric files of the parts of a study, one file per kind."""

from toolnoise.base import metric_files
from toolnoise.base.job import Implied, Inputs, Output


def collect(kind: str, columns: Implied, metrics: Inputs, *, out: Output) -> None:
    """Write the rows of several files of a kind as one, each checked; `columns` is where the columns are defined."""
    print(f"combining {len(metrics)} metric files of kind {kind}", flush=True)
    metric_files.concatenate(metrics, metric_files.columns(columns), out)
