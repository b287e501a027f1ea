"""The console script `toolnoise`: a job of a workflow is given to a warm server; all else is performed here.

Light: until it is known that the verb is performed here, nothing of the package is imported.
"""

import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

from toolnoise.warm import VARIABLE

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


def main() -> None:
    """Have the verb performed by a warm server, or perform it; Ctrl-C ends it without a word, whenever it comes."""
    try:
        _main()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _main() -> None:
    address, started = os.environ.get(VARIABLE, ""), "cold"
    if os.path.isabs(address):  # noqa: PTH117 (pathlib takes as long to import as all else here)
        server, why_not = _server(address)
        if server:
            _follow(server)
        started = f"cold: {why_not}"
    from toolnoise import cli

    cli.main(started=started)


def _server(dispatcher: str) -> tuple["socket | None", str]:
    """The connection to the server that has started the job, or the reason why none has."""
    from toolnoise.warm import messages

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
    try:
        with messages.connected(dispatcher) as connection:
            messages.send(connection, job)
            answer, _ = messages.receive(connection)
        if answer and "server" in answer:
            connection = messages.connected(answer["server"])
            messages.send(connection, job, messages.STREAMS)
            answer, _ = messages.receive(connection)
    except (OSError, ValueError) as error:
        return None, f"no warm server answers ({type(error).__name__})"
    if answer and "started" in answer:
        return connection, ""
    return None, answer["refused"] if answer else "the warm server has ended"


def _follow(server: "socket") -> NoReturn:
    """Send the job on what signals come, and end as it ends."""
    from toolnoise.warm import messages

    def forward(number: int, _frame: "FrameType | None") -> None:
        server.sendall(bytes([FORWARDED[signal.Signals(number)]]))
        if number == signal.SIGTSTP:
            os.kill(os.getpid(), signal.SIGSTOP)

    for number in FORWARDED:
        # A job of `nohup snakemake` ignores what its shell ignores; so does the child.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, forward)
    try:
        ended, _ = messages.receive(server)
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
