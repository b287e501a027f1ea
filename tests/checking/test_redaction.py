"""Values of variables that a command names reach neither the log of the program nor an error, at no time."""

import base64
import json
import os
import sys
import time
from urllib.parse import quote

import pytest

from toolnoise.base import command_words
from toolnoise.checking import launch, reproducibility
from toolnoise.checking.redaction import Redaction

SECRET = 'tok"en/ä+9x\\'
VALUES = {"env:TOKEN": SECRET}


def logged(tmp_path, values, *parts):
    """What is in a log after these parts were written one after the other."""
    with (tmp_path / "log").open("wb") as log, Redaction(values).into(log.fileno()) as printed:
        for part in parts:
            os.write(printed, part)
            time.sleep(0.002)
    return (tmp_path / "log").read_bytes()


def test_a_value_is_hidden_wherever_the_output_is_split(tmp_path):
    text = f"before {SECRET}{SECRET} after {SECRET[:4]}, the end: {SECRET}".encode()
    wanted = f"before {{env:TOKEN}}{{env:TOKEN}} after {SECRET[:4]}, the end: {{env:TOKEN}}".encode()
    for at in range(len(text) + 1):
        assert logged(tmp_path, VALUES, text[:at], text[at:]) == wanted
    assert logged(tmp_path, VALUES, *(bytes([one]) for one in text)) == wanted


def test_of_values_that_overlap_none_is_left(tmp_path):
    values = {"env:A": "abcdef", "env:B": "abcdefghi", "env:C": "efghij"}
    text = b"abcdef abcdefghi abcdefghij xefghij abcdefg"
    for at in range(len(text)):
        found = logged(tmp_path, values, text[:at], text[at:])
        assert found == b"{env:A} {env:B} {env:B}j x{env:C} {env:A}g"


def test_bytes_of_which_no_value_is_part_are_unchanged(tmp_path):
    content = os.urandom(300_000)
    assert logged(tmp_path, VALUES, content) == content


@pytest.mark.parametrize(
    "spelled",
    [
        json.dumps(SECRET),
        repr(SECRET),
        quote(SECRET),
        quote(SECRET, safe=""),
        base64.b64encode(SECRET.encode()).decode(),
    ],
)
def test_other_spellings_are_hidden(spelled):
    assert "{env:TOKEN}" in Redaction(VALUES).text(f"a {spelled} b")
    assert spelled.strip("\"'") not in Redaction(VALUES).text(f"a {spelled} b")


def test_each_long_line_of_a_key_is_hidden():
    key = "first line of a key\nsecond line of a key\n"
    assert Redaction({"env:KEY": key}).text("> second line of a key <") == "> {env:KEY} <"


def test_the_log_is_written_at_once(tmp_path):
    with (tmp_path / "log").open("wb") as log, Redaction(VALUES).into(log.fileno()) as printed:
        os.write(printed, f"{SECRET}\n".encode())
        deadline = time.monotonic() + 60
        while not (tmp_path / "log").read_bytes():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert (tmp_path / "log").read_bytes() == b"{env:TOKEN}\n"


def test_a_process_that_outlives_the_program_holds_nothing_up(tmp_path):
    code = "import subprocess, sys; subprocess.Popen(['sleep', '60'], start_new_session=True); print(sys.argv[1])"
    launch.run([sys.executable, "-c", code, SECRET], {}, tmp_path / "log", limit=50, hidden=VALUES)
    assert (tmp_path / "log").read_text() == "{env:TOKEN}\n"


def test_a_process_that_prints_for_ever_holds_nothing_up(tmp_path):
    code = "import subprocess, sys; print(sys.argv[1], flush=True); subprocess.Popen(['yes'], start_new_session=True)"
    launch.run([sys.executable, "-c", code, SECRET], {}, tmp_path / "log", limit=50, hidden=VALUES)
    size = (tmp_path / "log").stat().st_size
    time.sleep(0.2)
    # It ends by SIGPIPE: what it prints could not be redacted any more.
    assert (tmp_path / "log").stat().st_size == size
    assert (tmp_path / "log").read_text().startswith("{env:TOKEN}\n")


def test_an_error_shows_the_placeholder(tmp_path, refused):
    def run(*words, limit=60):
        return launch.run(words, {}, tmp_path / "log", limit=limit, hidden=VALUES)

    code = "import sys, time; print(sys.argv[1:], flush=True); time.sleep(float(sys.argv[2])); sys.exit(sys.argv[1])"
    assert "{env:TOKEN}" in refused(run, sys.executable, "-c", code, SECRET, "0")
    late = refused(lambda: run(sys.executable, "-c", code, SECRET, "60", limit=2))
    assert late.startswith(f"{sys.executable}: still runs after 2 s")
    absent = refused(run, f"no/{SECRET}", "x")
    assert absent.startswith("no/{env:TOKEN}: cannot be started")
    for said in (late, absent, (tmp_path / "log").read_text()):
        assert SECRET not in said


def test_a_command_takes_variables_by_name_and_refuses_those_it_cannot_hide(monkeypatch, refused):
    words = command_words.words("train --token {env:TOKEN} --seed {init} '{\"env\": 1}' ${env:OTHER}")
    monkeypatch.delenv("TOKEN", raising=False)
    said = refused(command_words.variables, words, "models.mine.command")
    assert said == "models.mine.command: {env:TOKEN}: the variable TOKEN is not set; such as: export TOKEN=..."
    monkeypatch.setenv("TOKEN", "short")
    said = refused(command_words.variables, words)
    assert "short" not in said.partition("; ")[0]
    assert "has 5 characters; at least 6" in said
    monkeypatch.setenv("TOKEN", "{init} {env:TOKEN}")
    values = command_words.variables(words)
    assert values == {"env:TOKEN": "{init} {env:TOKEN}"}
    # A value is no text with placeholders.
    assert command_words.filled(words, {"init": 7, **values})[2:] == [
        *("{init} {env:TOKEN}", "--seed", "7", '{"env": 1}', "${env:OTHER}")
    ]
    for name in ("env:", "env:1A", "env:A-B", "env:A B"):
        assert f"unknown placeholder {{{name}}}; allowed: " in refused(command_words.words, f"'x {{{name}}}'")


def test_check_takes_variables_and_shows_none(monkeypatch, tmp_path, refused):
    code = "import numpy as np, os, sys; out = os.environ['TOOLNOISE_OUT']; assert len(sys.argv[1]) == 12; "
    code += "[np.save(out + '/' + name + '.npy', np.arange(3)) for name in ('predictions', 'labels')]; print(sys.argv)"
    monkeypatch.delenv("TOKEN", raising=False)
    words = [sys.executable, "-c", code, "{env:TOKEN}"]
    command = reproducibility.command(words, "init", "", None)
    assert "TOKEN is not set" in refused(reproducibility.check, command, tmp_path)
    monkeypatch.setenv("TOKEN", SECRET)
    found = reproducibility.check(command, tmp_path)
    assert found.reproducible
    assert found.words[-1] == "{env:TOKEN}"
    logs = [path.read_text() for path in (tmp_path / "logs").iterdir()]
    assert logs
    assert all("{env:TOKEN}" in log and SECRET[:5] not in log for log in logs)


def test_an_outcome_with_a_value_in_it_is_refused(tmp_path, refused):
    redaction = Redaction(VALUES)
    redaction.require_absent(tmp_path / "history.csv", b"epoch\n1\n")
    said = refused(redaction.require_absent, tmp_path / "history.csv", f"epoch,{SECRET}\n".encode())
    assert "the program wrote the value of {env:TOKEN} into it" in said
    assert SECRET not in said
