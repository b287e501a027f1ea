"""What is measured on the runs of a cell: pure functions from arrays to rows of a metric file."""

from toolnoise.stats.estimates import Estimate

Row = tuple[str, str, Estimate]  # metric, group, estimate
