"""Finds the study of the current folder, and reads the configuration in the arguments for Snakemake.

Studies are recognised by their text, so that a file with a syntax error is found, too, and the error is reported.

Snakemake does not read strictly, so the rules read its configuration files and --config values again, as written. If
Snakemake cannot read a file at all, it gives no reason, or a traceback. Therefore `toolnoise run` reads the files
strictly before it starts Snakemake.
"""

import argparse
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from toolnoise.base.errors import BadInput
from toolnoise.base.files import read_json, read_text
from toolnoise.study import config, grid, layout, strict_yaml
from toolnoise.study.study import Study

SUFFIXES = (".yaml", ".yml")
# Snakemake's default name. In a clone it is the demo, so any other study file takes precedence.
DEFAULT = "config.yaml"
# A key of the outermost level: not indented in YAML, indented by one space in the JSON that is kept with results.
_KEY = re.compile(r"^ ?[\"']?(study|grid|overhead)[\"']? *:", re.MULTILINE)


def is_study(path: str | Path) -> bool:
    """Whether a file is a study, as a user wrote it or as it is kept with its results."""
    if Path(path).suffix not in (*SUFFIXES, ".json"):
        return False
    try:
        keys = set(_KEY.findall(read_text(path)))
    except (OSError, UnicodeDecodeError, BadInput):
        return False
    return "study" in keys and len(keys) > 1


def to_run(otherwise: str = DEFAULT) -> str:
    """The only study file of this folder; `otherwise` if there is none."""
    return _only(_files() or list(filter(is_study, [otherwise])), "STUDY")


def to_read() -> str:
    """The only study file of this folder; without any, the only study among its results."""
    kept = sorted(map(str, Path().glob(layout.STUDY.format(study="*"))))
    return _only(_files() or list(filter(is_study, [DEFAULT])) or kept, "--study")


def load_from_files(file: str | None) -> tuple[str, Study]:
    """The file and its study; by default those of this folder."""
    file = file or to_read()
    return file, grid.load_study(file)


def _files() -> list[str]:
    names = sorted(path.name for path in Path().iterdir() if path.suffix in SUFFIXES and path.name != DEFAULT)
    return list(filter(is_study, names))


def _only(files: Sequence[str], option: str) -> str:
    if not files:
        raise BadInput("command line", option, "no study in this folder", "name one, or write one: toolnoise init")
    if len(files) > 1:
        raise BadInput("command line", option, f"{len(files)} studies in this folder", f"one of: {', '.join(files)}")
    return files[0]


def require_kept(path: str, resolved: config.Config) -> None:
    """Refuse a study.json of another configuration; Snakemake keeps such a file only if it has no record of it."""
    if read_json(path) != resolved:
        problem = "is of another configuration, and Snakemake has no record of it"
        raise BadInput(path, "", problem, "remove it, and run the same command again")


# The configuration that Snakemake gets


def require_readable(words: Sequence[str]) -> None:
    """Refuse configuration on Snakemake's command line that cannot be read strictly."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--configfile", "--configfiles", nargs="+", default=[])
    parser.add_argument("--config", "-C", nargs="*", default=[])
    try:
        given, _ = parser.parse_known_args(list(words))
    except argparse.ArgumentError:
        # Snakemake reports this error itself.
        return
    read_strictly(given.configfile, given.config)


def read_strictly(files: Iterable[str | Path], entries: Iterable[str]) -> list[config.Config]:
    """The contents of configuration files and of KEY=VALUE entries, each read strictly."""
    contents = []
    for file in files:
        content = config.read_yaml(file)
        if not isinstance(content, dict):
            # This raises an error that describes a study.
            config.resolve(content, file)
        contents.append(content)
    return [*contents, *map(_entry, entries)]


def as_written(config_of_module: config.Config, files: Iterable[str | Path]) -> config.Config:
    """The configuration of a Snakemake module, read strictly from the files of the workflow that includes it.

    A module gets the whole configuration or the value of one key. If the workflow has changed it, it is used as it is.
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
    known = config.study_schema()["properties"]
    if not equals or key not in known:
        raise BadInput("command line", "--config", f"found {entry!r}", f"KEY=VALUE, allowed keys: {', '.join(known)}")
    try:
        return {key: strict_yaml.load_yaml(text)}
    except ValueError as error:
        raise BadInput("command line", f"--config {key}", str(error).removeprefix("line 1: ")) from None
