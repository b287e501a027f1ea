"""Lines of the user's own code: not those of Python, of installed packages or of the recorder."""

import os
import sys
import sysconfig
import threading
from types import FrameType

HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
STARTED = os.path.join(os.getcwd(), "")  # noqa: PTH109, PTH118
INSTALLED = tuple(
    {os.path.join(sysconfig.get_paths()[kind], "") for kind in ("stdlib", "platstdlib", "purelib", "platlib")}  # noqa: PTH118
)
PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")

_names: dict[str, str] = {}
Place = tuple[str, int]
NOWHERE: Place = ("", 0)
IMPORTS = "<frozen importlib._bootstrap>"


def name(file: str) -> str:
    """The file of some code as a person would write it; empty if it is not the user's."""
    if file not in _names:
        path = os.path.abspath(file)  # noqa: PTH100
        foreign = (
            (file.startswith("<") and (file != "<string>" or "-c" not in sys.orig_argv))
            or path.startswith((HERE, *INSTALLED))
            or any(part in path for part in PACKAGES)
        )
        _names[file] = "" if foreign else "-c" if file == "<string>" else path.removeprefix(STARTED)
    return _names[file]


def of(frame: FrameType | None) -> Place:
    """The innermost line of the user's code on a stack; nowhere if a package is being imported, or none is there."""
    while frame is not None and frame.f_code.co_filename != IMPORTS:
        if file := name(frame.f_code.co_filename):
            return file, frame.f_lineno
        frame = frame.f_back
    return NOWHERE


def here() -> Place:
    """The innermost line of the user's code; that of the main thread if this one has none, as in a backward pass."""
    place = of(sys._getframe(1))
    if place == NOWHERE and threading.current_thread() is not threading.main_thread():
        return of(sys._current_frames().get(threading.main_thread().ident or 0))
    return place
