"""Statements: what each job made, from what, how and where; written, read and signed."""
