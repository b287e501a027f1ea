"""Metric files of the parts of a study put together, one file a kind."""

import importlib

from toolnoise.base import metric_files


def collect(kind: str, columns: str, metrics: list[str], out: str) -> None:
    """Write the rows of several files as one, each checked; `columns` says where these are, as module:name."""
    print(f"putting {len(metrics)} files of {kind} together", flush=True)
    module, _, name = columns.partition(":")
    metric_files.concatenate(metrics, getattr(importlib.import_module(module), name), out)
