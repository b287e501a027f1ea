"""What a program is given, how it is started and ended, and that secrets reach neither a log nor an error."""

import base64
import json
import os
import signal
import subprocess
import sys
import time
from urllib.parse import quote

import jsonschema
import psutil
import pytest
import yaml

from toolnoise.base import command_words, files, program
from toolnoise.base.noise_sources import ALGORITHMIC
from toolnoise.checking import launch, reproducibility
from toolnoise.checking.launch import Redaction


@pytest.fixture
def job(make_spec):
    return lambda variant, seed: launch.job_of(make_spec(variant, seed), "tiny", "out put", "check")


def test_a_source_that_may_not_vary_has_the_same_seed_in_every_run(job):
    for variant, varying in (("control", ()), ("algo_impl", ALGORITHMIC), ("shuffle", ("shuffle",))):
        one, other = (job(variant, seed)["seeds"] for seed in (1, 2))
        assert {source for source in ALGORITHMIC if one[source] != other[source]} == set(varying)
    # A source has the same seed whatever else varies, so that variants can be compared run by run.
    assert job("shuffle", 2)["seeds"]["shuffle"] == job("algo_impl", 2)["seeds"]["shuffle"]
    assert job("impl", 1)["seeds"] == job("control", 3)["seeds"]
    seeds = [seed for number in range(1, 200) for seed in job("algo_impl", number)["seeds"].values()]
    assert len(set(seeds)) == len(seeds)
    assert 2**31 <= max(seeds) < 2**32
    found = {variant: job(variant, 1)["deterministic"] for variant in ("control", "algo", "impl", "algo_impl")}
    assert found == {"control": True, "algo": True, "impl": False, "algo_impl": False}


def test_a_program_finds_its_job_in_its_environment_as_the_schema_says(job, tmp_path):
    mine = job("algo_impl", 2)
    variables = launch.variables_of(mine, tmp_path / "job.json")
    assert variables["TOOLNOISE_OUT"].endswith("/out put")
    assert variables["TOOLNOISE_JOB"] == str(tmp_path / "job.json")
    assert variables["TOOLNOISE_DETERMINISTIC"] == "0"
    assert int(variables["TOOLNOISE_SEED_AUGMENT"]) == mine["seeds"]["augment"]
    assert len(variables) == 8
    rules = yaml.safe_load((program.ROOT / "workflow/schemas/outcome.schema.yaml").read_text())
    files.write_json(tmp_path / "job.json", mine)
    written = json.loads((tmp_path / "job.json").read_text())
    jsonschema.validate(written, {"$ref": "#/$defs/job", **rules})
    assert (written["model"], written["hardware"], written["seed"]) == ("smallcnn", "cpu", 2)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(written | {"seeds": {"init": 1}}, {"$ref": "#/$defs/job", **rules})


def test_values_stay_within_their_words(job):
    words = command_words.split_command("""train --seed={init} --out "{out}" --json '{"a": 1}' ${HOME} {A}""")
    mine = job("control", 1)
    filled = command_words.fill_placeholders(words, launch.placeholders_of(mine))
    assert filled[1:4] == [f"--seed={mine['seeds']['init']}", "--out", mine["out"]]
    assert filled[4:] == ["--json", '{"a": 1}', "${HOME}", "{A}"]
    assert command_words.placeholders_of(words) == ["init", "out"]


def test_bad_commands_are_refused(refused):
    assert "cannot be split (No closing quotation); a command line with" in refused(
        command_words.split_command, "train 'it"
    )
    said = refused(command_words.split_command, "train {seed}")
    allowed = "{init}, {shuffle}, {augment}, {dropout}, {out}, {checkpoint}, {env:NAME}"
    assert said == f"command: unknown placeholder {{seed}}; allowed: {allowed}"


# Started by a shell, which is there at once.
SLEEPS_WITH_A_CHILD = ["sh", "-c", "sleep 60 & echo $! >pids; sleep 60"]
SLEEPS = ["sh", "-c", "echo $$ >pids; exec sleep 60"]


def has_ended(pid):
    try:
        # A zombie waits for whoever adopted it.
        return psutil.Process(pid).status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return True


@pytest.fixture
def sleeper(tmp_path, until):
    """The number of the process that a program has left in a file, once it is there."""

    def number():
        until(lambda: (tmp_path / "pids").exists() and (tmp_path / "pids").read_text())
        return int((tmp_path / "pids").read_text())

    return number


