"""Analyses: each folder has what one question, or one command, needs; nothing in the kernel needs it."""
