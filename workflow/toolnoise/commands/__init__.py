"""Commands for people: a study is run and summed up. What they and the Snakefile ask of Snakemake is here, too."""
