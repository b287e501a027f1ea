"""Metric files of the parts of a study put together, one file a kind."""

from toolnoise.base import metric_files


def collect(kind: str, columns: str, metrics: list[str], out: str) -> None:
    """Write the rows of several files of a kind as one, each checked; `columns` says where these stand."""
    print(f"combining {len(metrics)} metric files of kind {kind}", flush=True)
    metric_files.concatenate(metrics, metric_files.columns(columns), out)
