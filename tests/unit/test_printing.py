"""What is printed on a terminal or a full disk, and what a log says of a failure."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from toolnoise import cli
from toolnoise.base import log
from toolnoise.base.printing import aligned, plainly, size, span


def test_columns_stand_below_their_headings():
    assert aligned([("name", "n"), ("a", "100"), ("long name", "1")]) == [
        "name       n",
        "---------  ---",
        "a          100",
        "long name  1",
    ]


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0.2, "1 s"), (89, "89 s"), (90, "2 min"), (5399, "90 min"), (5400, "1.5 h"), (360000, "100.0 h")],
)
def test_a_span_is_told_in_a_person_s_unit(seconds, told):
    assert span(seconds) == told


@pytest.mark.parametrize(
    ("count", "told"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (15_722 * 4, "62.9 kB"), (2.5e9, "2.5 GB"), (3.1e12, "3.1 TB")],
)
def test_a_size_is_told_in_a_person_s_unit(count, told):
    assert size(count) == told


def test_nothing_that_a_terminal_obeys_is_printed(capsys):
    with plainly():
        print("\x1b[2Jred\a\r\u202e\udc80\tnext", file=sys.stdout)
        print("\x9b1m café", file=sys.stderr)
    assert capsys.readouterr() == ("\\x1b[2Jred\\x07\\r\\u202e\\udc80\tnext\n", "\\x9b1m café\n")


@pytest.mark.parametrize(
    "words", [["sign", "\x1b[2J", "--key", "k"], ["crate", "\x1b[2J", "--out", "o"], ["diff", "\x1b[2J", "b"]]
)
def test_a_verb_prints_plainly_what_it_was_given(words, capsys):
    with pytest.raises(SystemExit):
        cli.main(words)
    said = "".join(capsys.readouterr())
    assert r"\x1b[2J" in said
    assert "\x1b" not in said


# What a log says of a failure, and that a log on a full disk ends no job


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
