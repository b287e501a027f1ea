"""What stands beside the kernel and adds to it: folders of `analyses/` and rooms, found by listing them.

The kernel knows none of them by name. It asks for what they add: jobs (`rows`), kinds of figures (`kinds`), dumps of
a cell that an estimate counts (`dumps`), keys of the schema (`schema`), checks of a configuration (`checks`), what the
page of a study shows (`page`), and lines of the summary (`summary_lines`).
"""

import functools
import importlib
from types import ModuleType
from typing import NamedTuple

from toolnoise.base.program import PACKAGE


class Dump(NamedTuple):
    """A dump of a cell: the pattern of its path, the forward passes that it takes, the stacks of logits that it has."""

    pattern: str
    passes: int
    stacks: int


@functools.cache
def adding(name: str) -> tuple[ModuleType, ...]:
    """The modules of this name that analyses have, and rooms with jobs of their own, in the order of their folders."""
    rooms = (path.parent for path in PACKAGE.glob("*/rows.py"))
    paths = sorted(folder / f"{name}.py" for folder in (*PACKAGE.glob("analyses/*"), *rooms))
    folders = (path.relative_to(PACKAGE).parent.parts for path in paths if path.is_file())
    return tuple(importlib.import_module(".".join([PACKAGE.name, *folder, name])) for folder in folders)
