"""A training program in a study: what `init` writes, the study file, its folder, its interpreter, what it left."""

import os
import shutil
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from toolnoise.base import command_words
from toolnoise.base.program import ROOT
from toolnoise.engines.accelerators import Gpu
from toolnoise.programs import first_study, left_arrays, run_program
from toolnoise.study import config, grid, runs
from toolnoise.study.builders import require_builders
from toolnoise.study.runs import Run

# `toolnoise init`: a study of an existing program, or of a builder, that lies in the folder

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


def test_a_program_is_found_with_its_options(folder):
    (folder / "fit 'it.py").write_text(SEEDED)
    (folder / "evaluate.py").write_text("print('no seed')\n")
    found = written()
    assert "Found fit 'it.py." in found.said
    assert found.study["study"] == "my-study"
    mine = found.study["models"]["mine"]
    # A strange name stays one word.
    words = ["python", "fit 'it.py", "--seed", "{init}", "--data_seed", "{shuffle}", "--output-dir", "{out}"]
    assert command_words.split_command(mine.pop("command")) == words
    assert mine == {"sources": ["init", "shuffle"], "deterministic": "--deterministic"}
    assert [cell.variant for cell in grid.load_study("study.yaml").cells] == ["control", "impl", "algo", "algo_impl"]


@pytest.mark.parametrize(
    ("name", "sources"),
    [("torch", ["init", "shuffle", "augment", "dropout"]), ("lightning", ["init", "shuffle", "dropout"])],
)
def test_the_sources_of_programs_with_toolnoises_helpers_are_found(folder, name, sources):
    shutil.copyfile(ROOT / f"examples/{name}_digits.py", folder / "train.py")
    model = written().study["models"]["mine"]
    assert model == {"command": "python train.py", "sources": sources}


def test_a_builder_is_found_without_importing_it_and_its_study_can_be_planned(folder):
    (folder / "nets.py").write_text(f"{BUILDER}raise SystemExit('nothing is imported')\n")
    found = written()
    assert "Found nets:build." in found.said
    study = grid.load_study("study.yaml")
    require_builders(study.config["models"], "study.yaml")
    assert study.datasets == ("digits",)
    assert [cell.variant for cell in study.cells] == ["control", "impl", "algo", "algo_impl"]
    # Several builders are several models.
    (folder / "study.yaml").unlink()
    (folder / "nets.py").write_text(BUILDER + BUILDER.replace("build", "wide"))
    assert list(written().study["models"]) == ["nets", "nets-wide"]
    assert {cell.model for cell in grid.load_study("study.yaml").cells} == {"nets", "nets-wide"}


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
    # Of adopted runs, the verb that writes their study is named.
    assert "toolnoise adopt" in refused(first_study.write, "adopted")


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


# A run of it: what it left, its folder and its interpreter


@pytest.mark.parametrize(
    ("name", "array"),
    [("metric/score:", np.zeros(1)), ("group/odd:", np.zeros(3)), ("logits:", np.zeros(3)), ("labels:", np.array("x"))],
)
def test_what_a_program_left_has_its_kind(name, array, make_run, refused):
    record = make_run(1, lambda parts: parts["final"].update({name: array}))
    assert f"weights.npz: {name.removesuffix(':')}: found " in refused(
        left_arrays.read_left_arrays, runs.read_run(record)
    )


@pytest.mark.parametrize(
    ("outcome", "missing"),
    [("logits", "logits"), ("logits", "labels"), ("classes", "predictions"), ("values", "labels")],
)
def test_what_a_program_left_must_be_there(outcome, missing, make_run, refused):
    left = {"logits": np.zeros((4, 3), np.float32), "predictions": np.zeros(4, int), "labels": np.zeros(4, int)}

    def change(parts):
        parts["record"]["spec"]["model"]["outcome"] = outcome
        parts["final"].update({f"{name}:": array for name, array in left.items() if name != missing})

    run = runs.read_run(make_run(1, change))
    line = f"{run.folder / 'weights.npz'}: {missing}: no such array; what the training program left"
    assert refused(left_arrays.read_left_arrays, run) == line


