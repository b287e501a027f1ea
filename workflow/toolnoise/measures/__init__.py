"""Measures: each module reads dumps and runs, calls pure functions of metrics, and writes one kind of rows."""
