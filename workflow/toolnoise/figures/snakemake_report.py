"""A study's page: Snakemake's own report over its figures, tables and metric files, with their captions."""

import subprocess
from pathlib import Path

from toolnoise.base import program
from toolnoise.base.files import replacing, require_small
from toolnoise.study import layout


def write(study: str, figure_kinds: list[str], shows: list[str], out: str | Path) -> None:
    """Write the page of the study of that name, whose resolved form lies with its results; `shows` are its files."""
    del figure_kinds  # Snakemake finds their captions, as the files, by its own rules
    # It holds each in memory, encoded.
    for file in shows:
        require_small(file)
    with replacing(out) as scratch:
        command = program.python("snakemake", "figures", "--snakefile", str(program.snakefile()))
        options = ["--configfile", layout.STUDY.format(study=study), "--nolock", "--quiet", "--report", str(scratch)]
        done = subprocess.run([*command, *options], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)
