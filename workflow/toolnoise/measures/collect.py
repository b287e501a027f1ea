"""Combine the metric files of the parts of a study, one file per kind."""

from toolnoise.base import metric_files


def collect(kind: str, columns: str, metrics: list[str], out: str) -> None:
    """Write the rows of several files of a kind as one, each checked; `columns` is where the columns are defined."""
    print(f"combining {len(metrics)} metric files of kind {kind}", flush=True)
    metric_files.concatenate(metrics, metric_files.columns(columns), out)
