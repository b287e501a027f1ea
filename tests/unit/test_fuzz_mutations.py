"""The mutations of the fuzzer: each case can be repeated, and none writes into the study that it starts from."""

import importlib.util
import json
import os
import random
import stat
import tarfile
from pathlib import Path

import numpy as np
import pytest

from toolnoise.base.program import ROOT

SEEDS = 40


@pytest.fixture(scope="module")
def mutations():
    spec = importlib.util.spec_from_file_location("fuzz_mutations", ROOT / "tests/fuzz/fuzz_mutations.py")
    spec.loader.exec_module(module := importlib.util.module_from_spec(spec))
    return module


@pytest.fixture
def study(tmp_path):
    """A file of each kind."""
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "a.json").write_text(json.dumps({"seeds": [1, 2], "spec": {"name": "x"}}))
    (folder / "a.yaml").write_text("study: x\nseed: 1\n")
    (folder / "a.csv").write_text("name,value\nx,1\ny,2\n")
    (folder / "a.py").write_text("import keras\n")
    np.save(folder / "a.npy", np.arange(6, dtype=np.float32).reshape(2, 3))
    np.savez(folder / "a.npz", one=np.arange(3), other=np.ones(2))
    with tarfile.open(folder / "a.tar.gz", "w:gz") as archive:
        archive.add(folder / "a.json", "a.json")
    return folder


def found(path):
    mode = path.lstat().st_mode if os.path.lexists(path) else 0
    return stat.S_IFMT(mode), path.read_bytes() if stat.S_ISREG(mode) and path.stat().st_size < 2**20 else b""


@pytest.mark.parametrize("name", ["a.json", "a.yaml", "a.csv", "a.py", "a.npy", "a.npz"])
def test_a_seed_gives_the_same_bad_file_and_leaves_the_good_one(name, mutations, study, tmp_path, monkeypatch):
    before = (study / name).read_bytes()
    said = []
    for seed in range(SEEDS):
        results = []
        for attempt in "ab":
            case = tmp_path / f"case-{seed}-{attempt}"
            case.mkdir()
            for path in study.iterdir():
                os.link(path, case / path.name)
            monkeypatch.chdir(case)
            told = mutations.of_file(Path(name), random.Random(seed))
            results.append((told, *found(case / name)))
        assert results[0] == results[1]
        assert (study / name).read_bytes() == before
        said.append(results[0][0])
    assert len(set(said)) > SEEDS / 4


def test_a_member_of_an_archive_is_changed_as_a_file_is(mutations, study, monkeypatch):
    monkeypatch.chdir(study)
    for seed in range(SEEDS):
        good = (study / "a.tar.gz").read_bytes()
        assert mutations.tar_members(study / "a.tar.gz", random.Random(seed))
        (study / "a.tar.gz").write_bytes(good)
    assert sorted(path.name for path in study.iterdir()) == sorted(
        ["a.json", "a.yaml", "a.csv", "a.py", "a.npy", "a.npz", "a.tar.gz"]
    )


def test_an_array_of_any_shape_is_changed(mutations):
    for shape in ((), (0,), (2, 0), (3, 1)):
        for seed in range(SEEDS):
            changed, said = mutations._array(np.zeros(shape, np.float32), random.Random(seed))
            assert isinstance(changed, np.ndarray)
            assert said


def test_arguments_are_changed_one_at_a_time(mutations):
    words = ["plan", "--sd", "0.3", "--gain", "0.3"]
    for seed in range(SEEDS):
        changed, said = mutations.of_arguments(words, random.Random(seed))
        assert mutations.of_arguments(words, random.Random(seed)) == (changed, said)
        assert changed[0] == "plan"
        assert abs(len(changed) - len(words)) <= 1
