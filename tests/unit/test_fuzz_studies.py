"""The fuzzer of study files: its cases can be repeated, and its oracle finds what a lenient reading accepts."""

import decimal
import importlib.util
import sys

import pytest
import yaml

from toolnoise.base.program import ROOT
from toolnoise.study import config, strict_yaml

# Keys that do not go together with the others.
NOT_TRIED = {"margin", "along", "record_steps", "python"}


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


def test_a_case_can_be_repeated(fuzz):
    for number in range(1, 40):
        (one, plain), (again, plain_again) = fuzz.case(number, 5), fuzz.case(number, 5)
        assert (one.content, one.kind, one.said, plain) == (again.content, again.kind, again.said, plain_again)


def test_the_strict_reading_passes_and_a_lenient_one_is_found(fuzz, tmp_path, monkeypatch):
    numbers = range(1, 90)
    assert tried(fuzz, numbers, tmp_path) == []
    monkeypatch.setattr(strict_yaml, "load", yaml.safe_load)
    kinds = {kind for kind, _, _ in tried(fuzz, numbers, tmp_path)}
    assert {"trap", "repeated key", "bad reference"} <= kinds


def test_a_number_that_is_changed_is_found(fuzz, tmp_path, monkeypatch):
    read = config.read_yaml

    def off_by_a_bit(path):
        study = read(path)
        study["recipes"]["short"]["learning_rate"] *= 1 + 2**-52
        return study

    rule = config.schema()["$defs"]["recipe"]["properties"]["learning_rate"]
    allowed = fuzz.changes.scalar_oracle(("recipes", "short", "learning_rate"), rule, "1e-3", decimal.Decimal("1e-3"))
    path = tmp_path / "study.yaml"
    path.write_text(
        fuzz.changes.written(fuzz.changes.PLAIN).lstrip().replace("learning_rate: 0.25", "learning_rate: 1e-3")
    )
    one = fuzz.changes.Case(path.read_bytes(), "number", "", allowed, sense=True)
    assert fuzz.judged(one, str(path))[0] == []
    monkeypatch.setattr(config, "read_yaml", off_by_a_bit)
    assert "read as 0.001" in fuzz.judged(one, str(path))[0][0]
