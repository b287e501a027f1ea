"""Export and import of results between sites."""
