"""Two Snakemakes on one folder: one works, the other is refused or finds nothing to do, and nothing is lost."""

import shutil
import subprocess
import sys

import pytest
from conftest import NAME, ROOT, bits, study_of


@pytest.fixture
def place(tmp_path, prepared, write_study):
    return write_study(shutil.copytree(prepared, tmp_path, dirs_exist_ok=True), study_of(4))


def test_two_snakemakes_at_once_make_one_study(place, snakemake, is_clean):
    command = [sys.executable, "-m", "snakemake", "--snakefile", ROOT / "Snakefile", "--directory", place]
    command += ["--configfile", place / "study.yaml", "--cores", "1"]
    both = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [one.communicate()[1] for one in both]
    assert 0 in [one.returncode for one in both], said
    for one, text in zip(both, said, strict=True):
        assert one.returncode == 0 or "Directory cannot be locked" in text, text
    done = snakemake(place)
    assert "Nothing to be done" in done.stdout + done.stderr
    assert len({bits(place, seed)[0] for seed in range(1, 5)}) == 1
    is_clean(place)
    assert (place / f"results/{NAME}/report.html").is_file()
