"""Checking: whether a training program is reproducible, and which of its seeds it ignores."""
