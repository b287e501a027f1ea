"""Run existing training programs, read their outputs, and test whether they are reproducible.

The contract is in docs/outside.md. This package needs NumPy, but no framework.
"""