def test_runs_with_labels_of_other_examples_are_refused_and_told_of_a_data_set_of_their_own(tmp_path, refused):
    run, labels = Run({}, tmp_path), np.array([0, 1, 2, 1])
    left_arrays.require_same_labels(run, {"labels": labels}, labels)
    for other in (labels[:-1], labels[::-1]):
        line = refused(left_arrays.require_same_labels, run, {"labels": other}, labels)
        assert f"found other labels than the study's, of shape ({len(other)},)" in line
        assert line.endswith("another data set, reader: outcome")


@pytest.mark.parametrize("name", ["checkpoint", ".npz"])
def test_a_checkpoint_whose_name_does_not_end_in_npz_is_refused(name, refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = refused(run_program.folder_of, name)
    assert line == f"command line: --checkpoint: found {name!r}; a file whose name ends in .npz"


def test_a_folder_with_other_files_is_never_taken(refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_program.folder_of("results.npz") == Path("results")
    for name in ("out", "checkpoint"):
        (tmp_path / "results" / name).mkdir(parents=True)
    (tmp_path / "results/job.json").touch()
    (tmp_path / "results/.job.json.abcd1234.json").touch()
    assert run_program.folder_of("results.npz") == Path("results")
    (tmp_path / "results/study.json").touch()
    line = "results: has other files than a training program's; another --checkpoint, or remove it"
    assert refused(run_program.folder_of, "results.npz") == line
    (tmp_path / "plain").touch()
    assert run_program.folder_of("plain.npz") == Path("plain")
    Path("checkpoint.npz").mkdir()
    assert (
        refused(run_program.folder_of, "checkpoint.npz") == "checkpoint.npz: a folder is in the way; a file, or nothing"
    )


@pytest.mark.parametrize(
    ("device", "uuid", "hiding"),
    [("V100", "GPU-b", {"CUDA_VISIBLE_DEVICES": "GPU-b"}), ("", "GPU-b", {}), ("V100", "", {})],
)
def test_a_program_sees_only_the_gpus_that_its_tooling_names(device, uuid, hiding, monkeypatch):
    present = [Gpu("Tesla T4", "535.1", uuid="GPU-a"), Gpu("Tesla V100-SXM2-16GB", "535.1", uuid=uuid)]
    monkeypatch.setattr(run_program.accelerators, "gpus", lambda: present)
    recorded, variables = run_program._device({"name": "mine", "accelerator": "gpu", "device": device})
    assert recorded == {"device": present[bool(device)].name, "driver": "535.1"}
    assert variables == hiding


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


# A study file that names a training program: what it must say, and what does not go together


STUDY = {
    "study": "programs",
    "models": {"mine": {"command": "python train.py {init}", "sources": ["init", "shuffle"]}},
    "grid": [
        {
            "models": ["mine"],
            "datasets": ["outcome"],
            "hardware": ["command"],
            "variants": ["control", "impl", "init"],
            "seeds": 3,
        }
    ],
}


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"command": "python train.py {seed}"}, "unknown placeholder {seed}"),
        ({"sources": ["shuffle"]}, "{init} stands in the command, and sources are shuffle"),
        ({"builder": "a:b"}, "found it beside command"),
    ],
)
def test_a_bad_program_is_refused_when_the_study_is_read(changed, says, built, refused):
    assert [cell.variant for cell in built(STUDY).cells] == ["control", "impl", "init"]
    study = {**STUDY, "models": {"mine": {**STUDY["models"]["mine"], **changed}}}
    assert says in refused(built, study)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (
            {"variants": ["dropout"]},
            "found dropout for 'mine'; its sources are init, shuffle; the others are not separable",
        ),
        ({"variants": ["bit"]}, "found a moved bit"),
        ({"hardware": ["cpu"]}, "hardware: found 'cpu'; hardware with engine command for training programs"),
        ({"datasets": ["digits"]}, "datasets: found 'digits'; datasets with reader outcome"),
        ({"models": ["mine", "smallcnn"], "recipe": "paper"}, "training programs in blocks of their own"),
    ],
)
def test_what_does_not_belong_to_programs_is_refused(changed, says, built, refused):
    study = {**STUDY, "grid": [{**STUDY["grid"][0], **changed}]}
    assert says in refused(built, study)
