"""The templates of a workflow: each imports what its jobs need, and forks a child for each job."""

import atexit
import contextlib
import importlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from toolnoise.base import program
from toolnoise.warm.client import FAILED, LONGEST, PLAIN, VARIABLE, short_address

TASKS = Path("/proc/self/task")
# NumPy's libraries start no threads in a template: a fork would not have them.
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "GOTO", "BLIS")}
# What jobs of a verb import only when they run, and so each of them anew.
FURTHER = {
    "collect": ("toolnoise.stats.jackknife",),
    "render": (
        *(f"toolnoise.figures.{name}" for name in ("dots", "execution", "findings", "sheets", "tables")),
        *(f"matplotlib.backends.backend_{name}" for name in ("agg", "pdf", "svg")),
        *("matplotlib.style.core", "papermill", "seaborn"),
    ),
}
SECONDS_TO_END = 20
_running = contextlib.ExitStack()


def start(toolings: Mapping[str, dict[str, Any]]) -> None:
    """Start a template for jobs without a tooling and for each of these that can have one, unless that is off.

    They end when this process ends, however that happens: each reads from a pipe that nobody else has.
    """
    if VARIABLE in os.environ or not TASKS.exists():
        return
    folder = tempfile.mkdtemp(prefix="toolnoise-templates-")
    _running.callback(shutil.rmtree, folder, ignore_errors=True)
    _running.callback(os.environ.pop, VARIABLE, None)
    holder = os.open(folder, os.O_RDONLY)
    _running.callback(os.close, holder)
    for name, tooling in {PLAIN: {}, **toolings}.items():
        if tooling and (tooling["engine"], tooling["accelerator"], tooling["environment"]) != ("tensorflow", "cpu", ""):
            continue
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(short_address(holder, name))
            listener.listen(128)
            words = (str(listener.fileno()), json.dumps(tooling), f"{folder}/{name}")
            # What a framework has to say of its import is lost; if it cannot be imported, its jobs start cold.
            template = subprocess.Popen(
                program.python("toolnoise.warm.template", *words),
                stdin=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=os.environ | ONE_THREAD,
                pass_fds=[listener.fileno()],
                start_new_session=True,
            )
        _running.callback(_end_template, template)
    os.environ[VARIABLE] = folder


def stop() -> None:
    """End the templates."""
    _running.close()


def _end_template(template: subprocess.Popen) -> None:
    template.stdin.close()
    try:
        template.wait(SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        # It is stopped.
        template.kill()
        template.wait()


def main() -> None:
    """Fork a child for each job until standard input ends, then remove the socket; in a child, perform the job."""
    listener, tooling, sources = socket.socket(fileno=int(sys.argv[1])), json.loads(sys.argv[2]), _sources()
    while sys.stdin not in select.select([sys.stdin, listener], [], [])[0]:
        connection, _ = listener.accept()
        # A job that has ended meanwhile is no reason to end.
        with connection, contextlib.suppress(OSError, ValueError):
            connection.settimeout(10)
            content, streams, *_ = socket.recv_fds(connection, LONGEST, 3)
            job = json.loads(content)
            if refused := _why_not(job, tooling, sources):
                connection.send(refused.encode())
            elif os.fork() == 0:
                listener.close()
                _perform(job, streams, connection)
            for stream in streams:
                os.close(stream)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
    # After a kill of the workflow, nobody else removes the folder.
    address = Path(sys.argv[3])
    address.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        address.parent.rmdir()


def _sources() -> list[tuple[str, int]]:
    """The files that jobs are made by and the folders of packages, each with the time of its last change."""
    packages = [Path(folder) for folder in sys.path if folder.endswith("-packages")]
    files = [*program.PACKAGE.rglob("*.py"), *map(program.path_of, program.registries()), *packages]
    return [(str(path), path.stat().st_mtime_ns) for path in files]


def _why_not(job: dict[str, Any], tooling: dict[str, Any], sources: list[tuple[str, int]]) -> str:
    """The reason why this job may not be forked from here; without one, all that it needs has been imported."""
    if any(job["environment"].get(name, "1") != "1" for name in ONE_THREAD):
        return "it has several threads"
    if sources != _sources():
        return f"{FAILED}code or packages have changed since the import"
    try:
        os.chdir(job["cwd"])
        refused = _imported_for(job["argv"][1:], tooling)
    except (Exception, SystemExit) as error:
        # The verb itself will say what is wrong with it. Other jobs depend on this process.
        return f"{FAILED}it cannot be prepared ({type(error).__name__})"
    threads = len(list(TASKS.iterdir()))
    return refused or (f"{FAILED}{threads} threads run after the import" if threads > 1 else "")


def _imported_for(words: list[str], tooling: dict[str, Any]) -> str:
    """Import what the job of a command line needs, unless there is a reason why it must be cold; that reason."""
    from toolnoise import cli, engines
    from toolnoise.base.spec import Spec
    from toolnoise.commands import jobs
    from toolnoise.provenance import recorder
    from toolnoise.study import job_code, programs
    from toolnoise.training.network import emulated_noise

    options = cli.parsed(words)
    if options.verb not in job_code.JOBS:
        return "no job"
    parameters = jobs.parameters_of(job_code.function_of(options.verb), vars(options))
    spec = Spec.read(parameters["spec"]) if "spec" in parameters else None
    if spec and spec.hardware.engine == programs.ENGINE:
        return "it runs a program, or reads what one has left"
    if spec and "impl" in spec.variant.varying and not emulated_noise(spec):
        return "noise that is not emulated needs a process of its own"
    recorder.look_up()
    if spec:
        engines.load(tooling["engine"]).import_ahead(tooling, deterministic=True)
    for module in FURTHER.get(options.verb, ()):
        importlib.import_module(module)
    return ""


def _perform(job: dict[str, Any], streams: list[int], connection: socket.socket) -> NoReturn:
    """Make this child the job: whatever a process of its own would have, it has."""
    os.setpgid(0, 0)
    try:
        connection.settimeout(None)
        connection.send(b"started")
    except OSError:
        # Nobody waits for it.
        os._exit(1)
    threading.Thread(target=_end_with, args=[connection], daemon=True).start()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.argv = job["argv"]
    os.environ.clear()
    os.environ.update(job["environment"])
    end(performed(sys.argv[1:]), connection)


def performed(words: list[str]) -> int:
    """The exit code of a command line that is performed in this process."""
    from toolnoise import cli

    try:
        cli.main(words, started="warm")
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    return 0


def end(code: int, connection: socket.socket | None = None) -> NoReturn:
    """End as Python does, but free nothing: that would copy each page which this process shares with its template."""
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    if connection:
        with contextlib.suppress(OSError):
            connection.send(str(code).encode())
    os._exit(code)


def _end_with(connection: socket.socket) -> None:
    """End this child, and what it has started, when nobody waits for it any more."""
    # One that was killed before it read that this child has started leaves a connection that is reset.
    with contextlib.suppress(OSError):
        connection.recv(1)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
