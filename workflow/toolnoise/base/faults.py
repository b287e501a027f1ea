"""What a fault of the machine is called: a full disk, no permission, a folder in the way, too little memory.

A verb that meets one ends in a line with the path and this name. Every other `OSError` is a defect of this program. A
package that only an extra brings may be missing, too.
"""

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
        return f"not enough memory: {asked or 'the system gives no more'}{_available()}"
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


def _available() -> str:
    try:
        (kib,) = re.findall(r"^MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
    except (OSError, ValueError):
        return ""
    return f"; {int(kib) / 2**20:.1f} GiB of main memory are free"
