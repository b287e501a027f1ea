"""The folder of a training program beside its run's checkpoint: it is emptied, so nothing else may be lost with it."""

from pathlib import Path

import pytest

from toolnoise.checking import run_program


@pytest.mark.parametrize("name", ["checkpoint", "", ".", "..", "/", "ck.", ".npz", "a.b/c", "results/study.json"])
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
