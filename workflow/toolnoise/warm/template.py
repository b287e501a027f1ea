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
# NumPy's libraries must start no threads in a template: a forked child would not have these threads.
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "GOTO", "BLIS")}
# Modules that jobs of a verb import only when they run; the template imports them once for all.
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
    """Start a template for jobs without a tooling and for each tooling that can have one, unless warm starts are off.

    Templates end when this process ends, however that happens: each reads from a pipe that only this process holds.
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
            # A framework's messages during import are discarded; if the import fails, its jobs start cold.
            template = subprocess.Popen(
                program.python_command("toolnoise.warm.template", *words),
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
        # The template is stopped, as by SIGSTOP.
        template.kill()
        template.wait()


def main() -> None:
    """Fork a child for each job until standard input ends, then remove the socket; in a child, perform the job."""
    listener, tooling, sources = socket.socket(fileno=int(sys.argv[1])), json.loads(sys.argv[2]), _sources()
    while sys.stdin not in select.select([sys.stdin, listener], [], [])[0]:
        connection, _ = listener.accept()
        # A job that has ended meanwhile must not end the template.
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
    # After a kill of the workflow, no other process removes the folder.
    address = Path(sys.argv[3])
    address.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        address.parent.rmdir()


def _sources() -> list[tuple[str, int]]:
    """The source files behind jobs and the folders of packages, each with the time of its last change."""
    packages = [Path(folder) for folder in sys.path if folder.endswith("-packages")]
    files = [*program.PACKAGE.rglob("*.py"), *map(program.path_of, program.names_of_registries()), *packages]
    return [(str(path), path.stat().st_mtime_ns) for path in files]


def _why_not(job: dict[str, Any], tooling: dict[str, Any], sources: list[tuple[str, int]]) -> str:
    """The reason why this job may not be forked from here; if empty, everything that it needs is imported."""
    if any(job["environment"].get(name, "1") != "1" for name in ONE_THREAD):
        return "it has several threads"
    if sources != _sources():
        return f"{FAILED}code or packages have changed since the import"
    try:
        os.chdir(job["cwd"])
        refused = _imported_for(job["argv"][1:], tooling)
    except (Exception, SystemExit) as error:
        # The verb itself will report the error. Other jobs depend on this process.
        return f"{FAILED}it cannot be prepared ({type(error).__name__})"
    threads = len(list(TASKS.iterdir()))
    return refused or (f"{FAILED}{threads} threads run after the import" if threads > 1 else "")


def _imported_for(words: list[str], tooling: dict[str, Any]) -> str:
    """Import everything that the job of a command line needs, or return the reason why it must start cold."""
    from toolnoise import cli, engines
    from toolnoise.base.spec import Spec
    from toolnoise.commands import jobs
    from toolnoise.provenance import recorder
    from toolnoise.study import job_code, programs
    from toolnoise.training.network import emulated_noise

    options = cli.parse_options(words)
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
    """Make this child the job's process, with the job's own group, streams, arguments and environment."""
    os.setpgid(0, 0)
    try:
        connection.settimeout(None)
        connection.send(b"started")
    except OSError:
        # The client is gone.
        os._exit(1)
    threading.Thread(target=_end_with, args=[connection], daemon=True).start()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.argv = job["argv"]
    os.environ.clear()
    os.environ.update(job["environment"])
    end_process(perform_command_line(sys.argv[1:]), connection)


def perform_command_line(words: list[str]) -> int:
    """Perform a command line in this process; return its exit code."""
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


def end_process(code: int, connection: socket.socket | None = None) -> NoReturn:
    """End as Python does, but free no memory: this would copy each page that the process shares with its template."""
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    if connection:
        with contextlib.suppress(OSError):
            connection.send(str(code).encode())
    os._exit(code)


def _end_with(connection: socket.socket) -> None:
    """End this child and all processes that it has started when the client ends."""
    # A client that is killed before it reads that this child has started leaves a connection that is reset.
    with contextlib.suppress(OSError):
        connection.recv(1)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
