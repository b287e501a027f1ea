"""What the Snakefile reads of Snakemake beyond its documented language, in the version installed; its report's size."""

import json
import subprocess
import sys
import tomllib
from importlib import metadata
from types import SimpleNamespace

import pytest
from packaging.requirements import Requirement

from toolnoise.base import files
from toolnoise.base.errors import BadInput
from toolnoise.base.program import ROOT
from toolnoise.commands import snakemake_internals as internals
from toolnoise.figures import snakemake_report

SNAKEFILE = """
import json
from pathlib import Path
from toolnoise.commands import snakemake_internals as internals

parsed = {
    "module": internals.is_module(workflow),
    "main": internals.is_main_process(workflow),
    "dry": internals.is_dry_run(workflow),
    "snakefile": internals.snakefile(workflow),
    "given": [list(map(str, part)) for part in internals.configuration_given(workflow)],
}
Path(f"parsed-{internals.is_main_process(workflow)}.json").write_text(json.dumps(parsed))


onstart:
    started = {
        "here": internals.runs_here(workflow),
        "submitting": internals.require_submitting(workflow),
        "to run": sorted(wildcards.name for wildcards in internals.to_run(workflow, "make")),
    }
    Path("started.json").write_text(json.dumps(started))


rule whole:
    input:
        "a.made",
        "b.made",


rule make:
    output:
        "{name}.made",
    # In a process of its own, which parses this file again.
    run:
        Path(output[0]).write_text("")


module part:
    snakefile:
        "part.smk"


use rule * from part as part_*
"""
PART = """
import json
from pathlib import Path
from toolnoise.commands import snakemake_internals as internals

Path("part.json").write_text(json.dumps(internals.is_module(workflow)))


rule nothing:
    output:
        "nothing",
"""


@pytest.fixture
def snakemake(tmp_path):
    """Run a small workflow that writes down what it reads; what is in one of these files."""
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    (tmp_path / "part.smk").write_text(PART)
    (tmp_path / "own.yaml").write_text("a: 1\n")
    (tmp_path / "a.made").write_text("")

    def run(*words):
        command = [sys.executable, "-m", "snakemake", "--cores", "1", *words, "--configfile", "own.yaml"]
        done = subprocess.run([*command, "--config", "own_key=2"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return lambda name: json.loads((tmp_path / name).read_text())

    return run


def test_the_version_that_is_installed_and_each_that_is_locked_may_be_installed():
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["run"]
    (allowed,) = (one for one in map(Requirement, extra) if one.name == "snakemake")
    assert metadata.version("snakemake") in allowed.specifier
    # Another minor version may name what is read here differently.
    assert not [version for version in ("9.26.0", "9.28.0", "10.0.0") if version in allowed.specifier]
    lines = [line.split() for file in ROOT.glob("requirements/*.txt") for line in file.read_text().splitlines()]
    locked = {words[0].partition("==")[2] for words in lines if words and words[0].startswith("snakemake==")}
    assert locked
    assert all(version in allowed.specifier for version in locked)


def test_a_dry_run_is_known_before_anything_runs(snakemake, tmp_path):
    written = snakemake("--dry-run", "whole", "a.made")
    assert written("parsed-True.json")["dry"]
    assert not (tmp_path / "started.json").exists()


def test_each_answer_is_right(snakemake, tmp_path):
    written = snakemake()
    given = [[str(tmp_path / "own.yaml")], ["own_key=2"]]
    expected = {"module": False, "main": True, "dry": False, "snakefile": str(tmp_path / "Snakefile"), "given": given}
    assert written("parsed-True.json") == expected
    # A job of its own process is no main process.
    assert written("parsed-False.json")["main"] is False
    assert written("part.json") is True
    assert written("started.json") == {"here": True, "submitting": None, "to run": ["b"]}


def test_slurm_needs_its_program_and_what_other_executors_need_is_theirs_to_say(tmp_path, monkeypatch, refused):
    monkeypatch.setenv("PATH", str(tmp_path))

    def workflow(executor):
        return SimpleNamespace(executor_plugin=SimpleNamespace(name=executor))

    assert internals.require_submitting(workflow("lsf")) is None
    (tmp_path / "sbatch").write_text("#!/bin/sh\n")
    # Not a program yet.
    line = refused(internals.require_submitting, workflow("slurm"))
    assert line.startswith("--executor slurm: no program sbatch on the PATH; ")
    (tmp_path / "sbatch").chmod(0o755)
    assert internals.require_submitting(workflow("slurm")) is None


# Snakemake's report holds every figure in memory, encoded: what is too large is refused before it is asked for


@pytest.mark.parametrize("gib", [1, 4.2])
def test_a_huge_figure_is_one_line_with_the_limit(gib, tmp_path):
    figure = tmp_path / "figure.svg"
    with figure.open("wb") as file:
        file.truncate(int(gib * 2**30))
    with pytest.raises(BadInput) as refused:
        snakemake_report.write("study.json", [str(figure)], out=str(tmp_path / "report.html"))
    assert str(refused.value) == f"{figure}: has {int(gib * 2**30)} bytes; at most {files.LARGEST_TEXT}"
    assert not (tmp_path / "report.html").exists()
