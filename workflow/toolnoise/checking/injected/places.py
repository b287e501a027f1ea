"""The user's own code: not that of Python, of installed packages or of toolnoise."""

import os
import sys
import sysconfig
import threading
from types import FrameType

HERE = os.path.dirname(os.path.abspath(__file__))
STARTED = os.path.join(os.getcwd(), "")
INSTALLED = tuple(
    {os.path.join(sysconfig.get_paths()[kind], "") for kind in ("stdlib", "platstdlib", "purelib", "platlib")}
)
PACKAGES = tuple(os.path.join(os.sep, each, "") for each in ("site-packages", "dist-packages", "workflow/toolnoise"))
IMPORTS = "<frozen importlib._bootstrap>"

Place = tuple[str, int]
NOWHERE: Place = ("", 0)
_names: dict[str, str] = {}


def name_of(file: str) -> str:
    """The file of some code as a person would write it; empty if it is not the user's."""
    if file not in _names:
        # A program may change its folder; compiled code has names of files that are not there.
        path = os.path.normpath(os.path.join(STARTED, file))
        is_foreign = path.startswith((HERE, *INSTALLED)) or any(part in path for part in PACKAGES)
        name = path.removeprefix(STARTED) if os.path.isfile(path) and not is_foreign else ""
        _names[file] = "-c" if file == "<string>" and "-c" in sys.orig_argv else name
    return _names[file]


def place_of(frame: FrameType | None) -> Place:
    """The innermost line of the user's code on a stack; nowhere if a package is being imported, or none is there."""
    while frame is not None and frame.f_code.co_filename != IMPORTS:
        if file := name_of(frame.f_code.co_filename):
            return file, frame.f_lineno
        frame = frame.f_back
    return NOWHERE


def current_place() -> Place:
    """The innermost line of the user's code; that of the main thread if this one has none, as in a backward pass."""
    place = place_of(sys._getframe(1))
    if place == NOWHERE and threading.current_thread() is not threading.main_thread():
        return place_of(sys._current_frames().get(threading.main_thread().ident or 0))
    return place
