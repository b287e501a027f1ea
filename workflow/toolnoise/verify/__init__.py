"""Verification of results: audit, diff, rebuild, export and import, the crate."""
