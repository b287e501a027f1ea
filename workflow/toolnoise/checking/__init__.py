"""Existing training programs: how they are started, what they leave, whether they are reproducible.

The contract is in docs/outside.md. Nothing here needs a framework, only NumPy.
"""
