"""Existing training programs in a study: their runs, what these leave, their gate and measures; adopted runs."""
