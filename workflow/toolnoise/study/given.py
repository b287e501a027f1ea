"""The configuration among Snakemake's words: files, and values of --config.

Snakemake's reading is not strict, so the rules read both again, as they are written. Of a file that Snakemake cannot
read at all, it says only that it is wrong, or ends in a traceback: `toolnoise run` reads strictly before it starts it.
"""

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from toolnoise.base.errors import BadInput
from toolnoise.study import config, strict_yaml


def require_readable(words: Sequence[str]) -> None:
    """Refuse what the words of a command line of Snakemake give, if Snakemake would not read it as it is written."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--configfile", "--configfiles", nargs="+", default=[])
    parser.add_argument("--config", "-C", nargs="*", default=[])
    try:
        given, _ = parser.parse_known_args(list(words))
    except argparse.ArgumentError:
        # Snakemake says what it takes.
        return
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


def as_written(config_of_module: config.Config, files: Iterable[str | Path]) -> config.Config:
    """What a module is given, as the files are written from which the other workflow has read it.

    It may be all of them, or what they have under one key. What the other workflow has changed is taken as it is.
    """
    from snakemake.common.configfile import load_configfile
    from snakemake.utils import update_config

    loaded: config.Config = {}
    strictly: config.Config = {}
    for file in files:
        update_config(loaded, load_configfile(str(file)))
    parts = {"": loaded, **{key: value for key, value in loaded.items() if isinstance(value, dict)}}
    same = next((key for key, value in parts.items() if value == config_of_module), None)
    if same is None:
        return config_of_module
    for file in files:
        update_config(strictly, config.read_yaml(file))
    return strictly[same] if same else strictly


def _entry(entry: str) -> config.Config:
    key, equals, text = entry.partition("=")
    known = config.schema()["properties"]
    if not equals or key not in known:
        raise BadInput("command line", "--config", f"found {entry!r}", f"KEY=VALUE, allowed keys: {', '.join(known)}")
    try:
        return {key: strict_yaml.load(text)}
    except ValueError as error:
        raise BadInput("command line", f"--config {key}", str(error).removeprefix("line 1: ")) from None
