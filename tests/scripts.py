"""Programs outside of the package, such as those of bench/, as modules."""

import importlib.util
from pathlib import Path


def loaded(path):
    """The module that a file is; no other module can import it by its name."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
