"""Synthetic data in official formats, to try a study without a download."""
