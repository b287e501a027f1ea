"""Environments of toolings: which there are, where a job computes, and what is refused."""

import os
import sys

import pytest

from toolnoise import cli
from toolnoise.base import files
from toolnoise.engines import serving
from toolnoise.study import config, environments
from toolnoise.study.cells import Cell
from toolnoise_warm import dispatcher

OLD = "tensorflow-2.16"


@pytest.fixture
def elsewhere(written, built):
    """A study with a tooling in another environment."""
    written["hardware"] = {"cpu-old": {"accelerator": "cpu", "environment": OLD}}
    written["grid"][0] |= {"hardware": ["cpu-old"], "variants": ["control", "algo"], "seeds": 2}
    return built(written)


@pytest.fixture
def made(tmp_path, monkeypatch):
    """An environment in the working folder."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / ".environments" / OLD / "bin"
    folder.mkdir(parents=True)
    (folder / "toolnoise").touch()
    return folder


def test_the_registry_names_environments_that_have_a_lock_file():
    named = {tooling["environment"] for tooling in config.registered("hardware").values()} - {""}
    assert named == set(environments.known())
    assert len(named) >= 8


def test_an_unknown_environment_is_one_line(written, built, refused):
    written["hardware"] = {"cpu-old": {"accelerator": "cpu", "environment": "tensorflow-2.61"}}
    line = refused(built, written)
    start = "tiny.yaml: hardware.cpu-old.environment: unknown environment 'tensorflow-2.61' (did you mean "
    assert line.startswith(start)
    assert OLD in line


def test_a_spec_names_an_environment_only_if_it_is_not_the_workflows(elsewhere, built, written):
    cell = Cell("smallcnn", "digits", "cpu-old", "algo")
    assert elsewhere.spec(cell, 1).hardware.json["environment"] == OLD
    assert environments.of({"spec": elsewhere.spec(cell, 1).as_json()}) == OLD
    del written["hardware"]["cpu-old"]["environment"]
    assert "environment" not in built(written).spec(cell, 1).hardware.json
    assert environments.of({}) == environments.of({"spec": {"images": {}}}) == ""


def test_a_missing_environment_says_how_to_make_it(tmp_path, monkeypatch, refused):
    monkeypatch.chdir(tmp_path)
    reason = f".environments/{OLD} is missing: run `make .environments/{OLD}`"
    assert refused(environments.require, OLD, "cpu-old") == f"hardware cpu-old: environment: {reason}"
    tooling = {"name": "cpu-old", "engine": "tensorflow", "accelerator": "cpu", "environment": OLD}
    assert serving.why_not(tooling) == f"environment: {reason}"


def test_an_environment_that_is_there_is_not_this_process(made):
    assert environments.why_not(OLD) == ""
    assert not environments.is_this(OLD)
    assert environments.program(OLD, "toolnoise") == made / "toolnoise"


def train(study_file):
    place = ["--model", "smallcnn", "--dataset", "digits", "--hardware", "cpu-old", "--variant", "algo", "--seed", "1"]
    outs = ["--data", "d", "--weights", "w", "--history", "h", "--record", "r", "--checkpoint", "c"]
    return ["train", "--study", str(study_file), *place, *outs]


@pytest.fixture
def study_file(elsewhere, tmp_path):
    files.write_json(tmp_path / "study.json", elsewhere.config)
    return tmp_path / "study.json"


def test_a_job_goes_on_in_the_environment_of_its_tooling(made, study_file, monkeypatch):
    called = []
    monkeypatch.setattr(os, "execv", lambda *given: called.append(given) or sys.exit(0))
    with pytest.raises(SystemExit):
        cli.main(train(study_file))
    assert called == [(made / "toolnoise", [str(made / "toolnoise"), *train(study_file)])]


def test_a_job_without_its_environment_ends_in_one_line(study_file, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        cli.main(train(study_file))
    assert ended.value.code == 2
    wanted = f"environment: .environments/{OLD} is missing: run `make .environments/{OLD}`"
    assert capsys.readouterr().err == f"toolnoise: hardware cpu-old: {wanted}\n"


@pytest.mark.usefixtures("made")
def test_a_job_of_another_environment_starts_cold(study_file):
    with pytest.raises(dispatcher.Refused, match=f"it computes in the environment {OLD}"):
        dispatcher._imports(cli.parsed(train(study_file)))
