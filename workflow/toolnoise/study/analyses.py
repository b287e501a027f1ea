"""The analyses that are there: folders of `analyses/`, found by listing them.

The kernel knows none of them by name. It asks for what they add: jobs (`rows`), kinds of figures (`kinds`), dumps of
a cell that an estimate counts (`dumps`), keys of the schema (`schema`), checks of a configuration (`checks`), and lines
of the summary (`summary`).
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
    """The modules of this name that analyses have, in the order of their folders."""
    folders = sorted(path.parent.name for path in (PACKAGE / "analyses").glob(f"*/{name}.py"))
    return tuple(importlib.import_module(f"toolnoise.analyses.{folder}.{name}") for folder in folders)
