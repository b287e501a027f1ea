"""Python imports this first of all where its folder is on PYTHONPATH: whoever imports a package of BLOCKED fails.

Not by an ImportError, which many catch who take a package if they find it. Nothing is to be taken because it is there.
"""

import os
import sys
from importlib.machinery import ModuleSpec, PathFinder

BLOCKED = os.environ["BLOCKED"].split()


class Blocker:
    """Finds those of the blocked packages that are installed, and loads none."""

    @staticmethod
    def find_spec(name, _path=None, _target=None):
        return ModuleSpec(name, Blocker) if name in BLOCKED and PathFinder.find_spec(name) else None

    @staticmethod
    def create_module(spec):
        raise RuntimeError(f"{spec.name} is blocked, and was imported")

    exec_module = create_module  # never reached, but a loader has one


sys.meta_path.insert(0, Blocker)
