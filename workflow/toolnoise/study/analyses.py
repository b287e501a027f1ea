"""What stands beside the kernel and adds to it: folders of `papers/` and rooms, found by listing them.

The kernel knows none of them by name. It asks for what they add: jobs (`rows.py`; `whole.py` for the study as a whole),
what planning needs (`study.py`: kinds of figures and what these take of a study, keys of the schema, checks of a
configuration, warnings of what cannot fit, dumps of a cell that an estimate counts), and what the page of a study and
the summary show (`page.py`, `findings.py`).
"""

import functools
import importlib
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from toolnoise.base.program import PACKAGE


class Dump(NamedTuple):
    """A dump of a cell: the pattern of its path, the forward passes that it takes, the stacks of logits that it has."""

    pattern: str
    passes: int
    stacks: int


@functools.cache
def named(*names: str) -> tuple[str, ...]:
    """The modules of these names that analyses have, and rooms with verbs of their own, in the order of their folders.

    None is imported: a plan needs their names alone, and what shows claims imports SciPy.
    """
    folders = sorted((*PACKAGE.glob("papers/*"), *(path.parent for path in PACKAGE.glob("*/verbs"))))
    paths = [folder / f"{name}.py" for name in names for folder in folders]
    return tuple(
        ".".join([PACKAGE.name, *path.relative_to(PACKAGE).with_suffix("").parts]) for path in paths if path.is_file()
    )


def modules(name: str) -> tuple[ModuleType, ...]:
    """These modules, imported."""
    return tuple(map(importlib.import_module, named(name)))


def adding(module: str, name: str) -> tuple[Any, ...]:
    """What those of these modules that have something of this name add."""
    return tuple(getattr(each, name) for each in modules(module) if hasattr(each, name))


def web() -> list[Path]:
    """The files that a study's page is made from: the kernel's, then those of analyses that add views."""
    patterns = ("pages/web/*", "papers/*/web/*")
    return [path for pattern in patterns for path in sorted(PACKAGE.glob(pattern))]
