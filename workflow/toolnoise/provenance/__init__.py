"""Where each result comes from: jobs are recorded, and what is recorded is audited, compared, made again and shared."""
