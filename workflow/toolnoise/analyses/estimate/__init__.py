"""Estimate: how long a study will take, and what it will cost, from runs that are there and from timed steps."""
