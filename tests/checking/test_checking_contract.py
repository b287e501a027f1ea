"""What an existing training program is given, how it is started and ended, and how `init` makes a study of it."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import numpy as np
import psutil
import pytest
import yaml

from toolnoise.base import command_words, files, program
from toolnoise.base.noise_sources import ALGORITHMIC
from toolnoise.base.program import ROOT
from toolnoise.checking import contract, launch
from toolnoise.programs import first_study, run_program
from toolnoise.study import config, grid
from toolnoise.study.builders import require_builders


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
        ("", "command: no program; such as: python train.py --seed {init} --out {out}"),
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


def test_an_interpreter_that_is_killed_while_it_lists_its_packages_has_no_empty_list(tmp_path, monkeypatch, refused):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nkill -INT $$\n")
    python.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    said = refused(run_program._packages, {"name": "mine"}, "python")
    signal.signal(signal.SIGINT, before)
    assert said.startswith(f"{python}: was killed by SIGINT while it listed its packages")
    python.write_text("#!/bin/sh\nexit 1\n")
    assert run_program._packages({"name": "mine"}, "python") == ("", [])


# `toolnoise init`: a study of an existing program


SEEDED = """
import argparse
parser = argparse.ArgumentParser()
for name in ("--seed", "--data_seed", "--output-dir"):
    parser.add_argument(name)
parser.add_argument("--deterministic", action="store_true")
"""
BUILDER = "import keras\ndef build(input_shape, classes, width=8):\n    return keras.Sequential([])\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder whose name a study may have."""
    (tmp_path / "my study").mkdir()
    monkeypatch.chdir(tmp_path / "my study")
    return tmp_path / "my study"


def written(kind=None):
    """What was said, and the study that was written."""
    said = first_study.write(kind)
    return SimpleNamespace(said=said, study=config.read_yaml("study.yaml"))


@pytest.mark.parametrize("name", ["010", "yes", "2024", "1e3", "1_0"])
def test_a_folder_whose_name_yaml_would_change_has_it_in_quotes(name, folder, monkeypatch):
    (folder / name).mkdir()
    monkeypatch.chdir(folder / name)
    for module in ("no.py", "on.py"):
        (folder / name / module).write_text(BUILDER)
    found = written().study
    assert (found["study"], list(found["models"])) == (name, ["no", "on"])


def test_a_program_is_found_with_its_options(folder):
    (folder / "fit.py").write_text(SEEDED)
    (folder / "evaluate.py").write_text("print('no seed')\n")
    found = written()
    assert "Found fit.py." in found.said
    assert found.study["study"] == "my-study"
    assert found.study["models"]["mine"] == {
        "command": "python fit.py --seed {init} --data_seed {shuffle} --output-dir {out}",
        "sources": ["init", "shuffle"],
        "deterministic": "--deterministic",
    }
    assert [cell.variant for cell in grid.load("study.yaml").cells] == ["control", "impl", "algo", "algo_impl"]


@pytest.mark.parametrize(
    ("name", "sources"),
    [
        ("torch", ["init", "shuffle", "augment", "dropout"]),
        ("lightning", ["init", "shuffle", "dropout"]),
        ("transformers", ["init", "shuffle", "dropout"]),
    ],
)
def test_the_sources_of_programs_with_toolnoises_helpers_are_found(folder, name, sources):
    shutil.copyfile(ROOT / f"examples/{name}_digits.py", folder / "train.py")
    model = written().study["models"]["mine"]
    assert model == {"command": "python train.py", "sources": sources}


def test_of_several_programs_one_that_trains_is_taken_and_the_others_are_named(folder):
    for name in ("finetune.py", "train_all.py"):
        (folder / name).write_text("import os\nos.environ['TOOLNOISE_SEED_INIT']\n")
    found = written()
    assert found.study["models"]["mine"]["command"] == "python train_all.py"
    assert "finetune.py may be meant instead" in found.said


def test_without_a_program_an_example_is_written_and_said_to_be_one(folder):
    (folder / "broken.py").write_text("def (:\n")
    found = written("command")
    assert "this is an example" in found.said
    assert "{init}" in found.study["models"]["mine"]["command"]


