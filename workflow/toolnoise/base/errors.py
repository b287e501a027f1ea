"""User errors and faults of the machine, reported in one line.

Everything that bad input can cause is raised as `BadInput`; the command line prints its text and exits with 2. So it
does with a fault of the machine: a full disk, no permission, a folder in the way, too little memory, or a package that
only an extra brings. Ctrl-C ends it without a word and with 130, as shells have it. A traceback therefore always means
a defect of this program, and so does every other `OSError`.
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

from toolnoise.base.printing import escaped

INTERRUPTED = 130
# Of what was found, in letters.
LONGEST = 1000
# Scratch folders that stand for what a person named, such as an archive: a message has the name that was given.
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
# Of these nobody makes the best: a library that fails while it handles one has failed because of it.
DECISIVE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
# Modules whose packages have other names.
IMPORTED_AS = {"sklearn": "scikit-learn", "PIL": "pillow"}
# What Python says if it can write to no folder for temporary files, such as on a full disk.
TEMPORARY = re.compile(r"^No usable temporary directory")
# What frameworks say when memory is short. Not all of them raise MemoryError.
MEMORY = re.compile(r"can't allocate memory|RESOURCE_EXHAUSTED|[Oo]ut of memory|OOM when allocating|bad_alloc")


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
        fault = fault_line(error)
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


def fault_name(error: OSError) -> str:
    """What an error is called."""
    return CALLED.get(error.errno, error.strerror or str(error))


def fault_line(error: BaseException) -> str:
    """The fault that an exception stands for, with its path, on one line; empty if it is a defect."""
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
    """Name the output in an error about its scratch file, or about no file: a write does not know its path.

    `scratch` is how the name of its scratch file or folder begins.
    """
    scratch = scratch or f".{path.name}."
    try:
        yield
    except Exception as raised:
        error = _behind(raised)
        if isinstance(error, OSError):
            # Without a number it is no fault of the machine, and keeps its own words.
            unnamed = error.filename is None and error.errno is not None
            if unnamed or any(part.startswith(scratch) for part in Path(_place(error)).parts):
                error.filename, error.filename2 = str(path), None
        raise


def _behind(error: BaseException) -> BaseException:
    """The fault because of which a library has ended in an error of its own, or else the error."""
    cause: BaseException | None = error
    while cause and not (isinstance(cause, OSError) and cause.errno in DECISIVE):
        cause = cause.__context__
    return cause or error


def _place(error: OSError) -> str:
    """The path that an error is about: of two, such as in a copy, it is the one that was to be made."""
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
