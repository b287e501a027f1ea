"""Processes: where the program's files are, what its processes may import and look up."""

import subprocess
import sys
from pathlib import Path

import nbformat
from nbformat import v4

from toolnoise.base import program

WORKFLOW = Path(__file__).parents[2] / "workflow"


def test_a_module_is_started_without_the_modules_of_the_folder_that_it_starts_in(tmp_path):
    (tmp_path / "yaml.py").write_text("raise SystemExit('the yaml.py of a study was imported')\n")
    (tmp_path / "study.yaml").write_text("study: 1\n")
    command = ("toolnoise.cli", "doctor", "--study", "study.yaml")
    done = subprocess.run(program.python(*command), cwd=tmp_path, capture_output=True, text=True)
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


# What a process looks up before it forks, its children need not look up again


# In a process of its own: this one has read sources and versions for other tests.
SCRIPT = """
import importlib.metadata
from pathlib import Path

from toolnoise.base import code_digest
from toolnoise.provenance import recorder

recorder.look_up()
importlib.metadata.version = Path.read_bytes = None
assert recorder.programs()["toolnoise"]
assert recorder.this_machine()["versions"]["numpy"]
assert len(code_digest.sources("toolnoise.training.loop", "toolnoise.engines.tensorflow")) > 20
"""


def test_after_looking_up_no_source_is_read_and_no_version_asked_for():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