def test_a_builder_is_found_without_importing_it_and_its_study_can_be_planned(folder):
    (folder / "nets.py").write_text(f"{BUILDER}raise SystemExit('nothing is imported')\n")
    found = written()
    assert "Found nets:build." in found.said
    study = grid.load("study.yaml")
    require_builders(study.config["models"], "study.yaml")
    assert study.datasets == ("digits",)
    assert [cell.variant for cell in study.cells] == ["control", "impl", "algo", "algo_impl"]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from tensorflow import keras\ndef one(a, b):\n    net = keras.Model(a, b)\n    return net\n", True),
        ("from keras import Model\ndef one(a, b, *, depth=2):\n    return Model(a, b)\n", True),
        ("import keras\ndef one(a, b, depth):\n    return keras.Model(a, b)\n", False),
        ("import keras\ndef one(a, b, *, depth):\n    return keras.Model(a, b)\n", False),
        ("import keras\ndef one(a):\n    return keras.Model(a)\n", False),
        ("import keras\ndef one(a, b):\n    return 1\n", False),
        ("import torch\ndef one(a, b):\n    return Model(a, b)\n", False),
    ],
)
def test_a_builder_takes_a_shape_and_classes_and_returns_a_keras_model(folder, source, found):
    (folder / "nets.py").write_text(source)
    assert ("Found nets:one" in written("builder").said) == found


def test_several_builders_are_several_models(folder):
    (folder / "nets.py").write_text(BUILDER + BUILDER.replace("build", "wide"))
    assert list(written().study["models"]) == ["nets", "nets-wide"]
    assert {cell.model for cell in grid.load("study.yaml").cells} == {"nets", "nets-wide"}


def test_data_of_the_folder_are_found(folder):
    (folder / "nets.py").write_text(BUILDER)
    np.savez(folder / "a.npz", weights=np.zeros(3))
    (folder / "b.npz").write_text("no archive")
    np.savez(folder / "c.npz", **{f"{part}_{kind}": [0] for part in ("train", "test") for kind in ("images", "labels")})
    found = written()
    assert found.study["datasets"] == {"mine": {"reader": "npz", "path": "c.npz"}}
    assert found.study["grid"][0]["datasets"] == ["mine"]
    (folder / "study.yaml").unlink()
    (folder / "c.npz").unlink()
    for part in ("train", "test"):
        (folder / "pictures" / part).mkdir(parents=True)
    assert written().study["datasets"] == {"mine": {"reader": "image-folder", "path": "pictures"}}


def test_nothing_is_written_over(folder, refused):
    (folder / "study.yaml").write_text("mine")
    assert "study.yaml: exists already" in refused(first_study.write, "command")
    assert (folder / "study.yaml").read_text() == "mine"


@pytest.mark.usefixtures("folder")
def test_for_adopted_runs_the_verb_that_writes_their_study_is_named(refused):
    assert "toolnoise adopt" in refused(first_study.write, "adopted")


@pytest.mark.usefixtures("folder")
def test_an_unknown_kind_is_refused(refused):
    assert "allowed: command, builder" in refused(first_study.write, "bulider")


def test_a_strange_name_of_a_program_stays_one_word(folder):
    (folder / "train 'it\".py").write_text(SEEDED)
    command = written().study["models"]["mine"]["command"]
    assert command_words.words(command)[1] == "train 'it\".py"


def test_the_python_that_a_person_starts_is_recorded_unless_it_is_the_workflows(folder, tmp_path, monkeypatch, capsys):
    (folder / "train.py").write_text(SEEDED + "import json, torch\nprint(TOOLNOISE_OUT)\n")
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin/python"
    python.write_text(f'#!/bin/sh\n[ "$1" = -c ] && echo \'["{python}", "{tmp_path}", ["torch"]]\'\n')
    python.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    study = written().study
    assert study["hardware"]["here"] == {"engine": "command", "accelerator": "cpu", "python": str(tmp_path)}
    assert study["grid"][0]["hardware"] == ["here"]
    said = capsys.readouterr().err
    assert said == f"train.py: warning: {python} lacks torch; name another Python under hardware\n"
    (folder / "study.yaml").unlink()
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    study = written().study
    assert (study.get("hardware"), study["grid"][0]["hardware"]) == (None, ["command"])


def test_a_program_that_leaves_nothing_in_its_folder_is_told_so_before_it_runs(folder, monkeypatch, capsys):
    (folder / "train.py").write_text("parser.add_argument('--seed')\n")
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    written()
    assert "train.py: warning: it leaves nothing in TOOLNOISE_OUT, as a study needs;" in capsys.readouterr().err
