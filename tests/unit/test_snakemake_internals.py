"""What is asked of Snakemake beyond its documented language, and the size of its report."""

import json
import re
import subprocess
import sys
from importlib import metadata

import pytest

from toolnoise.base import files
from toolnoise.base import snakemake_internals as internals
from toolnoise.base.errors import BadInput
from toolnoise.base.program import ROOT
from toolnoise.figures import snakemake_report

# What the Snakefile asks of Snakemake beyond its documented language is there, in the version that is installed


LOCKED = re.compile(r"^snakemake==(\S+)", re.MULTILINE)
SNAKEFILE = """
import json
from pathlib import Path
from toolnoise.base import snakemake_internals as internals

parsed = {
    "module": internals.is_module(workflow),
    "main": internals.is_main_process(workflow),
    "dry": internals.is_dry_run(workflow),
    "snakefile": internals.snakefile(workflow),
    "given": [list(map(str, part)) for part in internals.given(workflow)],
}
Path(f"parsed-{internals.is_main_process(workflow)}-{internals.is_dry_run(workflow)}.json").write_text(json.dumps(parsed))


onstart:
    internals.do_not_limit_rate(workflow)
    started = {
        "here": internals.runs_here(workflow),
        "to run": sorted(wildcards.name for wildcards in internals.to_run(workflow, "make")),
        "to make": internals.to_make(workflow),
    }
    Path("started.json").write_text(json.dumps(started))


rule all:
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
from toolnoise.base import snakemake_internals as internals

Path("part.json").write_text(json.dumps(internals.is_module(workflow)))


rule nothing:
    output:
        "nothing",
"""


@pytest.fixture
def snakemake(tmp_path):
    """Run a small workflow that writes down each answer; the answers of a file."""
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    (tmp_path / "part.smk").write_text(PART)
    (tmp_path / "own.yaml").write_text("a: 1\n")
    (tmp_path / "a.made").write_text("")

    def answers(file, *options):
        command = [
            sys.executable,
            "-m",
            "snakemake",
            "--cores",
            "1",
            "--configfile",
            "own.yaml",
            "--config",
            "own_key=2",
        ]
        done = subprocess.run([*command, *options], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads((tmp_path / file).read_text())

    return answers


def test_this_version_of_snakemake_has_been_tried():
    assert metadata.version("snakemake") in internals.TRIED
    locked = {
        line.split()[0] for file in ROOT.glob("requirements/*.txt") for line in file.read_text().splitlines() if line
    }
    assert {version.partition("==")[2] for version in locked if version.startswith("snakemake==")} <= set(
        internals.TRIED
    )


def test_a_dry_run_is_known_while_the_snakefile_is_parsed(snakemake, tmp_path):
    parsed = snakemake("parsed-True-True.json", "--dry-run")
    assert parsed["dry"]
    assert not (tmp_path / "started.json").exists()


def test_each_answer_is_right(snakemake, tmp_path):
    parsed = snakemake("parsed-True-False.json")
    given = [[str(tmp_path / "own.yaml")], ["own_key=2"]]
    expected = {"module": False, "main": True, "dry": False, "snakefile": str(tmp_path / "Snakefile"), "given": given}
    assert parsed == expected
    # A job of its own process is no main process.
    assert json.loads((tmp_path / "parsed-False-False.json").read_text())["main"] is False
    assert json.loads((tmp_path / "part.json").read_text()) is True
    started = {"here": True, "to run": ["b"], "to make": ["b.made"]}
    assert json.loads((tmp_path / "started.json").read_text()) == started


# Snakemake's report holds every figure in memory, encoded: what is too large is refused before it is asked for


@pytest.mark.parametrize("gib", [1, 4.2])
def test_a_huge_figure_is_one_line_with_the_limit(gib, tmp_path):
    figure = tmp_path / "figure.svg"
    with figure.open("wb") as file:
        file.truncate(int(gib * 2**30))
    with pytest.raises(BadInput) as refused:
        snakemake_report.write("study", [], [str(figure)], tmp_path / "report.html")
    assert str(refused.value) == f"{figure}: has {int(gib * 2**30)} bytes; at most {files.LARGEST_TEXT}"
    assert not (tmp_path / "report.html").exists()
