"""Rebuilds: results made again from their statements and compared bit for bit."""
