"""A study: its configuration, grid, variants, paths, figures and remedies."""
