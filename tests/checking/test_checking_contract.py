"""What an existing training program is given, how it is started and ended, and how `init` makes a study of it."""

import json
import os
import signal
import subprocess
import sys

import jsonschema
import psutil
import pytest
import yaml

from toolnoise.base import command_words, files, program
from toolnoise.base.noise_sources import ALGORITHMIC
from toolnoise.checking import contract, launch


@pytest.fixture
def job(make_spec):
    return lambda variant, seed: contract.job(make_spec(variant, seed), "tiny", "out put", "check")


def test_a_source_that_may_not_vary_has_the_same_seed_in_every_run(job):
    for variant, varying in (("control", ()), ("algo_impl", ALGORITHMIC), ("shuffle", ("shuffle",))):
        one, other = (job(variant, seed)["seeds"] for seed in (1, 2))
        assert {source for source in ALGORITHMIC if one[source] != other[source]} == set(varying)
    # A source has the same seed whatever else varies, so that variants can be compared run by run.
    assert job("shuffle", 2)["seeds"]["shuffle"] == job("algo_impl", 2)["seeds"]["shuffle"]
    assert job("impl", 1)["seeds"] == job("control", 3)["seeds"]


def test_seeds_are_of_32_bits_and_differ(job):
    seeds = [seed for number in range(1, 200) for seed in job("algo_impl", number)["seeds"].values()]
    assert len(set(seeds)) == len(seeds)
    assert max(seeds) < 2**32
    assert max(seeds) >= 2**31


def test_only_where_impl_may_vary_is_nothing_deterministic(job):
    found = {variant: job(variant, 1)["deterministic"] for variant in ("control", "algo", "impl", "algo_impl")}
    assert found == {"control": True, "algo": True, "impl": False, "algo_impl": False}


def test_a_program_finds_its_job_in_its_environment(job, tmp_path):
    mine = job("algo_impl", 2)
    variables = contract.variables(mine, tmp_path / "job.json")
    assert variables["TOOLNOISE_OUT"].endswith("/out put")
    assert variables["TOOLNOISE_JOB"] == str(tmp_path / "job.json")
    assert variables["TOOLNOISE_DETERMINISTIC"] == "0"
    assert int(variables["TOOLNOISE_SEED_AUGMENT"]) == mine["seeds"]["augment"]
    assert len(variables) == 8


def test_the_job_is_as_its_schema_says(job, tmp_path):
    rules = yaml.safe_load((program.ROOT / "workflow/schemas/outcome.schema.yaml").read_text())
    for variant in ("control", "algo_impl"):
        files.write_json(tmp_path / "job.json", job(variant, 3))
        written = json.loads((tmp_path / "job.json").read_text())
        jsonschema.validate(written, {"$ref": "#/$defs/job", **rules})
        assert (written["model"], written["hardware"], written["seed"]) == ("smallcnn", "cpu", 3)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(written | {"seeds": {"init": 1}}, {"$ref": "#/$defs/job", **rules})


def test_values_stay_within_their_words(job):
    words = command_words.words("""train --seed={init} --out "{out}" --json '{"a": 1}' ${HOME} {A}""")
    mine = job("control", 1)
    filled = command_words.filled(words, contract.values(mine))
    assert filled[1:4] == [f"--seed={mine['seeds']['init']}", "--out", mine["out"]]
    assert filled[4:] == ["--json", '{"a": 1}', "${HOME}", "{A}"]
    assert command_words.placeholders(words) == ["init", "out"]
    said = subprocess.run([sys.executable, "-c", "import sys; print(sys.argv[1])", filled[3]], stdout=-1, text=True)
    assert said.stdout == f"{mine['out']}\n"


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("", "command: no program; such as: python train.py --seed {init}"),
        ("train 'it", "command: train 'it: cannot be split (No closing quotation); a command line with closed quotes"),
        (
            "train {seed}",
            "command: unknown placeholder {seed}; "
            "allowed: {init}, {shuffle}, {augment}, {dropout}, {out}, {checkpoint}, {env:NAME}",
        ),
    ],
)
def test_bad_commands_are_refused(command, line, refused):
    assert refused(command_words.words, command) == line


