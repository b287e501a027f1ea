"""Grid Engine: two commands that Snakemake's generic executor calls, to submit a job and to ask how it stands.

Jobs are routed by the table that the profiles for Slurm use, workflow/profiles/partitions.yaml: a partition is a queue.
"""
