"""Columns of histories, and metrics, that are times or speeds, by their names: they differ between any two runs."""

import re

TIMED = re.compile(
    r"(^|[^a-z])(times?(?![-_ ]series)|seconds|secs?|(?<!['\u2019])s|ms(?![-_ ]ssim)|[mu]secs?|minutes?|hours?|days"
    r"|durations?|elapsed|speed(up)?|throughput|per_sec\w*|[ftq]ps|mfu|date|timestamp|wall_?clock|wall_?time|run_?time"
    r"|latency)($|[^a-z])"
)

WORD = re.compile("(?<=[a-z])(?=[A-Z])")  # begins in trainTime


def is_time(name: str) -> bool:
    """Whether a column or a metric has the name of a time or a speed."""
    return any(TIMED.search(text.lower()) for text in (name, WORD.sub(" ", name)))
