"""Messages between a job and its servers, and what a process looks up before it forks."""

import os
import socket
import subprocess
import sys

from toolnoise_warm import messages

# Messages between a job and its servers


def test_an_answer_is_read_from_a_server_that_hung_up_as_soon_as_it_had_answered(monkeypatch):
    job, server = socket.socketpair()
    send_fds = socket.send_fds

    def answered_meanwhile(*message):
        sent = send_fds(*message)
        _, streams = messages.receive(server)
        for stream in streams:
            os.close(stream)
        messages.send(server, {"refused": "for a reason"})
        server.close()
        return sent

    monkeypatch.setattr(socket, "send_fds", answered_meanwhile)
    with job:
        messages.send(job, {"argv": ["toolnoise", "count"]}, messages.STREAMS)
        assert messages.receive(job)[0] == {"refused": "for a reason"}


# What a process looks up before it forks, its children need not look up again


# In a process of its own: this one has read sources and versions for other tests.
SCRIPT = """
import importlib.metadata
from pathlib import Path

from toolnoise.base import code_digest
from toolnoise.record import recorder

recorder.look_up()
importlib.metadata.version = Path.read_bytes = None
assert recorder.programs()["toolnoise"]
assert recorder.machine()["versions"]["numpy"]
assert len(code_digest.sources("toolnoise.training.loop", "toolnoise.engines.tensorflow")) > 20
"""


def test_after_looking_up_no_source_is_read_and_no_version_asked_for():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
