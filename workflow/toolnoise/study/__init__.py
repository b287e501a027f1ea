"""A study: its configuration, grid, variants, paths and figures, and what a run of it leaves."""
