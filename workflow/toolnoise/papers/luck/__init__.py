"""Luck: which test examples the runs of a cell all answer right, some of them, or none."""
