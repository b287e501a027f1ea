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
    submitting.require_submitting(executor)


def test_with_it_slurm_may_begin(path):
    (path / "sbatch").write_text("#!/bin/sh\n")
    (path / "sbatch").chmod(0o755)
    submitting.require_submitting("slurm")
