"""Where the program's files are: in a clone, or in an installed package, which carries what the package reads besides.

A file of the program has one name, its path in the repository. Statements use that name wherever the program lies. Here
is also how a process of the program starts, and that it ends with the one that started it.
"""

import os
import signal
import sys
from pathlib import Path, PurePosixPath

_PR_SET_PDEATHSIG = 1
PACKAGE = Path(__file__).parents[1]
# Where the repository has the package.
NAME = "workflow/toolnoise"
# The folder of an installed package that has the repository's other files, in the same order; setup.py makes it.
CARRIED = PACKAGE / "carried"
ROOT = CARRIED if CARRIED.is_dir() else PACKAGE.parents[1]


def path_of(name: str) -> Path:
    """The path of a file of the program, whether it is there or not."""
    plain = PurePosixPath(name)
    return PACKAGE / plain.relative_to(NAME) if plain.is_relative_to(NAME) else ROOT / plain


def registries() -> tuple[str, ...]:
    """The names of the registries and schemas that a study is read with."""
    folders = ("resources", "workflow/schemas")
    return tuple(f"{folder}/{path.name}" for folder in folders for path in sorted(path_of(folder).glob("*.yaml")))


def python(module: str, *arguments: str) -> list[str]:
    """The command that runs a module of this environment.

    With -P: Python would first look for modules in the folder that it starts in, and import the `yaml.py` of a study.
    """
    return [sys.executable, "-P", "-m", module, *arguments]


def snakefile() -> Path:
    """The Snakefile, for `snakemake --snakefile`; beside it lies the profile that Snakemake takes unasked."""
    return ROOT / "Snakefile"


def profile(name: str) -> Path:
    """The folder of a profile, for `snakemake --profile`."""
    return ROOT / "workflow/profiles" / name


def end_with(parent: int, number: int = signal.SIGKILL) -> None:
    """Have the system signal this process when the thread of `parent` that started it ends; only Linux can do that."""
    if sys.platform == "linux":
        # Imported here: the Snakefile reads this module.
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)
        # It may have ended before.
        if os.getppid() != parent:
            os._exit(1)
