"""A study: its configuration, the places of its grid, its variants, paths, figures and remedies."""
