"""The console script `toolnoise`: a job of a workflow is given to a warm server; all else is performed here.

Light: until it is known that the verb is performed here, nothing of the package is imported.
"""

import os
import signal
import sys
from types import FrameType

from toolnoise.warm import VARIABLE

# What a terminal or Snakemake may send to a job. SIGTSTP cannot be given on: a child has no terminal to come back from.
FORWARDED = {
    signal.SIGHUP: signal.SIGHUP,
    signal.SIGINT: signal.SIGINT,
    signal.SIGTERM: signal.SIGTERM,
    signal.SIGTSTP: signal.SIGSTOP,
    signal.SIGCONT: signal.SIGCONT,
}


def main() -> None:
    """Have the verb performed by a warm server, or perform it."""
    address, started = os.environ.get(VARIABLE, ""), "cold"
    if os.path.isabs(address):  # noqa: PTH117 (pathlib takes as long to import as the rest)
        started = f"cold: {_why_not(address)}"
    from toolnoise import cli

    cli.main(started=started)


def _why_not(dispatcher: str) -> str:
    """The reason why no server performs the job. If one does, this process ends as the job ends."""
    from toolnoise.warm import messages

    mask = os.umask(0)
    os.umask(mask)
    job = {
        "argv": sys.argv,
        "cwd": os.getcwd(),  # noqa: PTH109
        "environment": dict(os.environ),
        "python": sys.executable,
        "umask": mask,
    }
    try:
        with messages.connected(dispatcher) as connection:
            messages.send(connection, job)
            answer, _ = messages.receive(connection)
        if not answer or "refused" in answer:
            return answer["refused"] if answer else "the dispatcher has ended"
        connection = messages.connected(answer["server"])
        messages.send(connection, job, messages.STREAMS)
        answer, _ = messages.receive(connection)
    except (OSError, ValueError) as error:
        return f"no warm server answers ({type(error).__name__})"
    if not answer or "refused" in answer:
        return answer["refused"] if answer else "the warm server has ended"

    def forward(number: int, _frame: FrameType | None) -> None:
        connection.sendall(bytes([FORWARDED[signal.Signals(number)]]))
        if number == signal.SIGTSTP:
            os.kill(os.getpid(), signal.SIGSTOP)

    for number in FORWARDED:
        signal.signal(number, forward)
    try:
        ended, _ = messages.receive(connection)
    except OSError:
        ended = None
    if ended is None:
        sys.exit("toolnoise: the warm server has ended, and with it this job")
    _end(ended["status"])
    raise AssertionError("unreachable")


def _end(status: int) -> None:
    """End as a process with this wait status ended."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number in FORWARDED:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    sys.exit(os.waitstatus_to_exitcode(status))
