"""The configuration among Snakemake's words: files, and values of --config.

Snakemake reads both before it reads the Snakefile. Its reading is not strict, and of some files it says only that they
are wrong, or ends in a traceback. So they are read strictly first: by `toolnoise run`, and by the logger plugin, which
Snakemake imports before it reads its command line.
"""

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from toolnoise.base import program
from toolnoise.base.errors import BadInput
from toolnoise.study import config, strict_yaml

# Where Snakemake looks for a Snakefile, in this order.
SNAKEFILES = ("Snakefile", "snakefile", "workflow/Snakefile", "workflow/snakefile")
OWN = (program.snakefile(), program.path_of("workflow/Snakefile"))


def require_readable(words: Sequence[str]) -> None:
    """Refuse what the words of a command line of Snakemake give this workflow, if it is not read as it is written."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--configfile", "--configfiles", nargs="+", default=[])
    parser.add_argument("--config", "-C", nargs="*", default=[])
    parser.add_argument("--snakefile", "-s", default=next((name for name in SNAKEFILES if Path(name).exists()), ""))
    parser.add_argument("--mode")
    try:
        given, _ = parser.parse_known_args(list(words))
    except argparse.ArgumentError:
        # Snakemake says what it takes.
        return
    # A job's Snakemake is given what the first one has read.
    if given.mode is None and Path(given.snakefile).resolve() in OWN:
        read(given.configfile, given.config)


def read(files: Iterable[str | Path], entries: Iterable[str]) -> list[config.Config]:
    """The contents of configuration files, and of entries KEY=VALUE, each as it is written."""
    contents = []
    for file in files:
        content = config.read_yaml(file)
        if not isinstance(content, dict):
            # It says what a study is.
            config.resolve(content, file)
        contents.append(content)
    return [*contents, *map(_entry, entries)]


def _entry(entry: str) -> config.Config:
    key, equals, text = entry.partition("=")
    known = config.schema()["properties"]
    if not equals or key not in known:
        raise BadInput("command line", "--config", f"found {entry!r}", f"KEY=VALUE, allowed keys: {', '.join(known)}")
    try:
        return {key: strict_yaml.load(text)}
    except ValueError as error:
        raise BadInput("command line", f"--config {key}", str(error).removeprefix("line 1: ")) from None
