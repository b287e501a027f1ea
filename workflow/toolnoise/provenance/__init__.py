"""Where each result comes from: jobs are recorded, and the records are audited, compared, repeated and shared."""
