"""`toolnoise init`: a study of an existing program, or of a builder, that lies in the folder."""

import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from toolnoise.base import command_words
from toolnoise.base.program import ROOT
from toolnoise.programs import first_study
from toolnoise.study import config, grid
from toolnoise.study.builders import require_builders

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
    assert command_words.words(mine.pop("command")) == words
    assert mine == {"sources": ["init", "shuffle"], "deterministic": "--deterministic"}
    assert [cell.variant for cell in grid.load("study.yaml").cells] == ["control", "impl", "algo", "algo_impl"]


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
    study = grid.load("study.yaml")
    require_builders(study.config["models"], "study.yaml")
    assert study.datasets == ("digits",)
    assert [cell.variant for cell in study.cells] == ["control", "impl", "algo", "algo_impl"]
    # Several builders are several models.
    (folder / "study.yaml").unlink()
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
