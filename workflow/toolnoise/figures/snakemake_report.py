"""A study's page: Snakemake's own report over its figures, tables and metric files, with their captions."""

import subprocess

from toolnoise.base import program
from toolnoise.base.files import replacing, require_small
from toolnoise.base.job import Input, Inputs, TimedOutput, unrepeatable


@unrepeatable("the page says when Snakemake wrote it")
def write(study: Input, shows: Inputs, *, out: TimedOutput) -> None:
    """Write the page of a study, by its resolved form; Snakemake finds the files that it shows by its own rules."""
    # It holds each in memory, encoded.
    for file in shows:
        require_small(file)
    with replacing(out) as scratch:
        command = program.python("snakemake", "figures", "--snakefile", str(program.snakefile()))
        options = ["--configfile", study, "--nolock", "--quiet", "--report", str(scratch)]
        done = subprocess.run([*command, *options], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)
