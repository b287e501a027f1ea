"""Where each result comes from: jobs are recorded, and what was recorded is audited, compared, made again and shared."""
