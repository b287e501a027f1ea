"""Ports, waiting for daemons, and stopping them."""

import socket
import subprocess
import time
from contextlib import ExitStack

SECONDS_TO_START = 60


def free_ports(count):
    """Ports of this machine that nothing listens on."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def wait_for(ready, folder):
    """Wait until daemons are ready; they write what they print to *.out in the folder."""
    deadline = time.monotonic() + SECONDS_TO_START
    while True:
        try:
            if ready():
                return
        except AssertionError:
            pass  # it does not answer yet
        said = "".join(f"\n{path.name}: {path.read_text()[-2000:]}" for path in folder.glob("*.out"))
        assert time.monotonic() < deadline, f"the daemons did not start{said}"
        time.sleep(0.2)


def wait_while(busy):
    """Wait while jobs end, but not for ever."""
    deadline = time.monotonic() + SECONDS_TO_START
    while busy() and time.monotonic() < deadline:
        time.sleep(0.5)


def stop(daemon):
    """End a daemon."""
    daemon.terminate()
    try:
        daemon.wait(20)
    except subprocess.TimeoutExpired:
        daemon.kill()
        daemon.wait()
