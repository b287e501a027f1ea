"""The package, for the Python of an environment that lacks it: this folder is on PYTHONPATH, and nothing else of ours.

An environment of `--sdm conda` has what environment.yml lists. The folder that the package is installed in may have
much more, all of which would go before that.
"""

import importlib.util
import sys
from pathlib import Path

# In a clone beside this folder; an installed package carries the folder.
_HERE = Path(__file__).resolve()
_PACKAGE = next(path for path in (_HERE.parents[1] / "toolnoise", _HERE.parents[3]) if (path / "__init__.py").exists())
_SPEC = importlib.util.spec_from_file_location(
    __name__, _PACKAGE / "__init__.py", submodule_search_locations=[str(_PACKAGE)]
)
# Whoever imports this module gets what lies here under its name.
sys.modules[__name__] = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(sys.modules[__name__])
