"""User errors and faults of the machine, reported in one line.

Everything that bad input can cause is raised as `BadInput`; the command line prints its text and exits with 2. So it
does with a fault of the machine, such as a full disk. Ctrl-C ends it without a word and with 130, as shells have it. A
traceback therefore always means a defect of this program.
"""

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from toolnoise.base import faults
from toolnoise.base.printing import escaped

INTERRUPTED = 130
# Of what was found, in letters.
LONGEST = 1000
# Scratch folders that stand for what a person named, such as an archive: a message has the name that was given.
_NAMES: dict[str, str] = {}


Spelling = Callable[..., str]


def as_argument(name: str, value: str = "") -> str:
    """An argument, perhaps with its value, as Python has it."""
    return f"{name}={value!r}" if value else name


def as_option(name: str, value: str = "") -> str:
    """An argument, perhaps with its value, as the command line has it."""
    return f"--{name.replace('_', '-')} {value}".rstrip()


class BadInput(Exception):  # noqa: N818 (it names the input, not the program's error)
    """One line: the file, the key in it, what was found and what is allowed."""

    def __init__(self, file: object, key: str, found: str, allowed: "str | Callable[[Spelling], str]" = "") -> None:
        """Join the four parts; `key` and `allowed` may be empty. What was found may be long, and is cut.

        What is allowed may name arguments: then it is a function of how Python, or the command line, spells one.
        """
        where = f"{file}: {key}" if key else f"{file}"
        found = found if len(found) <= LONGEST else f"{found[:LONGEST]}..."
        texts = [allowed] * 2 if isinstance(allowed, str) else [allowed(as_argument), allowed(as_option)]
        lines = [f"{where}: {found}" + (f"; {text}" if text else "") for text in texts]
        in_python, self.in_command_line = (as_given(" ".join(line.split())) for line in lines)
        super().__init__(in_python)


class BadArgument(BadInput):
    """What is wrong with an argument of a function, or with what it says of a file.

    The command line has an option in its place, or, if it is named in capitals, a word.
    """

    def __init__(self, name: str, found: str, allowed: "str | Callable[[Spelling], str]" = "", file: str = "") -> None:
        """Name the argument as Python does."""
        super().__init__(*((file, name) if file else (name.lower(), "")), found, allowed)
        option = name if name.isupper() else as_option(name)
        self.in_command_line = BadInput(file or "command line", option, found, allowed).in_command_line


@contextmanager
def errors_in_one_line(job: str = "") -> Iterator[None]:
    """End the process with a line and exit code 2 if the block meets bad input or a fault; `job` says what it does."""
    try:
        yield
    except BadInput as error:
        _end(error.in_command_line)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:
        fault = faults.fault_line(error)
        if not fault:
            raise
        _end(" ".join(f"{job}: {fault}".removeprefix(": ").split()))


@functools.cache
def warn_once(line: str) -> None:
    """Print a warning, unless this process has printed it: Snakemake asks for the inputs of a rule more than once."""
    print(f"toolnoise: warning: {escaped(line)}", file=sys.stderr, flush=True)


def _end(line: str) -> NoReturn:
    # The disk under a log may be the full one.
    with contextlib.suppress(OSError):
        # Snakemake, which reads the Snakefile, prints as it is told.
        print(f"toolnoise: {escaped(line)}", file=sys.stderr, flush=True)
    sys.exit(2)


@contextmanager
def standing_for(name: Path, folder: Path) -> Iterator[None]:
    """Have `folder` stand for what a person called `name`, as long as the block runs."""
    _NAMES[str(folder)] = str(name)
    try:
        yield
    finally:
        del _NAMES[str(folder)]


def as_given(text: object) -> str:
    """A path, or a text with paths, with the names that were given."""
    text = str(text)
    for folder, name in _NAMES.items():
        text = text.replace(folder, name)
    return text
