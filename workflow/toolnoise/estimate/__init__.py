"""Estimate: what the rest of a study will take and cost, from its runs and timed steps."""
