"""A study's page: its findings, tables and figures, and every cell, run and comparison, as HTML that opens from disk."""
