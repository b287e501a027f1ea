"""Processes: what they may import and look up, and what the Snakefile reads of Snakemake beyond its documentation."""

import itertools
import json
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from nbformat import v4
from packaging.requirements import Requirement

from toolnoise.base import files, program
from toolnoise.base.errors import BadInput
from toolnoise.base.program import ROOT
from toolnoise.commands import snakemake_internals as internals
from toolnoise.pages import study_page
from toolnoise.warm import template

WORKFLOW = Path(__file__).parents[2] / "workflow"


def test_a_module_is_started_without_the_modules_of_the_folder_that_it_starts_in(tmp_path):
    (tmp_path / "yaml.py").write_text("raise SystemExit('the yaml.py of a study was imported')\n")
    (tmp_path / "study.yaml").write_text("study: 1\n")
    command = ("toolnoise.cli", "estimate", "--study", "study.yaml")
    done = subprocess.run(program.python_command(*command), cwd=tmp_path, capture_output=True, text=True)
    assert "of a study was imported" not in done.stderr
    assert done.returncode == 2
    assert done.stderr.startswith("toolnoise: study.yaml: ")


def test_a_notebook_has_the_same_bytes_whatever_a_users_matplotlibrc_says(tmp_path):
    code = v4.new_code_cell("figure = 1", id="parameters", metadata={"tags": ["parameters"]})
    cells = [code, v4.new_code_cell("from toolnoise.figures import sheets", id="imports")]
    kernel = {"kernelspec": {"name": "python3", "language": "python", "display_name": ""}}
    nbformat.write(v4.new_notebook(cells=cells, metadata=kernel), tmp_path / "kind.ipynb")
    render = """
from pathlib import Path
from toolnoise.figures import render
render.NOTEBOOKS = Path()
render.render("one", "kind", [], {}, out=["one.svg"], executed="executed.ipynb")
"""
    executed = []
    for settings in ("", "no.such.key: 3\n"):
        (tmp_path / "matplotlibrc").write_text(settings)
        done = subprocess.run([sys.executable, "-P", "-c", render], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        executed.append((tmp_path / "executed.ipynb").read_text())
    assert "no.such.key" in done.stderr
    assert executed[0] == executed[1]


def test_a_notebook_runs_nothing_of_the_users_ipython(tmp_path):
    startup = tmp_path / ".ipython/profile_default/startup"
    startup.mkdir(parents=True)
    (startup / "00.py").write_text("raise SystemExit('a startup file was run')\n")
    code = "from toolnoise.figures.execution import _executed; print(_executed('1 + 1', 'cell', {}, 1)[0].data)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env={"HOME": str(tmp_path), "PYTHONPATH": str(WORKFLOW)},
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.returncode) == ("{'text/plain': '2'}\n", 0), done.stderr


# What a template of warm starts imports and looks up before it forks; tests/workflow/test_warm.py has the jobs


def test_what_a_template_imports_ahead_is_among_what_the_demo_installs():
    locked = (program.ROOT / "requirements/cpu.txt").read_text()
    packages = {module.partition(".")[0] for module in itertools.chain(*template.FURTHER.values())} - {"toolnoise"}
    assert {"matplotlib", "papermill"} <= packages
    assert [package for package in sorted(packages) if f"\n{package}==" not in locked] == []


# In a process of its own: this one has read sources and versions for other tests.
SCRIPT = """
import importlib.metadata
from pathlib import Path

from toolnoise.base import code_digest
from toolnoise.provenance import recorder

recorder.look_up()
importlib.metadata.version = Path.read_bytes = None
assert recorder.program_versions()["toolnoise"]
assert recorder.this_machine()["versions"]["numpy"]
assert len(code_digest.digests_of_files("toolnoise.training.loop", "toolnoise.engines.tensorflow")) > 20
"""


def test_after_looking_up_no_source_is_read_and_no_version_asked_for():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# What the Snakefile reads of Snakemake, in the version installed; its report's size


SNAKEFILE = """
import json
from pathlib import Path
from toolnoise.commands import snakemake_internals as internals

parsed = {
    "module": internals.is_module(workflow),
    "main": internals.is_main_process(workflow),
    "dry": internals.is_dry_run(workflow),
    "snakefile": internals.snakefile_in_use(workflow),
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
        study_page.write_report("study.json", [str(figure)], out=str(tmp_path / "report.html"))
    assert str(refused.value) == f"{figure}: has {int(gib * 2**30)} bytes; at most {files.LARGEST_TEXT}"
    assert not (tmp_path / "report.html").exists()
