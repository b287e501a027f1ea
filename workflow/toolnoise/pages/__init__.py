"""A study's page: its findings, tables, figures, cells and runs, as HTML that opens from disk."""
