"""User errors and faults of the machine, reported in one line.

Errors in the input are raised as `BadInput`; the command line prints their text and exits with 2. It does the same for
faults of the machine: a full disk, no permission, a folder in the way, too little memory, or a package that is missing
because it belongs to an extra. Ctrl-C ends it without a message, with exit code 130, as in shells. So a traceback
always means a defect of this program, and so does every other `OSError`.
"""

import contextlib
import errno
import functools
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from toolnoise.base.printing import make_printable

INTERRUPTED = 130
# Characters of the value found; a longer value is cut.
LONGEST = 1000
# Scratch folders that replace a path given by a person, such as an archive's: messages use the given path.
_NAMES: dict[str, str] = {}
CALLED = {
    errno.ENOSPC: "no space is left on the disk",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file is larger than is allowed here",
    errno.EROFS: "the file system is read-only",
    errno.EIO: "the disk reports an input/output error",
    errno.ESTALE: "the network file system has lost the file",
    errno.EACCES: "no permission",
    errno.EPERM: "no permission",
    errno.EISDIR: "a folder is in the way",
    errno.ENOTDIR: "a file is in the way where a folder belongs",
    errno.EEXIST: "a file is in the way where a folder belongs",
    errno.ENOTEMPTY: "a folder is in the way",
    errno.EBUSY: "something else uses it, such as a mounted disk",
    errno.ENXIO: "a pipe or a device is in the way",
    errno.ELOOP: "a circle of links is in the way",
    errno.ENAMETOOLONG: "the name is too long for the file system",
    errno.EMFILE: "too many files are open",
    errno.ENFILE: "too many files are open",
    errno.ENOMEM: "not enough memory",
}
# No library can handle these errors: if it fails while handling one, the error is the cause of the failure.
DECISIVE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
# Modules whose packages have other names.
IMPORTED_AS = {"sklearn": "scikit-learn", "PIL": "pillow"}
# Python's message if it can write to no folder for temporary files, such as on a full disk.
TEMPORARY = re.compile(r"^No usable temporary directory")
# Messages of frameworks when memory is short. Not all frameworks raise MemoryError.
MEMORY = re.compile(r"can't allocate memory|RESOURCE_EXHAUSTED|[Oo]ut of memory|OOM when allocating|bad_alloc")


Spelling = Callable[..., str]


def as_argument(name: str, value: str = "") -> str:
    """An argument, perhaps with its value, as Python writes it."""
    return f"{name}={value!r}" if value else name


def as_option(name: str, value: str = "") -> str:
    """An argument, perhaps with its value, as the command line writes it."""
    return f"--{name.replace('_', '-')} {value}".rstrip()


class BadInput(Exception):  # noqa: N818 (it names the input, not the program's error)
    """One line: the file, the key in it, what was found and what is allowed."""

    def __init__(self, file: object, key: str, found: str, allowed: "str | Callable[[Spelling], str]" = "") -> None:
        """Join the four parts; `key` and `allowed` may be empty, and a long `found` is cut.

        If `allowed` names arguments, it is a function: its argument spells them for Python or for the command line.
        """
        where = f"{file}: {key}" if key else f"{file}"
        found = found if len(found) <= LONGEST else f"{found[:LONGEST]}..."
        texts = [allowed] * 2 if isinstance(allowed, str) else [allowed(as_argument), allowed(as_option)]
        lines = [f"{where}: {found}" + (f"; {text}" if text else "") for text in texts]
        in_python, self.in_command_line = (as_given(" ".join(line.split())) for line in lines)
        super().__init__(in_python)


class BadArgument(BadInput):
    """An error in an argument of a function, also if the argument does not fit a file.

    The command line has an option instead, or a positional argument if the name is in capitals.
    """

    def __init__(self, name: str, found: str, allowed: "str | Callable[[Spelling], str]" = "", file: str = "") -> None:
        """Name the argument as Python does."""
        super().__init__(*((file, name) if file else (name.lower(), "")), found, allowed)
        option = name if name.isupper() else as_option(name)
        self.in_command_line = BadInput(file or "command line", option, found, allowed).in_command_line


