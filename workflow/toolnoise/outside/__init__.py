"""Training programs of others: what they are given, how they are started, and what they leave.

The contract is in docs/outside.md. Nothing here needs Snakemake or a framework, only NumPy.
"""
