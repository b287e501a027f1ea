"""What Python imports at its start: it starts the observer that was injected, and what would have been next."""

import importlib.machinery
import importlib.util
import os
import sys

import toolnoise_injected

here = os.path.dirname(__file__)
others = [path for path in sys.path if path != here]
spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
if spec and spec.loader:
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
toolnoise_injected.start()
