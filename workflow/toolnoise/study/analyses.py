"""What stands beside the kernel and adds to it: folders of `analyses/` and rooms, found by listing them.

The kernel knows none of them by name. It asks for what they add: jobs (`rows`), kinds of figures (`kinds`), dumps of
a cell that an estimate counts (`dumps`), keys of the schema (`schema`), checks of a configuration (`checks`), and what
the page of a study shows (`page`).
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
    """The modules of this name that analyses and rooms have, in the order of their folders."""
    paths = sorted([*PACKAGE.glob(f"analyses/*/{name}.py"), *PACKAGE.glob(f"*/{name}.py")])
    folders = (path.relative_to(PACKAGE).parent for path in paths)
    return tuple(importlib.import_module(".".join([PACKAGE.name, *folder.parts, name])) for folder in folders)
