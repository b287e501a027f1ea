"""A study's page: its findings, tables, figures, cells, runs and comparisons, as HTML that opens from disk."""
