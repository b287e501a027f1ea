"""A study: its configuration, grid, variants, paths and figures, and the outputs of its runs."""
