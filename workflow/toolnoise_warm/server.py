"""A warm server: it imports what its jobs need, and forks a child for each job.

A child takes over the job's command line, folder, environment, mask and standard streams, and then is the job. The
server reports to the job's own process how the child ended, and kills the child if that process is killed. Children die
with their server.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from toolnoise.base import program
from toolnoise.base.children import end_with
from toolnoise_warm import FAILED, messages
from toolnoise_warm.messages import Message

TASKS = Path("/proc/self/task")
# What jobs import only when they run, and so each of them anew: all of them, and those of one verb.
ALL = ("encodings.cp437", "numpy.ma", "numpy.random", "toolnoise.base.log")
FURTHER = {"render": tuple(f"toolnoise.figures.{name}" for name in ("dots", "findings", "rehearsal", "tables"))}

Files = dict[Path, tuple[int, ...]]


class Child(NamedTuple):
    """A forked job: its process, as a number and as a descriptor, and the connection to the one who waits for it."""

    process: int
    descriptor: int
    connection: socket.socket


def main() -> None:
    """Import, fork a child for each job until standard input ends, and in a child perform the job."""
    listener, imports = socket.socket(fileno=int(sys.argv[1])), json.loads(sys.argv[2])
    # Before any of them is imported: no change may pass unnoticed.
    files = _files()
    from toolnoise import cli

    _import_ahead(imports)
    _serve(listener, files)
    _end(_performed(cli.main))


def _files() -> Files:
    """The files of this program and the folders of all packages, each with what changes when it is changed."""
    folders = [Path(folder) for folder in sys.path if folder.endswith("-packages")]
    sources = (*program.PACKAGE.rglob("*.py"), *map(program.path_of, program.registries()))
    stats = {path: path.stat() for path in (*sources, *folders)}
    return {path: (stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns) for path, stat in stats.items()}


def _import_ahead(imports: dict[str, Any]) -> None:
    recorder = importlib.import_module("toolnoise.record.recorder")
    recorder.look_up()
    importlib.import_module("toolnoise.study.config").read_registries()
    for module in ALL:
        importlib.import_module(module)
    # If there are threads, such as those of a library for linear algebra, no job will be forked.
    if imports and _threads() == 1:
        from toolnoise import engines

        engines.load(imports["tooling"]["engine"]).import_ahead(**imports)
    gc.freeze()


def _threads() -> int:
    return len(list(TASKS.iterdir()))


def _why_not(files: Files) -> str:
    """The reason why no job may be forked from this process now, or an empty text."""
    if _threads() > 1:
        return f"{_threads()} threads run after the import"
    return "" if _files() == files else f"{FAILED}code or packages have changed since the import"


def _serve(listener: socket.socket, files: Files) -> None:
    """Fork a child for each job; return in the child."""
    children: list[Child] = []
    while True:
        waiting = [child.connection for child in children if child.connection.fileno() >= 0]
        ready, _, _ = select.select([sys.stdin, listener, *waiting, *(child.descriptor for child in children)], [], [])
        if sys.stdin in ready:
            # The children die with this process.
            os._exit(0)
        for child in children:
            if child.connection in ready:
                _abandon(child)
            if child.descriptor in ready:
                _report(child)
        children = [child for child in children if child.descriptor not in ready]
        if listener in ready:
            connection, _ = listener.accept()
            job, streams = _accepted(connection, files)
            server = os.getpid()
            process = os.fork() if job else None
            if process == 0:
                for sock in (listener, *(child.connection for child in children)):
                    sock.close()
                for child in children:
                    os.close(child.descriptor)
                return _become(job, streams, connection, server)
            for stream in streams:
                os.close(stream)
            if process:
                os.setpgid(process, process)
                children.append(Child(process, os.pidfd_open(process), connection))
            else:
                connection.close()


def _accepted(connection: socket.socket, files: Files) -> tuple[Message | None, list[int]]:
    """The job of a new connection and its streams; no job if it is refused, or if the one who asked has ended."""
    from toolnoise import cli
    from toolnoise.base.errors import BadInput
    from toolnoise.steps import STEPS
    from toolnoise.study import grid

    streams: list[int] = []
    with contextlib.suppress(OSError, ValueError):
        connection.settimeout(10)
        messages.send(connection, {"ready": True})
        job, streams = messages.receive(connection)
        if job:
            # What a child would import anyway, and the next one too.
            verb = job["argv"][1]
            for module in (STEPS[verb].module, *FURTHER.get(verb, ())):
                importlib.import_module(module)
            # The parser is kept, and so is the study: this process is in the folder of its jobs.
            options = cli.parsed(job["argv"][1:])
            with contextlib.suppress(BadInput):
                grid.load(options.study)
            if refused := _why_not(files):
                messages.send(connection, {"refused": refused})
            return None if refused else job, streams
    return None, streams


def _become(job: Message, streams: list[int], connection: socket.socket, server: int) -> None:
    """Make this child the job: whatever a process of its own would have, it has."""
    os.setpgid(0, 0)
    end_with(server)
    # The child itself says so: its server may be stopped before or after it forks.
    try:
        messages.send(connection, {"started": os.getpid()})
    except OSError:
        # The job has waited too long, and is performed cold.
        os._exit(1)
    connection.close()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdout.reconfigure(line_buffering=os.isatty(sys.stdout.fileno()))
    sys.argv, sys.executable = job["argv"], job["executable"]
    os.environ.clear()
    os.environ.update(job["environment"])
    os.umask(job["umask"])
    os.chdir(job["cwd"])


def _performed(main: Callable[..., None]) -> int:
    """Perform the job; return the exit code of its process."""
    try:
        main(started="warm")
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    return 0


def _end(code: int) -> NoReturn:
    """End as Python does, but free nothing: that would copy each page which this process shares with its server."""
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _abandon(child: Child) -> None:
    """Kill a child for which nobody waits any more."""
    child.connection.close()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.process, signal.SIGKILL)


def _report(child: Child) -> None:
    """Say how a child ended."""
    _, status = os.waitpid(child.process, 0)
    os.close(child.descriptor)
    # Nobody may be left to read it.
    with contextlib.suppress(OSError):
        messages.send(child.connection, {"status": status})
    child.connection.close()


if __name__ == "__main__":
    main()
