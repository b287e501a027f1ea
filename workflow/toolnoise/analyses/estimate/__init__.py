"""Estimate: how far a study is, how long the rest will take, and what it will cost, from its runs and timed steps."""