SLEEPS_WITH_A_CHILD = """
import subprocess, sys, pathlib, time
child = subprocess.Popen(["sleep", "60"])
pathlib.Path("pids").write_text(f"{child.pid}")
time.sleep(60)
"""


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
    def call(code, **options):
        launch.run([sys.executable, "-c", code], {"MINE": "a b"}, tmp_path / "log", tmp_path, **options)
        return (tmp_path / "log").read_text()

    return call


def test_a_program_has_its_variables_its_folder_a_group_and_a_log(start, tmp_path):
    code = "import os, sys; print(os.environ['MINE'], os.getcwd(), os.getpgrp() == os.getpid(), sys.stdin.read())"
    assert start(code) == f"a b {tmp_path} True \n"
    assert start(code) == f"a b {tmp_path} True \n" * 2


def test_an_exit_code_is_reported_with_the_last_lines(start, refused):
    said = refused(start, "import sys; print('one\\ntwo\\n\\nthree\\nfour'); sys.exit(3)")
    assert said == f"{sys.executable}: ended with exit code 3; its last lines: two | three | four"
    assert "was killed by SIGKILL" in refused(start, "import os; os.kill(os.getpid(), 9)")


def test_a_program_that_cannot_be_started_is_refused(tmp_path, refused):
    said = refused(launch.run, ["no-such-program"], {}, tmp_path / "log")
    assert said.startswith("no-such-program: cannot be started ([Errno 2] No such file or directory")


def test_a_time_limit_ends_the_whole_group(start, sleeper, until, refused):
    said = refused(lambda: start(SLEEPS_WITH_A_CHILD, limit=3))
    assert said == f"{sys.executable}: still runs after 3 s; a higher limit; it printed nothing"
    child = sleeper()
    until(lambda: has_ended(child))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_ends_this_process_ends_the_group(number, tmp_path, sleeper, until):
    # What a shell starts in the background ignores Ctrl-C, and so do these tests, unless it is set anew.
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        f"from toolnoise.checking import launch; launch.run({[sys.executable, '-c', SLEEPS_WITH_A_CHILD]}, {{}}, 'log')"
    )
    mine = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stderr=subprocess.DEVNULL)
    child = sleeper()
    os.kill(mine.pid, number)
    assert mine.wait(60) == (-number if number == signal.SIGINT else 128 + number)
    until(lambda: has_ended(child))


def test_a_program_that_runs_for_long_shows_signs_of_life(start, monkeypatch):
    monkeypatch.setattr(launch, "BEAT", 1)
    beats = []
    start("import time; print('epoch 1', flush=True); time.sleep(2.5)", beat=lambda *beat: beats.append(beat))
    assert [line for _, line in beats] == ["epoch 1"] * len(beats)
    assert len(beats) >= 2


def test_a_log_that_grows_too_long_is_cut_and_says_so(start, monkeypatch):
    monkeypatch.setattr(launch, "KEPT", 100)
    monkeypatch.setattr(launch, "MOST", 1000)
    code = "import sys, time; print('x' * 5000, flush=True); time.sleep(1.5); print('end')"
    text = start(code)
    assert text.startswith("x" * 100 + "\n[toolnoise cut 4901 bytes here]\n")
    assert text.endswith("\nend\n")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends the children of a killed process")
def test_a_program_does_not_outlive_a_process_that_is_killed(tmp_path, sleeper, until):
    sleeps = "import os, pathlib, time; pathlib.Path('pids').write_text(str(os.getpid())); time.sleep(60)"
    code = f"from toolnoise.checking import launch; launch.run({[sys.executable, '-c', sleeps]}, {{}}, 'log')"
    mine = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path)
    child = sleeper()
    mine.kill()
    assert mine.wait() == -signal.SIGKILL
    until(lambda: has_ended(child))
    assert has_ended(child)
