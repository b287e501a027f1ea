"""The console script `toolnoise`: it gives a job of a workflow to a template, and performs everything else itself.

It imports nothing else of the package until it has to perform the verb itself.
"""

import json
import os
import socket
import sys

# This variable has the folder with the templates' sockets, for the jobs of a workflow; 0 switches warm starts off.
VARIABLE = "TOOLNOISE_WARM"
# The template of jobs that name no tooling.
PLAIN = "none"
# Rules set this to cold for jobs that must not be forked: the first run of each Control cell, and timed starts.
START = "TOOLNOISE_START"
# Precedes the reason why a warm start failed; other reasons for a cold start are by design.
FAILED = "the warm start failed: "
INTERRUPTED = 130  # as in toolnoise.base.errors, which is not imported yet
# Seconds for a template to answer, which may first have to import.
PATIENCE = 120.0
# Bytes of a message. A job with a longer command line, such as that of a cell of a thousand runs, starts cold.
LONGEST = 2**17


def main() -> None:
    """Let a template perform the verb, or perform it here; Ctrl-C ends it without a message at any time."""
    try:
        folder, started = os.environ.get(VARIABLE, "0"), "cold"
        if folder != "0" and os.environ.get(START) == "cold":
            started = "cold: its rule asks for it"
        elif folder != "0":
            given = sys.argv[sys.argv.index("--tooling") + 1] if "--tooling" in sys.argv[:-1] else ""
            # The text of a tooling begins with its name.
            tooling = given.partition(" ")[0].removeprefix("name=") or PLAIN
            started = f"cold: {_why_not_warm(folder, tooling)}"
        from toolnoise import cli

        cli.main(started=started)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def short_address(folder: int, name: str) -> str:
    """The address of a socket in an open folder: the folder's own path may exceed the limit of 107 bytes."""
    return f"/proc/self/fd/{folder}/{name}"


def _why_not_warm(folder: str, tooling: str) -> str:
    """Let a template perform this job, and exit with its exit code; or return the reason why no template did."""
    job = json.dumps({"argv": sys.argv, "cwd": os.getcwd(), "environment": dict(os.environ)}).encode()  # noqa: PTH109
    if not os.path.exists(f"{folder}/{tooling}") or len(job) > LONGEST:  # noqa: PTH110 (pathlib takes as long to import as all else)
        return "its tooling has no template, or its command line is too long"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.settimeout(PATIENCE)
        try:
            holder = os.open(folder, os.O_RDONLY)
            connection.connect(short_address(holder, tooling))
            os.close(holder)
            socket.send_fds(connection, [job], (0, 1, 2))
            answer = connection.recv(LONGEST).decode() or f"{FAILED}the template has ended"
        except OSError as error:
            answer = f"{FAILED}no template answers ({type(error).__name__})"
        if answer != "started":
            return answer
        # The child ends if this process does. It sends its exit code; a killed child sends nothing.
        connection.settimeout(None)
        code = connection.recv(LONGEST).decode()
        sys.exit(int(code) if code else "toolnoise: the process of this job was killed")
