"""Handing jobs to a cluster: refused in one line where that cannot be done."""

import pytest

from toolnoise.commands import submitting


@pytest.fixture
def path(tmp_path, monkeypatch):
    """The only folder in which programs are."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("path")
def test_without_sbatch_slurm_is_refused(refused):
    line = refused(submitting.require_submitting, "slurm")
    assert line.startswith("--executor slurm: no program sbatch on the PATH; ")


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("executor", ["local", "lsf"])
def test_what_other_executors_need_is_theirs_to_say(executor):
    assert submitting.require_submitting(executor) is None


def test_with_it_slurm_may_begin(path, refused):
    (path / "sbatch").write_text("#!/bin/sh\n")
    # Not a program yet.
    assert "sbatch" in refused(submitting.require_submitting, "slurm")
    (path / "sbatch").chmod(0o755)
    assert submitting.require_submitting("slurm") is None