@pytest.fixture
def start(tmp_path):
    def call(code, *arguments, **options):
        launch.run_command(
            [sys.executable, "-c", code, *arguments], {"MINE": "a b"}, tmp_path / "log", tmp_path, **options
        )
        return (tmp_path / "log").read_text()

    return call


def test_a_program_has_its_variables_its_folder_a_group_and_a_log(start, tmp_path):
    code = "import os, sys; print(os.environ['MINE'], os.getcwd(), os.getpgrp() == os.getpid(), sys.stdin.read())"
    assert start(code) == f"a b {tmp_path} True \n"
    assert start(code) == f"a b {tmp_path} True \n" * 2


def test_a_program_that_fails_or_does_not_start_is_refused_with_its_last_lines(start, tmp_path, refused):
    said = refused(start, "import sys; print('one\\ntwo\\n\\nthree\\nfour'); sys.exit(3)")
    assert said == f"{sys.executable}: ended with exit code 3; its last lines: two | three | four"
    assert "was killed by SIGKILL" in refused(start, "import os; os.kill(os.getpid(), 9)")
    said = refused(launch.run_command, ["no-such-program"], {}, tmp_path / "log")
    assert said.startswith("no-such-program: cannot be started ([Errno 2] No such file or directory")


def test_a_time_limit_ends_the_whole_group(tmp_path, sleeper, until, refused):
    said = refused(lambda: launch.run_command(SLEEPS_WITH_A_CHILD, {}, tmp_path / "log", tmp_path, limit=3))
    assert said == "sh: still runs after 3 s; a higher limit; it printed nothing"
    child = sleeper()
    until(lambda: has_ended(child))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_what_ends_this_process_ends_the_program(number, tmp_path, sleeper, until):
    if number == signal.SIGKILL and sys.platform != "linux":
        pytest.skip("only Linux ends the children of a killed process")
    words = SLEEPS if number == signal.SIGKILL else SLEEPS_WITH_A_CHILD
    # What a shell starts in the background ignores Ctrl-C, and so do these tests, unless it is set anew.
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        f"from toolnoise.checking import launch; launch.run_command({words}, {{}}, 'log')"
    )
    mine = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stderr=subprocess.DEVNULL)
    child = sleeper()
    os.kill(mine.pid, number)
    assert mine.wait(60) == (128 + number if number == signal.SIGTERM else -number)
    until(lambda: has_ended(child))


def test_a_program_that_runs_for_long_shows_signs_of_life_and_its_log_is_cut(start, monkeypatch):
    monkeypatch.setattr(launch, "BEAT", 1)
    beats = []
    start("import time; print('epoch 1', flush=True); time.sleep(2.5)", beat=lambda *beat: beats.append(beat))
    assert [line for _, line in beats] == ["epoch 1"] * len(beats)
    assert len(beats) >= 2
    monkeypatch.setattr(launch, "KEPT", 100)
    monkeypatch.setattr(launch, "MOST", 1000)
    text = start("import sys, time; print('x' * 5000, flush=True); time.sleep(1.5); print('end')")
    assert text.startswith("epoch 1\n" + "x" * 92 + "\n[toolnoise cut 4909 bytes here]\n")
    assert text.endswith("\nend\n")


# Values of variables that a command names

SECRET = 'tok"en/ä+9x\\'
VALUES = {"env:TOKEN": SECRET}


def logged(tmp_path, values, *parts):
    """What is in a log after these parts were written one after the other."""
    with (tmp_path / "log").open("wb") as log, Redaction(values).into(log.fileno()) as printed:
        for part in parts:
            os.write(printed, part)
            time.sleep(0.002)
    return (tmp_path / "log").read_bytes()


def test_a_value_is_hidden_wherever_the_output_is_split_and_nothing_else_is(tmp_path):
    text = f"before {SECRET}{SECRET} after {SECRET[:4]}, the end: {SECRET}".encode()
    wanted = f"before {{env:TOKEN}}{{env:TOKEN}} after {SECRET[:4]}, the end: {{env:TOKEN}}".encode()
    for at in range(len(text) + 1):
        assert logged(tmp_path, VALUES, text[:at], text[at:]) == wanted
    assert logged(tmp_path, VALUES, *(bytes([one]) for one in text)) == wanted
    content = os.urandom(300_000)
    assert logged(tmp_path, VALUES, content) == content


