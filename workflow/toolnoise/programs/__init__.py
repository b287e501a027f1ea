"""Existing training programs in a study: their runs, outcomes, gate and measures; adopted runs."""
