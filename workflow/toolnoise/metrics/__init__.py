"""What is measured on the runs of a cell: pure functions from arrays to rows of a metric file."""
