"""Measures: each module reads dumps and runs, calls formulas, and writes one kind of rows."""