@contextmanager
def errors_in_one_line(job: str = "") -> Iterator[None]:
    """End the process with a line and exit code 2 after bad input or a fault in the block; `job` names the work."""
    try:
        yield
    except BadInput as error:
        _end(error.in_command_line)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:
        fault = fault_line(error)
        if not fault:
            raise
        _end(" ".join(f"{job}: {fault}".removeprefix(": ").split()))


@functools.cache
def warn_once(line: str) -> None:
    """Print a warning, unless this process has printed it: Snakemake asks for the inputs of a rule more than once."""
    print(f"toolnoise: warning: {make_printable(line)}", file=sys.stderr, flush=True)


def _end(line: str) -> NoReturn:
    # The full disk may be the one with the log.
    with contextlib.suppress(OSError):
        # Escaped here, because Snakemake, which reads the Snakefile, prints text unchanged.
        print(f"toolnoise: {make_printable(line)}", file=sys.stderr, flush=True)
    sys.exit(2)


@contextmanager
def standing_for(name: Path, folder: Path) -> Iterator[None]:
    """Show `folder` as `name`, the path that a person gave, in the messages of the block."""
    _NAMES[str(folder)] = str(name)
    try:
        yield
    finally:
        del _NAMES[str(folder)]


def as_given(text: object) -> str:
    """A path, or a text with paths, with the paths that a person gave."""
    text = str(text)
    for folder, name in _NAMES.items():
        text = text.replace(folder, name)
    return text


def fault_name(error: OSError) -> str:
    """The name of an error for a message."""
    return CALLED.get(error.errno, error.strerror or str(error))


def fault_line(error: BaseException) -> str:
    """The fault behind an exception, with its path, on one line; empty if the exception is a defect."""
    error = _behind(error)
    if isinstance(error, OSError) and error.errno in CALLED:
        return f"{_place(error) or 'a file'}: {fault_name(error)}"
    if isinstance(error, FileNotFoundError) and TEMPORARY.search(error.strerror or ""):
        return f"temporary files: {error.strerror}; make room on one of their disks, or set TMPDIR"
    if isinstance(error, ModuleNotFoundError) and (extra := _extra_of(error.name or "")):
        return f"{error.name}: not installed; pip install 'toolnoise[{extra}]'"
    if isinstance(error, MemoryError) or MEMORY.search(str(error)):
        lines = str(error).strip().splitlines() or [""]
        # Keras puts a line of its own before the framework's.
        asked = next(filter(MEMORY.search, lines), lines[0])
        return f"not enough memory: {asked or 'the system gives no more'}"
    return ""


@contextmanager
def naming_output(path: Path, scratch: str = "") -> Iterator[None]:
    """Name the output in an error about its scratch file, or about no file, as errors of writes lack the path.

    `scratch` is the start of the name of its scratch file or folder.
    """
    scratch = scratch or f".{path.name}."
    try:
        yield
    except Exception as raised:
        error = _behind(raised)
        if isinstance(error, OSError):
            # An error without a number is no fault of the machine, and keeps its own message.
            unnamed = error.filename is None and error.errno is not None
            if unnamed or any(part.startswith(scratch) for part in Path(_place(error)).parts):
                error.filename, error.filename2 = str(path), None
        raise


def _behind(error: BaseException) -> BaseException:
    """The decisive fault that made a library raise its own error, or else the error itself."""
    cause: BaseException | None = error
    while cause and not (isinstance(cause, OSError) and cause.errno in DECISIVE):
        cause = cause.__context__
    return cause or error


def _place(error: OSError) -> str:
    """The path of an error; if it has two paths, such as for a copy, the path of the new file."""
    return str(error.filename2 or error.filename or "")


def _extra_of(module: str) -> str:
    """The extra of this package that brings a module; empty if none does."""
    # Imported here: the Snakefile reads this module.
    from importlib import metadata

    name = IMPORTED_AS.get(module, module)
    try:
        wanted = metadata.requires("toolnoise") or []
    except metadata.PackageNotFoundError:
        return ""
    extras = (re.search(r"""extra == ["']([\w-]+)""", line) for line in wanted if re.match(rf"{name}\b(?!-)", line))
    return next((extra[1] for extra in extras if extra), "")
