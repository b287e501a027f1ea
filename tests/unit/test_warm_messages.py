"""Messages between a job and its servers."""

import os
import socket

from toolnoise_warm import messages


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
