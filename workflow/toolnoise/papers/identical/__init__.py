"""Identical runs: how far runs of equal settings differ in accuracy, time and convergence."""
