"""The study of a folder: found, so that nobody has to type its name.

Files are recognised by their text, so that a file with a syntax error is found, too, and the error is reported.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from toolnoise.base.errors import BadInput
from toolnoise.base.files import read_text
from toolnoise.study import grid, layout
from toolnoise.study.study import Study

SUFFIXES = (".yaml", ".yml")
# Snakemake's name for it: the demo's in a clone, so any other study file counts more.
DEFAULT = "config.yaml"
# A key of the outermost level: not indented in YAML, indented by one space in the JSON that is kept with results.
_KEY = re.compile(r"^ ?[\"']?(study|grid|overhead)[\"']? *:", re.MULTILINE)


def is_study(path: str | Path) -> bool:
    """Whether a file is a study as somebody wrote it, or as it is kept with its results."""
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


def loaded(file: str | None) -> tuple[str, Study]:
    """The study of a file, or else that of this folder, and its file."""
    file = file or to_read()
    return file, grid.load(file)


def _files() -> list[str]:
    names = sorted(path.name for path in Path().iterdir() if path.suffix in SUFFIXES and path.name != DEFAULT)
    return list(filter(is_study, names))


def _only(files: Sequence[str], option: str) -> str:
    if not files:
        raise BadInput("command line", option, "no study in this folder", "name one, or write one: toolnoise init")
    if len(files) > 1:
        raise BadInput("command line", option, f"{len(files)} studies in this folder", f"one of: {', '.join(files)}")
    return files[0]
