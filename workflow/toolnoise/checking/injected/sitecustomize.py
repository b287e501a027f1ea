"""Python imports this module at its start: it runs the sitecustomize that it hides, and starts the observer."""

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
