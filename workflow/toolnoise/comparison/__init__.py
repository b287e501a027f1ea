"""Comparison: whether a gain is real, and how many runs it takes to find out."""
