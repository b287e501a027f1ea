"""Columns of histories, and metrics, that are times, by their names: they differ between any two runs."""

import re

TIMED = re.compile(
    r"(^|[^a-z])(times?(?![-_ ]series)|seconds|secs?|(?<!['\u2019])s|ms(?![-_ ]ssim)|durations?|elapsed|speed"
    r"|throughput|per_sec\w*|date|timestamp|wall_?clock|wall_?time|run_?time|latency)($|[^a-z])"
)


def is_time(name: str) -> bool:
    """Whether a column or a metric has the name of a time."""
    return bool(TIMED.search(name.lower()))
