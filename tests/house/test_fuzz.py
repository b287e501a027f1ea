"""The fuzzers: every verb has command lines, cases can be repeated, and none writes into the study it starts from."""

import importlib.util
import sys

import pytest
import yaml

from toolnoise import cli
from toolnoise.base.program import ROOT
from toolnoise.study import config, strict_yaml

# The command lines of tests/fuzz/fuzz.py: every verb has some


def test_every_verb_is_fuzzed(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tests/fuzz")
    spec = importlib.util.spec_from_file_location("fuzz", ROOT / "tests/fuzz/fuzz.py")
    monkeypatch.setitem(sys.modules, "fuzz", fuzz := importlib.util.module_from_spec(spec))
    spec.loader.exec_module(fuzz)
    # The study that it changes has a job of every kind: tests/workflow/test_plans.py.
    assert fuzz.BY_HAND.keys() == cli.VERBS.keys()


# The fuzzer of study files: its cases can be repeated, and its oracle finds what a lenient reading accepts


# Keys that do not go together with the others; a base is a run of the grid, which is changed.
NOT_TRIED = {"margin", "along", "record_steps", "padding", "python", "base"}


@pytest.fixture(scope="module")
def fuzz():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "tests/fuzz")
        spec = importlib.util.spec_from_file_location("fuzz_studies", ROOT / "tests/fuzz/fuzz_studies.py")
        patch.setitem(sys.modules, "fuzz_studies", module := importlib.util.module_from_spec(spec))
        spec.loader.exec_module(module)
        yield module


def tried(fuzz, numbers, folder):
    """The cases that fail, by kind, with their reasons."""
    failed = []
    for number in numbers:
        one, _ = fuzz.case(number, 1)
        path = folder / f"case{one.suffix}"
        path.write_bytes(one.content)
        reasons, _ = fuzz.judged(one, str(path))
        if reasons:
            failed.append((one.kind, one.said, reasons))
    return failed


def test_the_studies_that_are_changed_have_the_keys_of_the_schema_and_are_accepted(fuzz, tmp_path):
    for name, study in (("plain", fuzz.changes.PLAIN), ("own", fuzz.changes.OWN)):
        path = tmp_path / f"{name}.yaml"
        path.write_text(fuzz.changes.written(study).lstrip())
        assert yaml.safe_load(path.read_text()) == study
        assert fuzz.outcome(str(path))[0] == ""
    known = {name for part in config.schema()["$defs"].values() for name in part.get("properties", {})}
    known |= config.schema()["properties"].keys()
    used = {
        part
        for study in (fuzz.changes.PLAIN, fuzz.changes.OWN)
        for at, _ in fuzz.changes.rules_of(study, config.schema())
        for part in at
    }
    assert known - used <= NOT_TRIED | {"dataset", "hardware", "model", "remedy"}


def test_the_strict_reading_passes_and_a_lenient_one_is_found(fuzz, tmp_path, monkeypatch):
    numbers = range(1, 50)
    assert tried(fuzz, numbers, tmp_path) == []
    monkeypatch.setattr(strict_yaml, "load", yaml.safe_load)
    kinds = {kind for kind, _, _ in tried(fuzz, numbers, tmp_path)}
    assert {"trap", "repeated key", "bad reference"} <= kinds
