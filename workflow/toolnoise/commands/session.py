"""Who works in a folder: each Snakemake of this workflow has a record there, and holds it as long as it lives.

Snakemake's own locks name no process, and stay if it is killed. So before it makes them, this process writes a record.
A lock is removed if every record that it may be of is of a process that ended. A record names its process's lock once
that begins its jobs. Before that, any later lock on its study's files may be its own. The system drops the hold on a
record when its process ends, however that happens. Between machines, and on a file system without locks, nothing is
known for sure and nothing is removed. Nor is the lock of a Snakemake that gave its jobs to a queue: they still run when
it is killed.

This is the one place that knows what Snakemake's locks look like. Nothing heavy is imported: the Snakefile reads it.
"""

import atexit
import itertools
import json
import os
import platform
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, NamedTuple

from toolnoise.base import scratch
from toolnoise.base.errors import BadInput

FOLDER = Path(".snakemake/toolnoise")
# Snakemake's: `0.input.lock` and `0.output.lock`, with the names of files, one a line.
LOCKS = Path(".snakemake/locks")
# The jobs of a workflow on this machine inherit the name of its record.
VARIABLE = "TOOLNOISE_SESSION"
GRACE = 10  # seconds from SIGTERM to SIGKILL


class SessionRecord(NamedTuple):
    """A Snakemake at work, or one that was killed: its record, since when, whether it is held, and its lines.

    The first line is about it; the others are the files that it makes.
    """

    path: Path
    since: int
    held: bool
    about: dict[str, Any]
    outputs: list[str]

    @property
    def ended(self) -> bool:
        """Whether its process has ended for sure: it was on this machine, and holds nothing."""
        return not self.held and (self.about["host"] == platform.node() or self.about["boot"] == _boot())


_own: list[Path] = []


def begin(results: str) -> None:
    """Write this process's record, and remove the locks of those that have ended; `results` is its study's folder."""
    try:
        FOLDER.mkdir(parents=True, exist_ok=True)
        with scratch.claim(FOLDER / "records", wait=True):
            for path in itertools.chain.from_iterable(filter(_is_left, _locked())):
                path.unlink(missing_ok=True)
            _write(results)
    except OSError:
        require_folder()
    with suppress(ValueError):  # not in the main thread
        _end_in_order_on_hangup()
    _end_without_a_word_on_interrupt()


def require_folder() -> None:
    """Make the folder that Snakemake makes next, even in a dry run; it would end in a traceback if it could not."""
    LOCKS.mkdir(parents=True, exist_ok=True)


def is_locked(folder: Path = Path()) -> bool:
    """Whether somebody may work in a folder: there is a lock that no Snakemake has left which has ended."""
    return any(not _is_left(place) for place in _locked(folder))


def take_over(outputs: Sequence[str], *, local: bool) -> None:
    """Start to make these files: nobody else who lives may be making one of them.

    Snakemake asks for locks and then writes its own, so two that start at once may both have them, and the first to end
    removes those of all. Snakemakes that were killed here are forgotten, and their jobs on this machine are ended. If
    jobs go to a queue, this process's record says so from now on.
    """
    with scratch.claim(FOLDER / "records", wait=True):
        mine, others = set(outputs), [record for record in _records(Path()) if record.path.absolute() not in _own]
        for record in others:
            if record.held and (both := mine.intersection(record.outputs)):
                maker = f"process {record.about['process']} on {record.about['host']} is making {min(both)}"
                raise BadInput(FOLDER, "", maker, "wait until it has ended")
        if _own:
            about, since = json.loads(_own[-1].read_text()), _own[-1].stat().st_mtime_ns
            about |= {"queue": not local}
            if locks := list(_identities(mine)):
                about |= {"locks": locks}
            _own[-1].write_text(json.dumps(about) + "\n" + "\n".join(outputs))
            # It stays older than this process's lock.
            os.utime(_own[-1], ns=(since, since))
    ended = [record for record in others if record.ended]
    if local and ended and _end_jobs({record.path.name for record in ended}):
        _say("jobs of a Snakemake that was killed here were still running; they are ended and made again")
    for record in ended:
        record.path.unlink(missing_ok=True)
    if local and _own:
        os.environ[VARIABLE] = _own[-1].name
    with suppress(ValueError):  # not in the main thread
        _end_in_order_on_sigterm()


def _write(results: str) -> None:
    handle, name = tempfile.mkstemp(prefix=f"{os.getpid()}-", suffix=".json", dir=FOLDER)
    # Held until this process ends.
    scratch.hold(handle, Path(name))
    about = {"host": platform.node(), "boot": _boot(), "process": os.getpid(), "results": results, "queue": False}
    os.write(handle, json.dumps(about).encode())
    _own.append(Path(name).absolute())
    atexit.register(_own[-1].unlink, missing_ok=True)


