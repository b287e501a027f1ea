"""What a log says of a failure, and that a log on a full disk ends no job."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from toolnoise.base import log


@pytest.mark.parametrize(
    "line",
    ["toolnoise: x: refused", "ValueError: wrong", "numpy.linalg.LinAlgError: singular", "ModuleNotFoundError: torch"],
)
def test_the_last_line_is_the_reason_if_it_says_one(line):
    assert log.reason(f"epoch 1 of 2\n{line}\n\n") == line


def test_a_greeting_is_no_reason():
    told = log.reason("I0000 oneDNN custom operations are on. You may see different results\n")
    assert told.startswith("it ended without a message")
    assert told.endswith("; its log ends with: I0000 oneDNN custom operations are on. You may see different results")
    assert log.reason("Traceback (most recent call last):\n  ...\nValueError: two\nlines") == "lines"
    assert log.reason(" \n").startswith("its log is empty")


def test_a_pipe_in_the_place_of_a_log_is_refused_at_once(tmp_path, refused):
    os.mkfifo(tmp_path / "log")
    assert refused(log.tail, tmp_path / "log") == f"{tmp_path}/log: a pipe or a device; expected a file"
    (tmp_path / "large").write_text("x" * 10**6 + "end")
    assert len(log.tail(tmp_path / "large")) < 10**4
    assert log.tail(tmp_path / "large").endswith("end")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_job_goes_on_if_its_log_cannot_be_written(tmp_path):
    program = (
        "import sys; from pathlib import Path; from toolnoise.base import log; log.may_be_lost()\n"
        "print('x' * 10**6, flush=True); print('y', file=sys.stderr, flush=True); Path(sys.argv[1]).touch()"
    )
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-c", program, tmp_path / "made"], stdout=full, stderr=full)
    assert done.returncode == 0
    assert (tmp_path / "made").exists()
