"""Commands for people that run and summarize a study, and the parts of Snakemake that they and the Snakefile use."""
