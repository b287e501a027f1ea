"""Estimates of the time and cost of the rest of a study, from finished runs and timed steps."""