def _boot() -> str:
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return platform.node()


def _records(folder: Path) -> Iterator[SessionRecord]:
    for path in (folder / FOLDER).glob("*.json"):
        with suppress(OSError, ValueError):
            # In this order: a record that is held now was written by a process that lives now.
            held = scratch.is_held(path)
            first, *outputs = path.read_text().splitlines() or [""]
            yield SessionRecord(path, path.stat().st_mtime_ns, held, json.loads(first), outputs)


def _locked(folder: Path = Path()) -> list[list[Path]]:
    """Snakemake's locks, those of one process together."""
    locks: dict[str, list[Path]] = {}
    with suppress(FileNotFoundError):
        for path in sorted((folder / LOCKS).iterdir()):
            locks.setdefault(path.name.partition(".")[0], []).append(path)
    return list(locks.values())


def _is_left(lock: list[Path]) -> bool:
    """Whether all that may have made a lock have ended; of what has other names, or is away meanwhile, nobody knows."""
    with suppress(OSError, ValueError):
        names, mine = _names(lock), _identity(lock)
        makers = [
            one
            for one in _records(lock[-1].parents[2])
            if one.since <= lock[-1].stat().st_mtime_ns
            and any(name.startswith(f"{one.about['results']}/") for name in names)
            and mine in one.about.get("locks", [mine])
        ]
        if unseen := [one.about for one in makers if not (one.held or one.ended)]:
            maker = f"process {unseen[0]['process']} on {unseen[0]['host']}"
            _say(f"{maker} locked this folder, and cannot be seen from here; if it has ended: snakemake --unlock")
        if queued := [one.about for one in makers if one.ended and one.about["queue"]]:
            killed = f"process {queued[0]['process']} was killed here"
            _say(f"{killed}, and its jobs may still be in the queue; once they have ended: snakemake --unlock")
        return bool(makers) and not queued and all(one.ended for one in makers)
    return False


def _names(lock: list[Path]) -> list[str]:
    return lock[-1].read_text().splitlines()


def _identity(lock: list[Path]) -> list[str | int]:
    """What another lock of the same name has differently."""
    about = lock[-1].stat()
    return [lock[-1].name, about.st_ino, about.st_mtime_ns]


def _identities(outputs: set[str]) -> Iterator[list[str | int]]:
    """Those of the locks on these files."""
    for lock in _locked():
        # The first Snakemake that ends removes all locks.
        with suppress(OSError):
            if outputs.intersection(_names(lock)):
                yield _identity(lock)


def _end_jobs(records: set[str]) -> bool:
    """End the processes that have inherited the name of one of these records; whether there were any."""
    import psutil

    pids = {process.pid for process in (psutil.Process(), *psutil.Process().parents())}
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.pid not in pids and process.environ().get(VARIABLE) in records:
                found.append(process)
    for process in found:
        with suppress(psutil.Error):
            process.terminate()
            # Of what is stopped, too.
            process.resume()
    _, left = psutil.wait_procs(found, GRACE)
    for process in left:
        with suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(left, GRACE)
    return bool(found)


def _end_in_order_on_sigterm() -> None:
    """Have Snakemake's handler in a thread: it waits for a lock that the thread it interrupts may hold."""
    orderly = signal.getsignal(signal.SIGTERM)
    if callable(orderly):
        signal.signal(signal.SIGTERM, lambda *about: threading.Thread(target=orderly, args=about).start())


def _end_in_order_on_hangup() -> None:
    """Do on SIGHUP, which a lost connection sends, what Snakemake does on SIGTERM; under nohup, it stays ignored."""
    if signal.getsignal(signal.SIGHUP) != signal.SIG_DFL:
        return
    leave = leaving_terminal()

    def hang_up(_number: int, frame: FrameType | None) -> None:
        leave()
        # Before its first job, Snakemake has none.
        orderly = signal.getsignal(signal.SIGTERM)
        if not callable(orderly):
            raise KeyboardInterrupt
        orderly(signal.SIGTERM, frame)

    signal.signal(signal.SIGHUP, hang_up)


def _end_without_a_word_on_interrupt() -> None:
    """Print no traceback of Ctrl-C: Snakemake has nothing to catch it before its first job."""
    before = sys.excepthook

    def report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if not issubclass(kind, KeyboardInterrupt):
            before(kind, error, trace)

    sys.excepthook = report


def leaving_terminal() -> Callable[[], None]:
    """What takes the standard streams off a terminal that is lost: whoever writes to it fails."""
    terminals = [number for number in (0, 1, 2) if os.isatty(number)]

    def leave() -> None:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in terminals:
            os.dup2(nowhere, number)
        os.close(nowhere)

    return leave


def _say(line: str) -> None:
    with suppress(OSError):
        print(f"toolnoise: {line}", file=sys.stderr, flush=True)
