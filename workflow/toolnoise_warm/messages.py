"""Messages between a job and its servers: one line of JSON each, and with it the job's standard streams."""

import json
import socket
from collections.abc import Sequence
from typing import Any

Message = dict[str, Any]
STREAMS = (0, 1, 2)


def connected(address: str, patience: float) -> socket.socket:
    """A connection to a server; what takes longer than `patience` in seconds ends in a TimeoutError."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(patience)
    try:
        connection.connect(address)
    except OSError:
        connection.close()
        raise
    return connection


def listening(address: str) -> socket.socket:
    """A server's socket, which only this user can reach if its folder is private."""
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(address)
        listener.listen(128)
    except OSError:
        listener.close()
        raise
    return listener


def send(connection: socket.socket, message: Message, streams: Sequence[int] = ()) -> None:
    """Send a message, and with it open files."""
    line = json.dumps(message).encode() + b"\n"
    rest = line[socket.send_fds(connection, [line], streams) :] if streams else line
    # Even nothing cannot be sent to a server that has answered and hung up.
    if rest:
        connection.sendall(rest)


def receive(connection: socket.socket) -> tuple[Message | None, list[int]]:
    """The next message with its open files; no message if the other side has ended."""
    line, streams = b"", []
    while not line.endswith(b"\n"):
        # Not beyond its line: after a short job, how it has started and how it has ended may both be there.
        ahead = connection.recv(2**16, socket.MSG_PEEK)
        part, more, *_ = socket.recv_fds(connection, ahead.find(b"\n") + 1 or len(ahead) or 1, len(STREAMS))
        streams += more
        if not part:
            return None, streams
        line += part
    return json.loads(line), streams
