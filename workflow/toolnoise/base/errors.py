"""User errors, reported in one line.

Everything that bad input can cause is raised as `BadInput`; the command line prints its text and exits with 2. A
traceback therefore always means a defect of this program.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


class BadInput(Exception):  # noqa: N818 (it names the input, not the program's error)
    """One line: the file, the key in it, what was found and what is allowed."""

    def __init__(self, file: object, key: str, found: str, allowed: str = "") -> None:
        """Join the four parts; `key` and `allowed` may be empty."""
        where = f"{file}: {key}" if key else f"{file}"
        line = f"{where}: {found}" + (f"; {allowed}" if allowed else "")
        super().__init__(" ".join(line.split()))


@contextmanager
def errors_in_one_line() -> Iterator[None]:
    """End the process with the line and exit code 2 if the block meets bad input."""
    try:
        yield
    except BadInput as error:
        print(f"toolnoise: {error}", file=sys.stderr)
        sys.exit(2)
