"""Where the program's files are: in a clone, or in an installed package with copies of the repository's files.

A file of the program has one name, its path in the repository. Statements use that name wherever the program lies. This
module also has the command of a process of the program, and can end a process together with its parent.
"""

import os
import signal
import sys
from pathlib import Path, PurePosixPath

_PR_SET_PDEATHSIG = 1
PACKAGE = Path(__file__).parents[1]
# The path of the package in the repository.
NAME = "workflow/toolnoise"
# The folder of an installed package with the repository's other files, in the same layout; setup.py makes it.
CARRIED = PACKAGE / "carried"
ROOT = CARRIED if CARRIED.is_dir() else PACKAGE.parents[1]


def path_of(name: str) -> Path:
    """The path of a file of the program, whether it exists or not."""
    plain = PurePosixPath(name)
    return PACKAGE / plain.relative_to(NAME) if plain.is_relative_to(NAME) else ROOT / plain


def names_of_registries() -> tuple[str, ...]:
    """The names of the registries and schemas that a study is read with."""
    folders = ("resources", "workflow/schemas")
    return tuple(f"{folder}/{path.name}" for folder in folders for path in sorted(path_of(folder).glob("*.yaml")))


def python_command(module: str, *arguments: str) -> list[str]:
    """The command that runs a module of this environment.

    Without -P, Python would look for modules in its working folder first, and import the `yaml.py` of a study.
    """
    return [sys.executable, "-P", "-m", module, *arguments]


def path_of_snakefile() -> Path:
    """The Snakefile, for `snakemake --snakefile`; Snakemake's default profile lies beside it."""
    return ROOT / "Snakefile"


def path_of_profile(name: str) -> Path:
    """The folder of a profile, for `snakemake --profile`."""
    return ROOT / "workflow/profiles" / name


def end_with(parent: int, number: int = signal.SIGKILL) -> None:
    """Have the system signal this process when the thread of `parent` that started it ends; only Linux can do that."""
    if sys.platform == "linux":
        # Imported here: the Snakefile reads this module.
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)
        # The parent may have ended already.
        if os.getppid() != parent:
            os._exit(1)