def test_of_values_that_overlap_none_is_left(tmp_path):
    values = {"env:A": "abcdef", "env:B": "abcdefghi", "env:C": "efghij"}
    text = b"abcdef abcdefghi abcdefghij xefghij abcdefg"
    for at in range(len(text)):
        found = logged(tmp_path, values, text[:at], text[at:])
        assert found == b"{env:A} {env:B} {env:B}j x{env:C} {env:A}g"


def test_other_spellings_and_each_long_line_of_a_key_are_hidden():
    spellings = [json.dumps(SECRET), repr(SECRET), quote(SECRET), base64.b64encode(SECRET.encode()).decode()]
    for spelled in spellings:
        assert "{env:TOKEN}" in Redaction(VALUES).text(f"a {spelled} b")
        assert spelled.strip("\"'") not in Redaction(VALUES).text(f"a {spelled} b")
    key = "first line of a key\nsecond line of a key\n"
    assert Redaction({"env:KEY": key}).text("> second line of a key <") == "> {env:KEY} <"


def test_the_log_is_written_at_once(tmp_path, until):
    with (tmp_path / "log").open("wb") as log, Redaction(VALUES).into(log.fileno()) as printed:
        os.write(printed, f"{SECRET}\n".encode())
        until(lambda: (tmp_path / "log").stat().st_size)
        assert (tmp_path / "log").read_bytes() == b"{env:TOKEN}\n"


@pytest.mark.parametrize("left", [["sleep", "60"], ["yes"]])
def test_a_process_that_outlives_the_program_holds_nothing_up(left, start, tmp_path):
    code = "import subprocess, sys; print(sys.argv[1], flush=True); "
    code += f"subprocess.Popen({left}, start_new_session=True)"
    assert start(code, SECRET, limit=50, hidden=VALUES).startswith("{env:TOKEN}\n")
    size = (tmp_path / "log").stat().st_size
    time.sleep(0.2)
    # It ends by SIGPIPE if it prints: that could not be redacted any more.
    assert (tmp_path / "log").stat().st_size == size


def test_an_error_shows_the_placeholder(tmp_path, refused):
    def run(*words, limit=60):
        return launch.run_command(words, {}, tmp_path / "log", limit=limit, hidden=VALUES)

    code = "import sys, time; print(sys.argv[1:], flush=True); time.sleep(float(sys.argv[2])); sys.exit(sys.argv[1])"
    assert "{env:TOKEN}" in refused(run, sys.executable, "-c", code, SECRET, "0")
    late = refused(lambda: run(sys.executable, "-c", code, SECRET, "60", limit=2))
    assert late.startswith(f"{sys.executable}: still runs after 2 s")
    absent = refused(run, f"no/{SECRET}", "x")
    assert absent.startswith("no/{env:TOKEN}: cannot be started")
    for said in (late, absent, (tmp_path / "log").read_text()):
        assert SECRET not in said


def test_a_command_takes_variables_by_name_and_refuses_those_it_cannot_hide(monkeypatch, refused):
    words = command_words.split_command("train --token {env:TOKEN} --seed {init} '{\"env\": 1}' ${env:OTHER}")
    monkeypatch.delenv("TOKEN", raising=False)
    said = refused(command_words.variables_of, words, "models.mine.command")
    assert said == "models.mine.command: {env:TOKEN}: the variable TOKEN is not set; such as: export TOKEN=..."
    monkeypatch.setenv("TOKEN", "short")
    said = refused(command_words.variables_of, words)
    assert "short" not in said.partition("; ")[0]
    assert "has 5 characters; at least 6" in said
    monkeypatch.setenv("TOKEN", "{init} {env:TOKEN}")
    values = command_words.variables_of(words)
    # A value is no text with placeholders.
    assert command_words.fill_placeholders(words, {"init": 7, **values})[2:] == [
        *("{init} {env:TOKEN}", "--seed", "7", '{"env": 1}', "${env:OTHER}")
    ]
    for name in ("env:", "env:1A", "env:A-B"):
        assert f"unknown placeholder {{{name}}}; allowed: " in refused(command_words.split_command, f"'x {{{name}}}'")


def test_check_takes_variables_and_shows_none(monkeypatch, tmp_path, refused):
    code = "import numpy as np, os, sys; out = os.environ['TOOLNOISE_OUT']; assert len(sys.argv[1]) == 12; "
    code += "[np.save(out + '/' + name + '.npy', np.arange(3)) for name in ('predictions', 'labels')]; print(sys.argv)"
    monkeypatch.delenv("TOKEN", raising=False)
    words = [sys.executable, "-c", code, "{env:TOKEN}"]
    command = reproducibility.parse_command(words, "init", "", None)
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
