"""Statistics of a few runs: values with their intervals, from plain arrays."""
