"""The console script `toolnoise`: a job of a workflow is given to a warm server; all else is performed here.

Light: until it is known that the verb is performed here, nothing of the package is imported.
"""

import contextlib
import os
import select
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

from toolnoise_warm import FAILED, VARIABLE

if TYPE_CHECKING:
    from socket import socket
    from types import FrameType

# As in toolnoise.base.errors, which is not imported yet.
INTERRUPTED = 130
# What a terminal or Snakemake may send to a job. SIGTSTP cannot be given on: a child has no terminal to come back from.
FORWARDED = {
    signal.SIGHUP: signal.SIGHUP,
    signal.SIGINT: signal.SIGINT,
    signal.SIGTERM: signal.SIGTERM,
    signal.SIGTSTP: signal.SIGSTOP,
    signal.SIGCONT: signal.SIGCONT,
}
# Seconds for a dispatcher or a server to answer: an import takes some of them. After Ctrl-C, nobody waits that long.
PATIENCE, PATIENCE_AT_END = 120.0, 5.0
SILENT = f"the warm server has not answered for {PATIENCE:.0f} s"


def main() -> None:
    """Have the verb performed by a warm server, or perform it; Ctrl-C ends it without a word, whenever it comes."""
    try:
        _main()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _main() -> None:
    address, started = os.environ.get(VARIABLE, ""), "cold"
    if os.path.isabs(address):  # noqa: PTH117 (pathlib takes as long to import as all else here)
        started = f"cold: {_warm(address)}"
        if started.endswith(SILENT):
            print(f"toolnoise: {SILENT}; this job starts cold", file=sys.stderr, flush=True)
    from toolnoise import cli

    cli.main(started=started)


def _warm(dispatcher: str) -> str:
    """Have a server perform the job, and end as it ends; or else return the reason why none has performed it."""
    from toolnoise_warm import messages

    mask = os.umask(0)
    os.umask(mask)
    job = {
        "argv": sys.argv,
        "cwd": os.getcwd(),  # noqa: PTH109
        "environment": dict(os.environ),
        # A folder may have several names for one Python, and several Pythons.
        "python": [sys.prefix, sys.version],
        "executable": sys.executable,
        "umask": mask,
    }
    address = dispatcher
    try:
        with messages.connected(address, PATIENCE) as connection:
            messages.send(connection, job)
            answer, _ = messages.receive(connection)
        if answer and "server" in answer:
            address = answer["server"]
            with messages.connected(address, PATIENCE) as connection:
                # A server that is stopped must not hold the streams: whoever reads them would wait for their end.
                if messages.receive(connection)[0]:
                    messages.send(connection, job, messages.STREAMS)
                answer, _ = messages.receive(connection)
                if answer and "started" in answer:
                    _follow(connection, answer["started"])
    except TimeoutError:
        # It is stopped, or has too much to do: the next jobs need not wait for it.
        with contextlib.suppress(OSError):
            os.unlink(address)  # noqa: PTH108
        return FAILED + SILENT
    except (OSError, ValueError) as error:
        return f"{FAILED}no warm server answers ({type(error).__name__})"
    return answer["refused"] if answer else f"{FAILED}the warm server has ended"


def _follow(server: "socket", child: int) -> None:
    """Give the child what signals come, and end as it ends; a TimeoutError if its server does not say how."""
    from toolnoise_warm import messages

    before, ending = {number: signal.getsignal(number) for number in FORWARDED}, []

    def forward(number: int, _frame: "FrameType | None") -> None:
        if number not in (signal.SIGTSTP, signal.SIGCONT):
            ending.append(number)
        # Not by way of the server, which may be stopped.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, FORWARDED[signal.Signals(number)])
        if number == signal.SIGTSTP:
            os.kill(os.getpid(), signal.SIGSTOP)

    for number, handler in before.items():
        # A job of `nohup snakemake` ignores what its shell ignores; so does the child.
        if handler != signal.SIG_IGN:
            signal.signal(number, forward)
    with contextlib.suppress(ProcessLookupError):
        process = os.pidfd_open(child)
        select.select([server, process], [], [])
        os.close(process)
    try:
        if ending:
            server.settimeout(PATIENCE_AT_END)
        ended, _ = messages.receive(server)
    except TimeoutError:
        if ending:
            _end(ending[0])
        for number, handler in before.items():
            signal.signal(number, handler)
        raise
    except OSError:
        ended = None
    if not ended:
        sys.exit("toolnoise: the warm server has ended, and this job with it")
    _end(ended["status"])


def _end(status: int) -> NoReturn:
    """End as a process with this wait status ended."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        if -code in FORWARDED:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)
