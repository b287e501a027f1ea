"""Analyses: each folder has what one question needs, from its measure to its figure; nothing in the kernel needs it."""
